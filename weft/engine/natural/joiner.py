"""Joins of documents: they travel as text with the bits of their tasks, and are kept in runs that are read as FP-trees.

A migration computes the tasks of documents anew from what they say, and each task takes those sent to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from weft.engine.arrivals import Arrivals, Shipment
from weft.engine.joiner import Joiner
from weft.engine.migrate import Moved
from weft.engine.natural.fp_trees import INDEX, TreeCache, chained, run_of
from weft.engine.natural.route import DocumentRouter, light, whole, with_tasks
from weft.engine.natural.step import natural_step
from weft.engine.route import Delivery, Inputs
from weft.engine.step import Step
from weft.index import Run
from weft.routing import Plan
from weft.routing.documents import DocumentPlan, tasks_of
from weft.spec import JoinSpec
from weft.state import Pinned, TaskState
from weft.types import SIDES, Block, Bools, Side

__all__ = ["DocumentJoiner", "migrate_documents"]


@dataclass(frozen=True)
class DocumentJoiner(Joiner[pa.Table]):
    """Joins documents that share a pair and agree; `forest` keeps trees between batches where the process lives on."""

    forest: TreeCache = field(default_factory=TreeCache)

    def router(self, side: Side, inputs: Inputs, pinned: Pinned, batch: int, partition: int) -> DocumentRouter:
        return DocumentRouter(self.job.spec, side, inputs, pinned, batch, partition)

    def light(self, delivery: Delivery) -> Delivery:
        return light(delivery)

    def whole(self, shipment: Shipment) -> Shipment:
        return whole(shipment)

    def step(self, task: int, state: TaskState, arrivals: Arrivals, *, last: bool) -> Step[pa.Table]:
        del last  # no document waits for the end
        return natural_step(self.job.spec, task, state, arrivals, self.forest)

    def migrate(self, task: int, plan: Plan, old: Sequence[TaskState]) -> tuple[TaskState, Moved]:
        return migrate_documents(self.job.spec, task, plan, old)


def migrate_documents(
    spec: JoinSpec, task: int, plan: Plan, old: Sequence[TaskState]
) -> tuple[TaskState, Moved]:  # fmt: skip
    """Return what a task holds under a new plan: of every document of every old task, if the new plan sends it here.

    A document that several old tasks held is taken from the least of them. What has expired stays behind.
    """
    assert isinstance(plan, DocumentPlan)
    runs, gained, lost = {}, 0, 0
    for side in SIDES:
        found = [part for owner, state in enumerate(old) for part in _taken(spec, side, owner, state, task, plan)]
        kept = sum(own for _, own in found)
        gained += sum(len(block) for block, _ in found) - kept
        lost += _alive_here(spec, side, old[task]) - kept if task < len(old) else 0
        whole = run_of(spec, side, Block.concat([block for block, _ in found])) if found else None
        runs[side] = chained(spec, side, (), whole, old[0].before[side])
    return TaskState(plan, runs, old[0].before, old[0].clock, INDEX), Moved(gained, lost)


def _taken(
    spec: JoinSpec, side: Side, owner: int, state: TaskState, task: int, plan: DocumentPlan
) -> Iterator[tuple[Block, int]]:  # fmt: skip
    """Yield the documents of one old task that a task takes from it, and how many of them it held itself."""
    before = state.plan
    assert isinstance(before, DocumentPlan)
    for run in state.runs[side]:
        held = tasks_of(run.words[-before.width :], before.tasks)
        first = (held.argmax(axis=0) == owner) & _alive(spec, side, run, state.before[side])
        if not first.any():
            continue
        made = with_tasks(run.block.filter(first), plan, old=before.width)
        here = np.asarray(tasks_of(made.words[-plan.width :], plan.tasks)[task])
        if here.any():
            yield made.filter(here), int(held[task, first][here].sum()) if task < before.tasks else 0


def _alive(spec: JoinSpec, side: Side, run: Run, before: int) -> Bools:
    """Tell which documents have not expired. Only these are wherever they were sent: each task forgets others by its own runs."""
    expiry = spec.expiry(side)
    return np.ones(run.rows, np.bool_) if expiry is None else np.asarray(run.words[expiry] >= before)


def _alive_here(spec: JoinSpec, side: Side, state: TaskState) -> int:
    return sum(int(_alive(spec, side, run, state.before[side]).sum()) for run in state.runs[side])
