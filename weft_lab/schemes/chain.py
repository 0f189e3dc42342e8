"""CI, MCI and PIM, the STA paper's competitors: a chain of sub-indexes, shared by checkpoints (000-23, 000-24, 000-33..35).

One task stores a tuple until the next checkpoint, then all tasks of the chain do. A lookup probes one task, which sees
what is *published* and what it stores itself: results miss what the others have not published yet (000-69).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from weft.errors import SpecError
from weft.routing import (
    SCHEMES,
    BatchView,
    Need,
    Notes,
    Plan,
    Scheme,
    TaskStats,
    compared_columns,
    hash_home,
    owned,
    time_columns,
)
from weft.routing.sta import checkpoint_of, new_here, newest_of, newest_seen
from weft.spec import JoinSpec
from weft.spec.options import Duration, check_choice, check_count, microseconds
from weft.types import SIDES, U32, WORD_MIN, Bools, Rows, Side, Words

__all__ = ["ChainPlan", "Chained", "Pim"]


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
        return hash_home(words[self.left if side == "left" else self.right], self.links)

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

    def describe(self) -> str:
        kept = "every task stores every row" if self.everywhere else "each row is stored on the task of its hash"
        tree = "one task holds the tree, the others new rows; " if self.tree else ""
        asked = "all tasks are probed" if self.ask_all else "one task is probed"
        missed = "" if self.ask_all or self.everywhere else "; some pairs since the last checkpoint are missed"
        return f"{tree}{kept}, {asked}{missed}"

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        shared = self.everywhere or not self.ask_all
        return (float(self.links), float(self.links)) if shared else (1.0, 1.0)

    def lookups(self) -> tuple[float, float]:
        asked = (self.links if self.ask_all else 1) + self.tasks - self.links
        return float(asked), float(asked)


@SCHEMES.register
@dataclass(frozen=True)
class Chained(Scheme):
    """CI and MCI.

    Parameters
    ----------
    insert
        `"one"`: the task that its key hashes to stores a new tuple (CI; MCI as in the authors' code).
        `"all"`: all tasks store it (MCI as printed, 000-34).
    ask
        `"one"`: a lookup probes the task that its key hashes to (CI; MCI as printed). `"all"`: it probes every task (MCI as in
        the code).
    checkpoint
        How often, in event time, tasks publish their tuples; used if one task stores and one is probed, which is CI
        and incomplete between checkpoints.
    """

    name: ClassVar[str] = "chain"

    insert: Literal["one", "all"] = "all"
    ask: Literal["one", "all"] = "one"
    checkpoint: Duration = "1 second"

    def __post_init__(self) -> None:
        check_choice("insert", self.insert, ("one", "all"))
        check_choice("ask", self.ask, ("one", "all"))
        microseconds("checkpoint", self.checkpoint, least=1)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.COMPARISON, Need.EVENT_TIME) if self._shared else (Need.COMPARISON,)

    @property
    def adapts(self) -> bool:
        return self._shared

    @property
    def exact(self) -> bool:
        return not self._shared

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return Chained("all", "one"), Chained("one", "all"), Chained("one", "one", checkpoint=2)

    def first_plan(self, spec: JoinSpec, tasks: int) -> ChainPlan:
        if self.insert == self.ask == "all":
            raise SpecError.of(
                "A chain that stores and probes everywhere finds every pair once per task.",
                "insert='all', ask='all'.",
                "say 'one' for one of them.",
            )
        left, right = compared_columns(spec)
        times = time_columns(spec) if self._shared else (-1, -1)
        return ChainPlan(tasks, left, right, *times, everywhere=self.insert == "all", ask_all=self.ask == "all")

    @property
    def _shared(self) -> bool:
        return self.insert == self.ask == "one"

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        newest = newest_of(spec, view) if self._shared else WORD_MIN
        return {"newest": max(newest, before.get("newest", WORD_MIN))} if self._shared else {}

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        first = self.first_plan(spec, plan.tasks)
        assert isinstance(plan, ChainPlan)
        if not self._shared:
            return first, "" if first == plan else "the settings of the chain changed"
        interval = microseconds("checkpoint", self.checkpoint, least=1)
        published = checkpoint_of(newest_seen(stats), interval, plan.published)
        after = replace(first, published=published)
        return after, "" if after == plan else f"checkpoint: published up to {published}"


@SCHEMES.register
@dataclass(frozen=True)
class Pim(Scheme):
    """PIM as in the STA paper: a shared chain of mutable sub-indexes, and one task with the immutable tree.

    Parameters
    ----------
    merge
        The number of rows at which the mutable part is merged into the tree (omega). Rows older than the window are dropped then.
    mode
        `"paper"`: the mutable part is shared through checkpoints, and one of its tasks is probed. `"exact"`: all are probed.
    checkpoint
        How often, in event time, the mutable sub-indexes are published; no effect in mode `"exact"`.
    """

    name: ClassVar[str] = "pim"
    needs = (Need.COMPARISON, Need.EVENT_TIME)

    merge: int = 10_000
    mode: Literal["exact", "paper"] = "exact"
    checkpoint: Duration = "1 second"

    def __post_init__(self) -> None:
        check_count("merge", self.merge, "rows in the mutable part at which it is merged", "use merge=10_000.")
        check_choice("mode", self.mode, ("exact", "paper"))
        microseconds("checkpoint", self.checkpoint, least=1)

    @property
    def exact(self) -> bool:
        return self.mode == "exact"

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return Pim(merge=3), Pim(merge=3, mode="paper", checkpoint=2)

    def first_plan(self, spec: JoinSpec, tasks: int) -> ChainPlan:
        left, right = compared_columns(spec)
        times = time_columns(spec)  # a merge, too, goes by event time
        return ChainPlan(tasks, left, right, *times, ask_all=self.mode == "exact", tree=True)

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        plan, newest = view.plan, max(newest_of(spec, view), before.get("newest", WORD_MIN))
        merged = plan.merged if isinstance(plan, ChainPlan) else WORD_MIN
        if merged == before.get("merged", WORD_MIN):
            mutable = before.get("mutable", 0) + sum(int(new_here(view, side).sum()) for side in SIDES)
        else:
            mutable = sum(self._mutable(spec, view, side, merged) for side in SIDES)
        return {"newest": newest, "merged": merged, "mutable": mutable}

    def _mutable(self, spec: JoinSpec, view: BatchView, side: Literal["left", "right"], merged: int) -> int:
        words, u = view.held(side)
        column = spec.side(side).time
        assert column is not None
        here = view.plan.store(side, words, u).argmax(axis=0) == view.task
        return int(np.count_nonzero(here & (words[column] >= merged)))

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        first = self.first_plan(spec, plan.tasks)
        assert isinstance(plan, ChainPlan)
        newest, merged, published, why = newest_seen(stats), plan.merged, WORD_MIN, ""
        mutable = sum(task.notes.get("mutable", 0) for task in stats if task.notes.get("merged") == plan.merged)
        if mutable > self.merge and newest + 1 > merged:
            merged, why = newest + 1, f"{mutable} mutable rows merged into the tree"
        if self.mode == "paper":
            interval = microseconds("checkpoint", self.checkpoint, least=1)
            published = checkpoint_of(newest, interval, plan.published)
        after = replace(first, published=published, merged=merged)
        if after == plan:
            return plan, ""
        return after, why or f"checkpoint: published up to {published}"
