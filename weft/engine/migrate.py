"""Migration: the difference of two plans, pulled by whoever gains.

State is immutable and every task can read it, so in the first batch of a new plan each task takes from the segments of
all old tasks the rows that the new plan gives it. A row that several old tasks held is taken from the first of them.
The pairs of that very batch are exact, because the new state is complete before the first probe.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.index import make_index
from weft.routing import Plan
from weft.spec import JoinSpec
from weft.state import TaskState
from weft.types import SIDES, Block, Side, other

__all__ = ["migrate"]


def migrate(spec: JoinSpec, index: str, task: int, plan: Plan, old: Sequence[TaskState]) -> TaskState:
    """Return what `task` holds under `plan`, given the states of all tasks under the plan before."""
    runs = {}
    for side in SIDES:
        holder = make_index(index, spec.access_of(other(side)), spec.expiry(side), kept=True)
        holder.restore((), old[0].before[side])
        gained = _gained(side, task, plan, old)
        if gained:
            holder.insert(Block.concat(gained))
        runs[side] = tuple(holder.snapshot())
    return TaskState(plan, runs, old[0].before, old[0].clock, index)


def _gained(side: Side, task: int, plan: Plan, old: Sequence[TaskState]) -> list[Block]:
    gained = []
    for owner, state in enumerate(old):
        for run in (held.compacted() for held in state.runs[side]):
            first = state.plan.store(side, run.words, run.u).argmax(axis=0)
            rows = np.flatnonzero((first == owner) & plan.store(side, run.words, run.u)[task])
            if len(rows):
                payload = run.payload.take(pa.array(rows))
                gained.append(Block(run.words[:, rows], run.u[rows], payload))
    return gained
