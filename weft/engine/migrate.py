"""Migration: the difference of two plans, pulled by whoever gains.

State is immutable and every task can read it, so in the first batch of a new plan each task keeps of its own rows those
that the new plan leaves it, and takes from the segments of the others the rows that it gains. A run of which nothing goes
is kept as it lies, file and all. A row that several old tasks held is taken from the first of them. The pairs of that
very batch are exact, because the new state is complete before the first probe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.index import Run, kind_of, make_index
from weft.routing import Plan
from weft.spec import JoinSpec
from weft.state import TaskState
from weft.types import SIDES, Block, Bools, Side, other

__all__ = ["Moved", "migrate"]


@dataclass(frozen=True)
class Moved:
    """What a migration did to one task: rows it took from others, and rows of its own that it let go."""

    gained: int = 0
    lost: int = 0


def migrate(
    spec: JoinSpec, index: str, task: int, plan: Plan, old: Sequence[TaskState]
) -> tuple[TaskState, Moved]:  # fmt: skip
    """Return what `task` holds under `plan`, given the states of all tasks under the plan before."""
    runs: dict[Side, tuple[Run, ...]] = {}
    gained = lost = 0
    for side in SIDES:
        own: list[Run] = []
        pulled: list[Block] = []
        for owner, state in enumerate(old):
            for run in (held.compacted() for held in state.runs[side]):
                stays = plan.store(side, run.words, run.u)[task]
                if owner != task:
                    pulled += _taken(side, task, owner, state.plan, run, stays)
                elif kind_of(state.index) != kind_of(index):  # laid out for another index: all of it is laid out anew
                    pulled += _rows(run, stays)
                else:
                    own += _kept(run, stays)
                lost += int((~stays).sum()) if owner == task else 0
        gained += sum(len(block) for block in pulled)
        holder = make_index(index, spec.access_of(other(side)), spec.expiry(side), kept=True)
        holder.restore(own, old[0].before[side])
        if pulled:
            holder.insert(Block.concat(pulled))
        runs[side] = tuple(holder.snapshot())
    return TaskState(plan, runs, old[0].before, old[0].clock, index), Moved(gained, lost)


def _kept(run: Run, stays: Bools) -> list[Run]:
    """Return what is left of a run, the run itself if that is all of it."""
    if bool(stays.all()):
        return [run]
    if not bool(stays.any()):
        return []
    return [Run(run.parts, run.row[stays[run.row]], run.newest, run.span).compacted()]


def _taken(side: Side, task: int, owner: int, plan: Plan, run: Run, stays: Bools) -> list[Block]:
    """Return the rows to take from another task: not those that this task, or an earlier one, held already."""
    if not bool(stays.any()):
        return []
    before = plan.store(side, run.words, run.u)
    first = before.argmax(axis=0) == owner
    mine = before[task] if task < len(before) else np.zeros(len(stays), np.bool_)
    return _rows(run, stays & first & ~mine)


def _rows(run: Run, wanted: Bools) -> list[Block]:
    rows = np.flatnonzero(wanted)
    return [run.block.take(rows)] if len(rows) else []
