"""A state store that forgets at exit: the same questions as `StateStore`, answered from dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from weft.routing import Plan
from weft.state.places import open_folder
from weft.state.store import StateStore, Wanted
from weft.state.task import History, Manifest, Pinned, TaskState
from weft.types import Side

__all__ = ["MemoryStore"]

_KEPT = 1000
"""Batches whose plans and metrics can still be looked at."""


class MemoryStore(StateStore):
    """Keeps plans, states and metrics of the last batches in memory."""

    def __init__(self, fingerprint: str) -> None:
        super().__init__(open_folder("memory"), "local", fingerprint)
        self.plans: dict[int, tuple[Pinned, str]] = {}
        self.states: dict[tuple[int, int], tuple[Manifest, TaskState]] = {}
        self.metrics: dict[tuple[int, int], dict[str, Any]] = {}

    def introduce(self, identity: dict[str, str]) -> None:
        """Nothing to write down."""

    def read_pinned(self, batch: int) -> Pinned:
        return self.plans[batch][0]

    def reason(self, batch: int) -> str:
        return self.plans[batch][1]

    def pin(self, batch: int, pinned: Pinned, reason: str) -> Pinned:
        self.plans[batch] = (pinned, reason)
        self.plans.pop(batch - _KEPT, None)
        return pinned

    def manifest(self, task: int, batch: int, history: str = "") -> Manifest | None:
        return self.states[task, batch][0] if (task, batch) in self.states else None

    def load(self, manifest: Manifest, plan: Plan, payload: dict[Side, pa.Schema]) -> TaskState:
        return self.states[manifest.task, manifest.batch][1]

    def load_some(
        self, manifests: Mapping[int, Manifest], plan: Plan, payload: dict[Side, pa.Schema], wanted: Wanted
    ) -> tuple[TaskState, ...]:  # fmt: skip
        (first, *_) = manifests.values()
        return tuple(self.states[task, first.batch][1] for task in range(plan.tasks))

    def save(
        self, task: int, batch: int, state: TaskState, stats: dict[str, Any], previous: Manifest | None, history: History
    ) -> Manifest:  # fmt: skip
        made = Manifest(
            task=task,
            batch=batch,
            fingerprint=self.fingerprint,
            plan={} if task else state.plan.to_json(),
            segments={"left": (), "right": ()},
            before=state.before,
            clock=state.clock.to_json(),
            stats=stats,
            index=state.index,
            history=history.now,
            since=history.before,
        )
        self.states[task, batch] = (made, state)
        self.states.pop((task, batch - 2), None)
        return made

    def collect_orphans(self, batch: int, tasks: int) -> None:
        """Nothing is left behind."""

    def write_metrics(self, task: int, batch: int, metrics: dict[str, Any]) -> None:
        self.metrics[task, batch] = metrics
        self.metrics.pop((task, batch - _KEPT), None)

    def read_metrics(self, task: int, batch: int) -> dict[str, Any] | None:
        return self.metrics.get((task, batch))
