"""One task's whole batch over a state store: load or migrate, join, save, then let the pairs leave.

The same for every kind of join: what differs is the joiner's. The state is written before the first pair is drawn, so a
consumer that stops early (`limit`, a failed sink) leaves a state from which the batch can be replayed. Inner joins find pairs
while they are drawn; joins that must know which rows have matched find them before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Generic

from weft.engine.arrivals import Arrivals, Shipment, collect_arrivals
from weft.engine.clock import refused_rows
from weft.engine.control import manifest_before, manifests_before, pin_next, pinned_for
from weft.engine.joiner import Joiner
from weft.engine.migrate import Moved
from weft.engine.sources import Sources
from weft.engine.step import Found, Step
from weft.errors import StateError
from weft.index import kind_of
from weft.routing import Notes, Plan, TaskStats, plan_from_json
from weft.state import History, Manifest, Pinned, StateStore, TaskState
from weft.types import SIDES

__all__ = ["Worker"]


class Worker(Generic[Found]):
    """Runs one task of one batch. `now` is the runtime's clock, for the metrics only."""

    def __init__(
        self, joiner: Joiner[Found], store: StateStore | None, task: int, batch: int, plan: Plan | None = None,
        now: Callable[[], float] = lambda: 0.0, *, last: bool = False,
    ) -> None:  # fmt: skip
        self.joiner, self.job = joiner, joiner.job
        self.store, self.task, self.batch, self.now = store, task, batch, now
        self.last = last or store is None  # without a state there is no other batch
        self.pinned = Pinned(plan) if plan is not None else pinned_for(self.job, store, batch)
        self.migrated, self.moved, self.moving, self.rescaled = "", Moved(), "", ""

    def run(self, shipments: Iterable[Shipment]) -> Iterator[Found]:
        """Yield the pairs of the batch; the state after it is saved before the first one."""
        started = self.now()
        received = self._checked(shipments)
        state, previous = self._load(self.pinned.plan)
        seconds = {"load": self.now() - started}
        arrivals = collect_arrivals(self.job.spec, self.job.payload, received, state.clock)
        done = self.joiner.step(self.task, state, arrivals, last=self.last)
        stats = done.stats
        if self.store is not None:
            watching = self.now()
            stats = replace(stats, notes=self._watch(done, previous))
            seconds["watch"] = self.now() - watching
            history = self._history(arrivals)
            self.store.save(self.task, self.batch, done.state, stats.to_json(), previous, history)
            steering = self.now()
            if self.task == 0:
                clock = done.state.clock
                self.moving = pin_next(self.job, self.store, self.batch, self.pinned, clock, history)
            seconds["control"] = self.now() - steering
        saved = self.now()
        seconds["state"] = saved - started
        count = 0
        for found in done.pairs():
            count += len(found)
            yield found
        seconds["pairs"] = self.now() - saved
        if self.store is not None:
            told = {"pairs": count, "seconds": {**seconds, **done.spent()}, **self._migration(self.store)}
            told |= self._traffic(done, arrivals, received)
            counts = {name: value for name, value in stats.notes.items() if isinstance(value, int)}
            # Where each request counts, control reads the report instead of the manifest, which may hold segments.
            notes = stats.notes if self.store.folder.packed else counts
            metrics = {**told, **replace(stats, notes=notes).to_json()}
            self.store.finish(self.task, self.batch, metrics, self.pinned.plan.tasks, history.now)

    def _checked(self, shipments: Iterable[Shipment]) -> list[Shipment]:
        """Return the shipments, all of them routed by what this task goes by."""
        found = list(shipments)
        marks = {shipment.pinned for shipment in found if shipment.pinned}
        if marks and marks != {self.pinned.mark} and self.store is not None:
            raise StateError.of(
                f"Batch {self.batch} was routed by a different plan than task {self.task} reads.",
                f"{(self.store.folder / 'plans').where(f'{self.batch}.json')} was changed while the batch ran.",
                "make sure that no other query writes there, and run the batch again.",
            )
        return found

    # The state before the batch

    def _load(self, plan: Plan) -> tuple[TaskState, Manifest | None]:
        """Return the state under the plan of this batch, and what this task knew after the batch before."""
        store = self.store
        if store is None or self.batch == 0:
            return TaskState(plan, index=self.job.index), None
        first = self._first(store)
        old = plan_from_json(first.plan)
        laid_out_alike = kind_of(first.index) == kind_of(self.job.index)
        if old == plan and laid_out_alike:
            own = first if self.task == 0 else manifest_before(store, self.batch, self.task, first.history)
            return store.load(own, old, self.job.payload), own
        self.migrated = f"{old.title} x {old.tasks} -> {plan.title} x {plan.tasks}"
        if old.tasks != plan.tasks:  # what was pinned was meant for another number of tasks
            self.rescaled = f"restarted with {plan.tasks} task{'s' if plan.tasks > 1 else ''}"
        if not laid_out_alike:  # runs are laid out for one index: another one lays them out anew
            self.migrated += f", index {first.index} -> {self.job.index}"
        spec = self.job.spec
        sources = Sources.of(plan, old, self.task, waits=bool(spec.kind.preserved) or spec.asof is not None)
        asked = [task for task in sources.tasks if task]
        manifests = {
            0: first,
            **dict(zip(asked, manifests_before(store, self.batch, asked, first.history), strict=True)),
        }
        states = store.load_some(manifests, old, self.job.payload, sources.wants)
        state, moved = self.joiner.migrate(self.task, plan, states)
        self.moved = replace(moved, **sources.cost(manifests.values()))
        return state, manifests.get(self.task)

    def _first(self, store: StateStore) -> Manifest:
        """Return what task 0 knew after the batch before; it always exists, and every replay rewrites it."""
        first = manifest_before(store, self.batch, 0, known=self.pinned.history)
        store.check(first.fingerprint, self.job.spec.identity())
        if self.pinned.history not in ("", first.history):  # a plan of state format 1 says nothing of it
            where = (store.folder / "plans").where(f"{self.batch}.json")
            raise StateError.foreign(where, "its history differs from that of task 0")
        self.pinned = replace(self.pinned, history=first.history)
        return first

    # What the batches after it go by

    def _watch(self, done: Step[Found], previous: Manifest | None) -> Notes:
        """Return what the scheme wants to know of this batch; what another scheme noted before a restart tells it nothing."""
        before = {} if previous is None else TaskStats.of_json(previous.stats).notes
        name = self.job.scheme.name
        notes = self.job.scheme.watch(self.job.spec, done.view, before if before.get("scheme") == name else {})
        return {**notes, "scheme": name} if notes else notes

    def _history(self, arrivals: Arrivals) -> History:
        """Return where the state after this batch comes from."""
        inputs = [
            (side, header.partition, header.rows, header.newest, header.content)
            for side in SIDES
            for header in arrivals.headers[side]
        ]
        return History.of(self.pinned.history, self.pinned.plan.to_json(), inputs)

    # What people read

    def _migration(self, store: StateStore) -> dict[str, Any]:
        """Return how this task's state came to the plan of this batch, if it was under another one."""
        reason = self.rescaled or (store.reason(self.batch) if self.migrated else "")
        return {
            "migrated": self.migrated, "reason": reason, "gained": self.moved.gained, "lost": self.moved.lost,
            "opened": self.moved.opened, "read": self.moved.read,
            "moving": self.moving,  # why the next batch migrates, "" if it does not; task 0 knows
        }  # fmt: skip

    def _traffic(self, done: Step[Found], arrivals: Arrivals, received: list[Shipment]) -> dict[str, int]:
        """Return what was sent here: the paper's join requests and bandwidth (001-44), and what could not be read."""
        return {
            "asked": sum(int(words.shape[1]) for words in done.view.probed.values()),
            "routed": sum(len(block) for block in arrivals.blocks.values()),
            "routed_bytes": sum(shipment.size for shipment in received),
            "refused": refused_rows(self.job.spec, arrivals.headers, self.task),
        }
