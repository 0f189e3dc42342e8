"""The paper's competitors that share a chain: CI, MCI and PIM as laid out over tasks (000-33..000-35)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from weft.errors import SpecError
from weft.routing.chain import (
    ChainPlan,
    checkpoint_of,
    key_columns,
    new_here,
    newest_of,
    newest_seen,
    time_columns,
)  # fmt: skip
from weft.routing.plan import Plan
from weft.routing.scheme import Notes, Scheme, TaskStats, TaskView
from weft.spec import JoinSpec
from weft.spec.duration import Duration, microseconds
from weft.spec.options import check_choice, check_count
from weft.types import SIDES, WORD_MIN

__all__ = ["Chained", "Pim"]


@dataclass(frozen=True)
class Chained(Scheme):
    """CI and MCI.

    Parameters
    ----------
    insert
        `"one"`: a new key is kept by the task it hashes to (CI; MCI as the authors' code has it).
        `"all"`: by all tasks (MCI as the paper prints it, 000-34).
    ask
        `"one"`: a lookup asks the task its key hashes to (CI; MCI as printed). `"all"`: every task (MCI of the code).
    checkpoint
        How often, in event time, tasks publish what they keep; used where one task keeps and one is asked, which is CI
        and is incomplete in between.
    """

    name: ClassVar[str] = "chain"

    insert: Literal["one", "all"] = "all"
    ask: Literal["one", "all"] = "one"
    checkpoint: Duration = "1 second"

    def __post_init__(self) -> None:
        check_choice("insert", self.insert, ("one", "all"))
        check_choice("ask", self.ask, ("one", "all"))
        microseconds("checkpoint", self.checkpoint, least=1)

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        if self.insert == self.ask == "all":
            raise SpecError.of(
                "A chain that keeps everywhere and asks everywhere finds every pair once per task.",
                "insert='all', ask='all'.",
                "say 'one' for one of them.",
            )
        left, right = key_columns(spec, "chain")
        times = time_columns(spec, "A chain of one keeper and one asked") if self._shared else (-1, -1)
        return ChainPlan(tasks, left, right, *times, everywhere=self.insert == "all", ask_all=self.ask == "all")

    @property
    def _shared(self) -> bool:
        return self.insert == self.ask == "one"

    def watch(self, spec: JoinSpec, view: TaskView, before: Notes) -> Notes:
        newest = newest_of(spec, view) if self._shared else WORD_MIN
        return {"newest": max(newest, before.get("newest", WORD_MIN))} if self._shared else {}

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        first = self.initial(spec, plan.tasks)
        assert isinstance(plan, ChainPlan) and isinstance(first, ChainPlan)
        if not self._shared:
            return first, "" if first == plan else "the chain is read another way"
        interval = microseconds("checkpoint", self.checkpoint, least=1)
        published = checkpoint_of(newest_seen(stats), interval, plan.published)
        after = replace(first, published=published)
        return after, "" if after == plan else f"checkpoint: published up to {published}"


@dataclass(frozen=True)
class Pim(Scheme):
    """PIM as the STA paper lays it out: a shared chain of mutable sub-indexes, and one task with the immutable tree.

    Parameters
    ----------
    merge
        Rows in the mutable part from which on it is merged into the tree (omega). Older rows than the window go with it.
    mode
        `"paper"`: the mutable part is shared by checkpoints and one task of it is asked. `"exact"`: all are asked.
    checkpoint
        How often, in event time, the mutable sub-indexes are published; of no effect in mode `"exact"`.
    """

    name: ClassVar[str] = "pim"

    merge: int = 10_000
    mode: Literal["exact", "paper"] = "exact"
    checkpoint: Duration = "1 second"

    def __post_init__(self) -> None:
        check_count("merge", self.merge, "rows in the mutable part from which on it is merged", "use merge=10_000.")
        check_choice("mode", self.mode, ("exact", "paper"))
        microseconds("checkpoint", self.checkpoint, least=1)

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        left, right = key_columns(spec, "pim")
        times = time_columns(spec, "scheme='pim'")  # a merge, too, goes by event time
        return ChainPlan(tasks, left, right, *times, ask_all=self.mode == "exact", tree=True)

    def watch(self, spec: JoinSpec, view: TaskView, before: Notes) -> Notes:
        plan, newest = view.plan, max(newest_of(spec, view), before.get("newest", WORD_MIN))
        merged = plan.merged if isinstance(plan, ChainPlan) else WORD_MIN
        if merged == before.get("merged", WORD_MIN):
            mutable = before.get("mutable", 0) + sum(int(new_here(view, side).sum()) for side in SIDES)
        else:
            mutable = sum(self._mutable(spec, view, side, merged) for side in SIDES)
        return {"newest": newest, "merged": merged, "mutable": mutable}

    def _mutable(self, spec: JoinSpec, view: TaskView, side: Literal["left", "right"], merged: int) -> int:
        words, u = view.held(side)
        column = spec.side(side).time
        assert column is not None
        here = view.plan.store(side, words, u).argmax(axis=0) == view.task
        return int(np.count_nonzero(here & (words[column] >= merged)))

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        first = self.initial(spec, plan.tasks)
        assert isinstance(plan, ChainPlan) and isinstance(first, ChainPlan)
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
