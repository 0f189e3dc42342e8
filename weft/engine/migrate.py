"""Migration: the difference of two plans, pulled by whoever gains.

State is immutable and every task can read it, so in the first batch of a new plan each task keeps of its own rows those
that the new plan leaves it, and takes from the segments of the others the rows that it gains. A run of which nothing goes
is kept as it lies, file and all. A plan that knows which keys it moves (`Plan.changed`) is asked about their rows alone. A
row that several old tasks held is taken from the first of them. The pairs of that very batch are exact, because the new
state is complete before the first probe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from weft.index import Run, kind_of, make_index
from weft.routing import Plan, draw_of
from weft.spec import Access, JoinSpec
from weft.state import TaskState
from weft.types import SIDES, Block, Bools, Rows, Side, Words, columns_at, other

__all__ = ["Moved", "migrate", "waiting_rows"]


@dataclass(frozen=True)
class Moved:
    """What a migration did to one task: rows it took from others, and rows of its own that it let go."""

    gained: int = 0
    lost: int = 0
    opened: int = 0
    """Files of other tasks that were opened for it, their manifests among them."""
    read: int = 0
    """Bytes of the segments in them."""


def migrate(
    spec: JoinSpec, index: str, task: int, plan: Plan, old: Sequence[TaskState]
) -> tuple[TaskState, Moved]:  # fmt: skip
    """Return what `task` holds under `plan`, given the states of all tasks under the plan before."""
    runs: dict[Side, tuple[Run, ...]] = {}
    gained = lost = 0
    for side in SIDES:
        own: list[Run] = []
        pulled: list[Block] = []
        change = _Change(side, old[0].plan, plan, plan.changed(old[0].plan, side))
        for owner, state in enumerate(old):
            for run in state.runs[side]:
                if owner != task:
                    pulled += change.taken(run, task, owner)
                    continue
                whole = run.compacted()
                stays = change.staying(whole, task)
                lost += 0 if stays is None else int((~stays).sum())
                if kind_of(state.index) == kind_of(index):
                    own += _kept(whole, stays)
                else:  # laid out for another index: all of it is laid out anew
                    pulled += _rows(whole, np.arange(whole.rows) if stays is None else np.flatnonzero(stays))
        gained += sum(len(block) for block in pulled)
        holder = make_index(index, spec.access_of(other(side)), spec.expiry(side), kept=True)
        holder.restore(own, old[0].before[side])
        if pulled:
            holder.insert(Block.concat(pulled))
        runs[side] = tuple(holder.snapshot())
    waiting = {side: waiting_rows(spec, side, task, plan, old) for side in SIDES}
    return TaskState(plan, runs, old[0].before, old[0].clock, index, waiting), Moved(gained, lost)


def waiting_rows(spec: JoinSpec, side: Side, task: int, plan: Plan, old: Sequence[TaskState]) -> tuple[Run, ...]:
    """Return the rows that wait on a task for their windows to end: those that draw it, whatever the plan."""
    if plan.tasks == len(old):
        return old[task].waiting[side]
    found = [run.compacted().block for state in old for run in state.waiting[side]]
    here = [block.filter(draw_of(block.u, plan.tasks) == task) for block in found]
    holder = make_index("scan", Access(), spec.expiry(side), kept=True)
    if here:
        holder.insert(Block.concat(here))
    return tuple(holder.snapshot())


@dataclass(frozen=True)
class _Change:
    """What two plans say of one side's rows; `find` names the rows they may disagree on, None if that may be all."""

    side: Side
    old: Plan
    new: Plan
    find: Callable[[Words], Rows] | None

    def staying(self, run: Run, task: int) -> Bools | None:
        """Tell which rows of a task's own run stay with it; None if all of them do."""
        if self.find is None:
            stays = self.new.store(self.side, run.words, run.u)[task]
        else:
            rows = self.find(run.words)
            stays = np.ones(run.rows, np.bool_)
            stays[rows] = self.new.store(self.side, columns_at(run.words, rows), run.u[rows])[task]
        return None if bool(stays.all()) else stays

    def taken(self, run: Run, task: int, owner: int) -> list[Block]:
        """Return the rows to take from another task: not those that this task, or an earlier one, held already."""
        rows = np.arange(run.rows, dtype=np.int32) if self.find is None else self.find(run.words)
        if len(run) < run.rows:  # expired rows stay behind
            alive = np.zeros(run.rows, np.bool_)
            alive[run.row] = True
            rows = rows[alive[rows]]
        if not len(rows):
            return []
        comes = self.new.store(self.side, columns_at(run.words, rows), run.u[rows])[task]
        if not bool(comes.any()):
            return []
        rows = rows[comes]
        before = self.old.store(self.side, columns_at(run.words, rows), run.u[rows])
        first = before.argmax(axis=0) == owner
        return _rows(run, rows[first & ~before[task]] if task < len(before) else rows[first])


def _kept(run: Run, stays: Bools | None) -> list[Run]:
    """Return what is left of a run, the run itself if that is all of it."""
    if stays is None:
        return [run]
    if not bool(stays.any()):
        return []
    return [Run(run.parts, run.row[stays[run.row]], run.newest, run.span).compacted()]


def _rows(run: Run, rows: Rows) -> list[Block]:
    return [run.block.take(rows)] if len(rows) else []
