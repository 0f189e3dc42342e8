"""What differs between joins of rows and joins of documents. All else is the same: routes, shuttles, workers, state.

A joiner is handed to both runtimes. It routes, makes deliveries light for the way, joins one batch in one task, and
moves state to another plan; it has no file, and no clock but for its metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic

import pyarrow as pa

from weft.engine.arrivals import Arrivals, Shipment
from weft.engine.migrate import Moved, migrate
from weft.engine.pairs import Leaving, Pairs
from weft.engine.preserve import Accept, preserving_step
from weft.engine.route import Delivery, Inputs, Router
from weft.engine.step import Found, Step, step
from weft.routing import Plan, Scheme
from weft.spec import JoinSpec
from weft.state import Derived, Pinned, TaskState
from weft.types import SIDES, Side

__all__ = ["Job", "Joiner", "RowJoiner"]


@dataclass(frozen=True)
class Job:
    """Everything that stays the same from batch to batch."""

    spec: JoinSpec
    scheme: Scheme
    index: str
    tasks: int
    payload: dict[Side, pa.Schema]
    derived: dict[Side, Derived] = field(default_factory=lambda: {"left": {}, "right": {}})
    """Words that follow from the payload, so that they need not travel (`Inputs.derived`)."""
    leaving: Leaving = field(default_factory=Leaving)
    """What pairs of an inner join leave with; everything, unless somebody says what is read."""


@dataclass(frozen=True)
class Joiner(Generic[Found]):
    """One kind of join. `Found` is what a chunk of its pairs is."""

    job: Job

    def roles(self, side: Side) -> tuple[Side, ...]:
        """Return the sides as which the rows of one input are routed."""
        return (side,)

    def router(self, side: Side, inputs: Inputs, pinned: Pinned, batch: int, partition: int) -> Router:
        """Return what routes one side of one map partition."""
        raise NotImplementedError

    def light(self, delivery: Delivery) -> Delivery:
        """Return a delivery without what can be made again where it arrives."""
        return delivery

    def whole(self, shipment: Shipment) -> Shipment:
        """Make that again."""
        return shipment

    def step(self, task: int, state: TaskState, arrivals: Arrivals, *, last: bool) -> Step[Found]:
        """Join one batch in one task. The state after it does not depend on the pairs being drawn.

        Behind the `last` batch all windows have ended: what still waits leaves with it.
        """
        raise NotImplementedError

    def migrate(self, task: int, plan: Plan, old: Sequence[TaskState]) -> tuple[TaskState, Moved]:
        """Return what a task holds under a plan, given the states of all tasks under the plan before."""
        raise NotImplementedError


@dataclass(frozen=True)
class RowJoiner(Joiner[Pairs]):
    """Joins rows by terms over their words. A self join reads its stream once and routes it as both sides.

    `accept` decides what words cannot, where that has to be known before rows leave (`weft.engine.preserve`).
    """

    accept: Accept | None = None

    def roles(self, side: Side) -> tuple[Side, ...]:
        return SIDES if self.job.spec.self_join else (side,)

    def router(self, side: Side, inputs: Inputs, pinned: Pinned, batch: int, partition: int) -> Router:
        return Router(self.job.spec, side, inputs, pinned, batch, partition)

    def step(self, task: int, state: TaskState, arrivals: Arrivals, *, last: bool) -> Step[Pairs]:
        spec, index = self.job.spec, self.job.index
        if spec.kind.preserved:
            return preserving_step(spec, index, state, arrivals, accept=self.accept, last=last, task=task)
        return step(spec, index, state, arrivals, task=task, leaving=self.job.leaving)

    def migrate(self, task: int, plan: Plan, old: Sequence[TaskState]) -> tuple[TaskState, Moved]:
        return migrate(self.job.spec, self.job.index, task, plan, old)
