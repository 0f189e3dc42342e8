"""Histories: which batches a state came from, under which plans, from which input.

The history of a batch is a digest of the history of the batch before, of its plan, and of what every map partition says of
its rows. Every task gets all of that, so all tasks come to the same history without talking, and a replay of the same
partitions comes to the same one again. It stands in every manifest and beside every pinned plan. Files that do not belong
together (those of another query, of a checkpoint that was rolled back, of an attempt that was given up) have other histories,
and are refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["History"]


@dataclass(frozen=True)
class History:
    """The history before a batch, and after it."""

    before: str
    now: str

    @classmethod
    def of(cls, before: str, plan: dict[str, Any], inputs: Iterable[tuple[str, int, int, int, str]]) -> History:
        """Return the history of a batch; `inputs` are side, partition, rows, newest time and content of each partition."""
        return cls(before, _digest([before, plan, sorted(inputs)]))

    @staticmethod
    def first(query: str, fingerprint: str) -> str:
        """Return the history of a query that has joined nothing yet."""
        return _digest([query, fingerprint])


def _digest(facts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
