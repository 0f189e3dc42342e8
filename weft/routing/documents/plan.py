"""A document plan: which tasks own which pairs. Pure data, pure functions.

Every document goes to all tasks that own one of its pairs, and to all tasks there are if it has a pair that nobody owns (or
lacks an expanded attribute). So two documents with a common pair always meet, whatever the table says; a better table only
replicates less. Where they meet on several tasks, the least of the common ones reports the pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from weft.kernels.documents.attributes import named_otherwise
from weft.kernels.documents.routing_pairs import routed, routing_pairs
from weft.routing.plan import Plan
from weft.types import Words

__all__ = ["DocumentPlan", "Quality", "gini", "quality_of", "tasks_of"]

_WORD = 64


@dataclass(frozen=True)
class Quality:
    """How good a plan is on some documents: tasks per document, and the share of documents at the fullest task (004-34)."""

    replication: float
    load: float


@dataclass(frozen=True)
class DocumentPlan(Plan):
    """`pairs` ascend; `masks[k]` are the tasks of `pairs[k]` as bits. `quality` is what the merger published (004-26)."""

    scheme: ClassVar[str] = "documents"

    pairs: tuple[int, ...] = ()
    masks: tuple[int, ...] = ()
    expansion: tuple[int, ...] = ()
    replication: float = field(default=0.0, compare=False)  # what was published makes no other plan
    load: float = field(default=0.0, compare=False)
    spread: bool = False
    """A pair that nobody owns belongs to the task that its hash names, instead of to all."""
    alone: bool = False
    """A document that has all expanded attributes is routed by their concatenation alone."""
    names: tuple[str, ...] = ()
    """The names of the expanded attributes, quoted: another name with the same word is not meant."""

    @classmethod
    def over(
        cls, tasks: int, table: Mapping[int, int], expansion: tuple[int, ...] = (), spread: bool = False, alone: bool = False
    ) -> DocumentPlan:  # fmt: skip
        """Return the plan of a table from pairs to task bits."""
        pairs = tuple(sorted(table))
        return cls(tasks, pairs, tuple(table[pair] for pair in pairs), expansion, spread=spread, alone=alone)

    @property
    def title(self) -> str:
        return f"{len(self.pairs)} pairs"

    def table(self) -> dict[int, int]:
        """Return the tasks of each pair as bits."""
        return dict(zip(self.pairs, self.masks, strict=True))

    def quality(self, offsets: Words, attrs: Words, pairs: Words) -> Quality:
        """Return how this plan serves some documents; those without pairs do not count."""
        bits, _ = self.route(offsets, attrs, pairs)
        return quality_of(tasks_of(bits, self.tasks))

    @property
    def width(self) -> int:
        """Return how many words the task bits of a document take."""
        return -(-self.tasks // _WORD)

    @cached_property
    def _arrays(self) -> tuple[Words, Words, Words]:
        everyone = _bits([(1 << self.tasks) - 1], self.width)[:, 0]
        return np.array(self.pairs, np.int64), _bits(self.masks, self.width), everyone

    def route(self, offsets: Words, attrs: Words, pairs: Words) -> tuple[Words, Words]:
        """Return each document's tasks as bits, `[width, documents]`, and how many of its pairs nobody owns."""
        made, words, lacking = routing_pairs(offsets, attrs, pairs, np.array(self.expansion, np.int64), self.alone)
        return routed(made, words, lacking, *self._arrays, self.tasks, self.spread)

    def meant(self, attrs: Words, ends: Words, text: NDArray[np.uint8]) -> Words:
        """Return the attribute words of documents without the expanded ones whose name is another."""
        if not self.expansion:
            return attrs
        names = [name.encode() for name in self.names] or [b""] * len(self.expansion)  # unnamed: by the word alone
        name_ends = np.concatenate([[0], np.cumsum([len(name) for name in names])]).astype(np.int64)
        words, spelled = np.array(self.expansion, np.int64), np.frombuffer(b"".join(names), np.uint8)
        return named_otherwise(attrs, ends, text, words, name_ends, spelled)

    def adapt(self, tasks: int) -> Plan:
        """Return the plan for another number of tasks: fewer take over each other's pairs, more start anew."""
        if tasks > self.tasks:
            return DocumentPlan(tasks, spread=self.spread)
        table = {
            pair: sum({1 << task % tasks for task in range(self.tasks) if mask >> task & 1})
            for pair, mask in zip(self.pairs, self.masks, strict=True)
        }
        return replace(DocumentPlan.over(tasks, table, self.expansion, self.spread, self.alone), names=self.names)

    def copies(self) -> tuple[float, float]:
        return (self.replication or self.tasks,) * 2

    def lookups(self) -> tuple[float, float]:
        return (self.replication or self.tasks,) * 2


def _bits(masks: list[int] | tuple[int, ...], width: int) -> Words:
    low = (1 << _WORD) - 1
    made = np.array([[mask >> _WORD * word & low for mask in masks] for word in range(width)], np.uint64)
    return made.reshape(width, len(masks)).view(np.int64)


def tasks_of(bits: Words, tasks: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Return task bits as one Boolean row per task."""
    numbers = np.arange(tasks)
    words = bits.view(np.uint64)[numbers // _WORD]
    return np.asarray((words >> (numbers % _WORD).astype(np.uint64)[:, None]) & np.uint64(1) == 1)


def quality_of(sent: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> Quality:
    """Return replication and maximal load of documents sent to tasks (one Boolean row per task)."""
    counted = sent[:, sent.any(axis=0)]
    if not counted.shape[1]:
        return Quality(0.0, 0.0)
    per_task = counted.sum(axis=1)
    return Quality(float(per_task.sum() / counted.shape[1]), float(per_task.max() / counted.shape[1]))


def gini(loads: Sequence[int]) -> float:
    """Return the Gini coefficient of loads: 0 if all are equal, close to 1 if one task has everything (004-34).

    >>> gini([5, 5, 5, 5]), gini([0, 0, 0, 8])
    (0.0, 0.75)
    """
    values, n = np.sort(np.array(loads, np.float64)), len(loads)
    total = float(values.sum())
    if not total:
        return 0.0
    return float(2 * (values * np.arange(1, n + 1)).sum() / (n * total) - (n + 1) / n)
