"""One task's whole batch over a state store: load or migrate, join, save, then let the pairs leave.

The state is written before the first pair is drawn: it does not depend on the pairs, and a consumer that stops early
(`limit`, a failed sink) leaves a state from which the batch can be replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from weft.engine.clock import number_rows
from weft.engine.gather import Pairs
from weft.engine.migrate import Moved, migrate
from weft.engine.ship import Shipment
from weft.engine.step import Arrivals, step
from weft.errors import StateError
from weft.index import kind_of
from weft.routing import Plan, Scheme, TaskStats, next_plan, plan_from_json
from weft.spec import JoinSpec
from weft.state import Clock, Derived, History, Manifest, Pinned, StateStore, TaskState
from weft.types import SIDES, Block, Side

__all__ = ["Job", "Worker", "collect_arrivals", "pinned_for"]


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


def pinned_for(job: Job, store: StateStore | None, batch: int) -> Pinned:
    """Return what is pinned for a batch, the plan for the number of tasks there are now."""
    if store is None or batch == 0:
        history = "" if store is None else History.first(store.query, store.fingerprint)
        return Pinned(job.scheme.initial(job.spec, job.tasks), history=history)
    pinned = store.read_pinned(batch)
    return pinned if pinned.plan.tasks == job.tasks else replace(pinned, plan=pinned.plan.adapt(job.tasks))


def collect_arrivals(job: Job, shipments: Iterable[Shipment], clock: Clock) -> Arrivals:
    """Put shipments in order, number the rows where the window counts, and make one block per side."""
    ordered = sorted(shipments, key=lambda s: (s.side, s.partition, s.piece))
    headers = {side: [s.header for s in ordered if s.side == side and s.header is not None] for side in SIDES}
    blocks: dict[Side, Block] = {}
    roles = {}
    for side in SIDES:
        parts = [(s.partition, s.delivery) for s in ordered if s.side == side and s.delivery is not None]
        named = [(where, _named(d.block, job.payload[side])) for where, d in parts]
        numbered = [number_rows(job.spec, side, where, block, clock, headers) for where, block in named]
        columns = job.spec.side(side).columns
        empty = Block(np.zeros((columns, 0), np.int64), np.zeros(0, np.uint32), job.payload[side].empty_table())
        blocks[side] = Block.concat(numbered) if numbered else empty
        roles[side] = np.concatenate([d.role for _, d in parts]) if parts else np.zeros(0, np.uint8)
    return Arrivals(blocks, roles, headers)


def _named(block: Block, payload: pa.Schema) -> Block:
    """Give the payload the names and nullability it has in segments, whatever it was called on its way."""
    if not payload.names or block.payload.schema == payload:
        return block
    return Block(block.words, block.u, pa.Table.from_arrays(block.payload.columns, schema=payload))


class Worker:
    """Runs one task of one batch. `now` is the runtime's clock, for the metrics only."""

    def __init__(
        self, job: Job, store: StateStore | None, task: int, batch: int, plan: Plan | None = None,
        now: Callable[[], float] = lambda: 0.0,
    ) -> None:  # fmt: skip
        self.job, self.store, self.task, self.batch, self.now = job, store, task, batch, now
        self.pinned = Pinned(plan) if plan is not None else pinned_for(job, store, batch)
        self.migrated, self.moved, self.moving, self.rescaled = "", Moved(), "", ""

    def run(self, shipments: Iterable[Shipment]) -> Iterator[Pairs]:
        """Yield the pairs of the batch; the state after it is saved before the first one."""
        started = self.now()
        plan, shipments = self.pinned.plan, self._checked(shipments)
        state, previous = self._load(plan)
        loaded = self.now()
        arrivals = collect_arrivals(self.job, shipments, state.clock)
        done = step(self.job.spec, self.job.index, state, arrivals, task=self.task)
        stats = done.stats
        watched = steered = 0.0
        if self.store is not None:
            before = {} if previous is None else TaskStats.of_json(previous.stats).notes
            name = self.job.scheme.name
            watching = self.now()  # what another scheme noted before a restart says nothing to this one
            notes = self.job.scheme.watch(self.job.spec, done.view, before if before.get("scheme") == name else {})
            stats = replace(stats, notes={**notes, "scheme": name} if notes else notes)
            watched = self.now() - watching
            history = self._history(arrivals)
            self.store.save(self.task, self.batch, done.state, stats.to_json(), previous, history)
            steering = self.now()
            if self.task == 0:
                self._control(self.store, plan, done.state.clock, history)
            steered = self.now() - steering
        saved = self.now()
        count = 0
        for pairs in done.pairs():
            count += len(pairs)
            yield pairs
        if self.store is not None:
            seconds = {
                "load": loaded - started, "state": saved - started, "pairs": self.now() - saved,
                "watch": watched, "control": steered,
            }  # fmt: skip
            reason = self.rescaled or (self.store.reason(self.batch) if self.migrated else "")
            moved = {"migrated": self.migrated, "reason": reason, "gained": self.moved.gained, "lost": self.moved.lost}
            moved["moving"] = self.moving  # why the next batch migrates, "" if it does not; task 0 knows
            routed = {  # the paper's join requests and bandwidth (001-44)
                "asked": sum(int(words.shape[1]) for words in done.view.probed.values()),
                "routed": sum(len(block) for block in arrivals.blocks.values()),
                "routed_bytes": sum(shipment.size for shipment in shipments),
            }
            metrics = {"pairs": count, "seconds": seconds, **moved, **routed, **done.stats.to_json()}
            self.store.write_metrics(self.task, self.batch, metrics)

    def _checked(self, shipments: Iterable[Shipment]) -> list[Shipment]:
        """Return the shipments, all of them routed by what this task goes by."""
        found = list(shipments)
        marks = {shipment.pinned for shipment in found if shipment.pinned}
        if marks and marks != {self.pinned.mark} and self.store is not None:
            raise StateError.of(
                f"Batch {self.batch} was routed by another plan than the one that task {self.task} reads.",
                f"{self.store.folder}/plans/{self.batch}.json was changed while the batch ran.",
                "make sure that no other query writes there, and run the batch again.",
            )
        return found

    def _history(self, arrivals: Arrivals) -> History:
        """Return where the state after this batch comes from."""
        inputs = [
            (side, header.partition, header.rows, header.newest, header.content)
            for side in SIDES
            for header in arrivals.headers[side]
        ]
        return History.of(self.pinned.history, self.pinned.plan.to_json(), inputs)

    def _first(self, store: StateStore) -> Manifest:
        """Return what task 0 knew after the batch before; it always exists, and every replay rewrites it."""
        first = self._manifest(store, 0, self.batch - 1)
        store.check(first.fingerprint, self.job.spec.identity())
        if self.pinned.history not in ("", first.history):  # a plan of state format 1 says nothing of it
            where, why = (
                f"{store.folder}/plans/{self.batch}.json",
                "it was pinned in another history than that of task 0",
            )
            raise StateError.foreign(where, why)
        self.pinned = replace(self.pinned, history=first.history)
        return first

    def _load(self, plan: Plan) -> tuple[TaskState, Manifest | None]:
        store, before = self.store, self.batch - 1
        if store is None or self.batch == 0:
            return TaskState(plan, index=self.job.index), None
        first = self._first(store)
        old = plan_from_json(first.plan)
        if old == plan and kind_of(first.index) == kind_of(self.job.index):
            own = first if self.task == 0 else self._manifest(store, self.task, before, first.history)
            return store.load(own, old, self.job.payload), own
        self.migrated = f"{old.scheme} x {old.tasks} -> {plan.scheme} x {plan.tasks}"
        if old.tasks != plan.tasks:  # what was pinned was meant for another number of tasks
            self.rescaled = f"restarted with {plan.tasks} task{'s' if plan.tasks > 1 else ''}"
        if kind_of(first.index) != kind_of(
            self.job.index
        ):  # runs are laid out for one index: another one lays them out anew
            self.migrated += f", index {first.index} -> {self.job.index}"
        manifests = [first, *(self._manifest(store, task, before, first.history) for task in range(1, old.tasks))]
        states = store.load_all(manifests, old, self.job.payload)
        state, self.moved = migrate(self.job.spec, self.job.index, self.task, plan, states)
        return state, manifests[self.task] if self.task < old.tasks else None

    def _manifest(self, store: StateStore, task: int, batch: int, history: str | None = None) -> Manifest:
        """Return what a task knew after a batch; with `history`, of that very history."""
        found = store.manifest(task, batch)
        if found is not None and history not in (None, found.history):
            raise StateError.foreign(
                f"{store.folder}/{task}/{batch}.json", "it comes from another history than the manifest of task 0"
            )
        if found is None:
            raise StateError.of(
                f"{store.folder}/{task}/{batch}.json is missing.",
                f"It is what task {task} knew after batch {batch}; without it batch {self.batch} cannot be joined.",
                "restore the state folder or start from a new checkpoint; inside foreachBatch, consume the whole "
                "DataFrame of every batch (a task whose rows nobody reads never runs).",
            )
        return found

    def _control(self, store: StateStore, plan: Plan, clock: Clock, history: History) -> None:
        """Pin the plan of the next batch from what the batch before saw."""
        stats: list[TaskStats] = []
        if self.batch > 0:
            old = plan_from_json(self._manifest(store, 0, self.batch - 1).plan)
            found = [self._manifest(store, task, self.batch - 1) for task in range(old.tasks)]
            stats = [TaskStats.of_json(manifest.stats) for manifest in found]
        else:
            store.introduce(self.job.spec.identity())
            store.pin(0, self.pinned, "first plan")
        after, reason = next_plan(self.job.spec, self.job.scheme, plan, stats)
        pinned = store.pin(self.batch + 1, Pinned(after, clock, history.now), reason)
        self.moving = reason if pinned.plan != plan else ""
        store.collect_orphans(self.batch, plan.tasks)
