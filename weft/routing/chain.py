"""A chain of sub-indexes that tasks share by checkpoints: the cold half of STA, and CI, MCI and PIM (000-23, 000-24, 000-33..35).

A tuple is kept by one task until the next checkpoint, then by all tasks of the chain. A lookup asks one task, which sees
what is *published* and what it keeps itself: results are incomplete by what the others have not published yet (000-69).

A checkpoint is a plan: the tuples older than `published` (a timestamp) belong to every task, and the general migration
copies them. So checkpoints need event time, their interval is a length of it, and what is published in batch b + 1 is what
had arrived by batch b - 1: one batch more of staleness than the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from weft.errors import SpecError
from weft.kernels import mix_words
from weft.routing.plan import Plan, draw_of, owned
from weft.routing.scheme import TaskStats, TaskView
from weft.spec import JoinSpec, Op
from weft.types import SIDES, U32, WORD_MIN, Bools, Rows, Side, Words

__all__ = ["ChainPlan", "checkpoint_of", "key_columns", "new_here", "newest_of", "newest_seen", "time_columns"]

_ORDER = ((Op.LT, Op.LE, Op.GT, Op.GE), (Op.BAND, Op.FBAND), (Op.EQ,), (Op.NE,))
"""Which comparison names the key: inequalities first, they are what these schemes are for."""


def key_columns(spec: JoinSpec, scheme: str) -> tuple[int, int]:
    """Return the word columns of the key: those of the first inequality, else of the first other comparison."""
    for ops in _ORDER:
        for term in spec.terms:
            if term.op in ops and term.left < len(spec.left.keys) and term.right < len(spec.right.keys):
                return term.left, term.right
    raise SpecError.of(
        f"scheme={scheme!r} needs a comparison between the sides.",
        f"The condition is {spec.condition.text}.",
        "use scheme='matrix', which serves any condition.",
    )


def time_columns(spec: JoinSpec, scheme: str) -> tuple[int, int]:
    """Return the word columns of the timestamps, which checkpoints go by."""
    if spec.left.time is None or spec.right.time is None:
        raise SpecError.of(
            f"{scheme} shares its chain by checkpoints in event time.",
            f"The window is {spec.window}.",
            "use a time window (within, tumbling), or the exact mode, which needs no checkpoint.",
        )
    return spec.left.time, spec.right.time


def checkpoint_of(newest: int, interval: int, published: int) -> int:
    """Return the last whole interval before `newest`, never before what is published already."""
    return published if newest == WORD_MIN else max(published, newest // interval * interval)


def new_here(view: TaskView, side: Side) -> Bools:
    """Tell which stored rows this task counts: each row is counted by the first task that keeps it."""
    first = view.plan.store(side, view.stored[side], view.draws[side]).argmax(axis=0)
    return np.asarray(first == view.task)


def newest_of(spec: JoinSpec, view: TaskView) -> int:
    """Return the greatest timestamp among the rows that came to stay."""
    columns = {side: spec.side(side).time for side in SIDES}
    words = {side: view.stored[side] for side in SIDES}
    found = [
        int(words[side][column].max()) for side, column in columns.items() if column is not None and words[side].size
    ]
    return max(found, default=WORD_MIN)


def newest_seen(stats: list[TaskStats]) -> int:
    """Return the greatest timestamp that any task noted."""
    return max((task.notes.get("newest", WORD_MIN) for task in stats), default=WORD_MIN)


@dataclass(frozen=True)
class ChainPlan(Plan):
    """Keys are hashed over the tasks of the chain; with a `tree`, the last task holds what was merged (000-35).

    `everywhere` keeps new rows on all tasks of the chain, `ask_all` asks all of them. Complete if exactly one of the
    two holds (then nothing need be published); with neither, what is `published` is found and the rest by chance.
    """

    scheme: ClassVar[str] = "chain"

    left: int = 0
    right: int = 0
    left_time: int = -1
    right_time: int = -1
    everywhere: bool = False
    ask_all: bool = False
    tree: bool = False
    published: int = WORD_MIN
    merged: int = WORD_MIN

    @property
    def links(self) -> int:
        """Return how many tasks share the chain: the first ones."""
        return self.tasks - 1 if self.tree and self.tasks > 1 else self.tasks

    def _hashed(self, side: Side, words: Words) -> Rows:
        """Field grouping: equal keys to one task."""
        mixed = mix_words([words[self.left if side == "left" else self.right]]).view(np.uint64)
        return draw_of((mixed >> np.uint64(32)).astype(np.uint32), self.links)

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        kept = owned(self._hashed(side, words), self.tasks)
        column = self.left_time if side == "left" else self.right_time
        if self.everywhere:
            kept[: self.links] = True
        elif column >= 0:
            kept[: self.links] |= words[column] < self.published
        if self.tree and self.tasks > 1 and column >= 0:
            merged = words[column] < self.merged
            kept[: self.links] &= ~merged
            kept[self.links] = merged
        return kept

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        asked = owned(self._hashed(side, words), self.tasks)
        if self.ask_all:
            asked[: self.links] = True
        if self.tree and self.tasks > 1:
            asked[self.links] = True
        return asked

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        shared = self.everywhere or not self.ask_all
        return (float(self.links), float(self.links)) if shared else (1.0, 1.0)

    def lookups(self) -> tuple[float, float]:
        asked = (self.links if self.ask_all else 1) + self.tasks - self.links
        return float(asked), float(asked)
