"""As-of joins as a kind of join: what differs is how rows are routed, searched, let go and moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.engine.arrivals import Arrivals
from weft.engine.asof.migrate import migrate_asof
from weft.engine.asof.route import AsofRouter
from weft.engine.asof.step import asof_step
from weft.engine.joiner import Joiner
from weft.engine.migrate import Moved
from weft.engine.pairs import Pairs
from weft.engine.preserve import Accept
from weft.engine.route import Inputs
from weft.engine.step import Step
from weft.routing import Plan
from weft.state import Pinned, TaskState
from weft.types import Side

__all__ = ["INDEX", "AsofJoiner"]

INDEX = "scan"
"""Rows lie as they came."""


@dataclass(frozen=True)
class AsofJoiner(Joiner[Pairs]):
    """Gives each left row the nearest right row; `accept` decides what words cannot of the further condition."""

    accept: Accept | None = None

    def router(self, side: Side, inputs: Inputs, pinned: Pinned, batch: int, partition: int) -> AsofRouter:
        return AsofRouter(self.job.spec, side, inputs, pinned, batch, partition)

    def step(self, task: int, state: TaskState, arrivals: Arrivals, *, last: bool) -> Step[Pairs]:
        return asof_step(self.job.spec, task, state, arrivals, self.accept, last=last)

    def migrate(self, task: int, plan: Plan, old: Sequence[TaskState]) -> tuple[TaskState, Moved]:
        return migrate_asof(self.job.spec, self.job.index, task, plan, old)
