"""What one task remembers between two batches, what all tasks know before one, and the history that both came from.

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
from dataclasses import dataclass, field
from typing import Any

from weft.index import Run
from weft.routing import Plan
from weft.spec.shapes import check_shape
from weft.state.sealed import digest_of
from weft.types import SIDES, WORD_MIN, Side

__all__ = ["Clock", "History", "Pinned", "TaskState"]


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


@dataclass(frozen=True)
class Clock:
    """How far both streams have come, the same in every task: greatest timestamp and number of rows per side."""

    newest: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, WORD_MIN))
    count: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))

    def to_json(self) -> dict[str, Any]:
        """Return the clock as JSON data."""
        return {"newest": self.newest, "count": self.count}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Clock:
        """Read the clock from JSON data."""
        made = cls(**{name: {side: data[name][side] for side in SIDES} for name in ("newest", "count")})
        check_shape(made)
        return made


@dataclass(frozen=True)
class Pinned:
    """What all tasks of a batch know before it begins: the plan, the clock and the history that the batch before left."""

    plan: Plan
    clock: Clock = field(default_factory=Clock)
    history: str = ""

    @property
    def mark(self) -> str:
        """Return a digest of all that: what was routed by another one does not belong into the batch."""
        return digest_of({"plan": self.plan.to_json(), "clock": self.clock.to_json(), "history": self.history})


@dataclass(frozen=True)
class TaskState:
    """Runs of both sides, the bounds below which their rows have expired, the clock, and the plan they were routed by.

    `index` is the one that laid the runs out: another cannot read them as they lie.
    """

    plan: Plan
    runs: dict[Side, tuple[Run, ...]] = field(default_factory=lambda: {"left": (), "right": ()})
    before: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, WORD_MIN))
    clock: Clock = field(default_factory=Clock)
    index: str = ""
    waiting: dict[Side, tuple[Run, ...]] = field(default_factory=lambda: {"left": (), "right": ()})
    """Rows of preserved sides that can match nothing, and leave when their windows end."""

    @property
    def rows(self) -> dict[Side, int]:
        """Return the rows held per side."""
        return {side: sum(len(run) for run in (*self.runs[side], *self.waiting[side])) for side in SIDES}
