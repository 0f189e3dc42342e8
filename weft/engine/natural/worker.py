"""One task's whole batch of documents over a state store: load or migrate, join, save, then let the pairs leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from weft.engine.natural.route import with_tasks
from weft.engine.natural.step import NaturalStep, natural_step
from weft.engine.natural.trees import Forest, chained, empty_block, run_of
from weft.engine.ship import Shipment
from weft.engine.step import Arrivals
from weft.engine.worker import Job, Worker, collect_arrivals
from weft.routing import Plan, TaskStats, plan_from_json
from weft.routing.documents import DocumentPlan, tasks_of
from weft.spec import JoinSpec
from weft.state import Manifest, StateStore, TaskState
from weft.types import SIDES, Block, Side

__all__ = ["INDEX", "NaturalWorker", "migrate_documents"]

INDEX = "fp-tree"


class NaturalWorker(Worker):
    """Runs one task of one batch; `forest` keeps trees between batches where the process lives on."""

    def __init__(
        self, job: Job, store: StateStore | None, task: int, batch: int, plan: Plan | None = None,
        now: Callable[[], float] = lambda: 0.0, forest: Forest | None = None,
    ) -> None:  # fmt: skip
        super().__init__(job, store, task, batch, plan, now)
        self.forest = forest or Forest(now)

    def join(self, shipments: Iterable[Shipment]) -> Iterator[pa.Table]:
        """Yield the result of the batch; the state after it is saved before the first row."""
        started = self.now()
        plan, shipments = self.pinned.plan, self._checked(shipments)
        assert isinstance(plan, DocumentPlan)
        state, previous = self._load(plan)
        arrivals = self._arrivals(plan, shipments, state)
        before = {} if previous is None else TaskStats.of_json(previous.stats).notes
        done = natural_step(self.job.spec, self.task, state, arrivals, before, self.forest)
        if self.store is not None:
            history = self._history(arrivals)
            self.store.save(self.task, self.batch, done.state, done.stats.to_json(), previous, history)
            if self.task == 0:
                self._control(self.store, plan, done.state.clock, history)
        saved, before_trees = self.now(), self.forest.seconds
        count = 0
        for table in done.pairs():
            count += table.num_rows
            yield table
        if self.store is not None:
            seconds = {
                "state": saved - started,
                "build": self.forest.seconds - before_trees,
                "pairs": self.now() - saved,
            }
            self.store.write_metrics(self.task, self.batch, self._metrics(self.store, done, arrivals, count, seconds))

    def _metrics(
        self, store: StateStore, done: NaturalStep, arrivals: Arrivals, pairs: int, seconds: dict[str, float]
    ) -> dict[str, object]:  # fmt: skip
        """Return what the batch did; of the notes only the counts (004-34). Task 0 tells how many lines were refused."""
        sides: tuple[Side, ...] = ("left",) if self.job.spec.self_join else SIDES  # one stream has two headers
        refused = sum(header.refused for side in sides for header in arrivals.headers[side]) if self.task == 0 else 0
        stats = done.stats.to_json()
        notes = {name: value for name, value in stats.pop("notes").items() if isinstance(value, int)}
        return {
            "pairs": pairs,
            "seconds": seconds,
            "migrated": self.migrated,
            "reason": store.reason(self.batch) if self.migrated else "",
            "gained": self.moved.gained,
            "refused": refused,
            **stats,
            **notes,
        }

    def _arrivals(self, plan: DocumentPlan, shipments: Iterable[Shipment], state: TaskState) -> Arrivals:
        found = collect_arrivals(self.job, shipments, state.clock)
        columns = {side: self.job.spec.side(side).columns + plan.width for side in SIDES}
        blocks = {
            side: found.blocks[side] if len(found.blocks[side]) else empty_block(columns[side], self.job.payload[side])
            for side in SIDES
        }
        return Arrivals(blocks, found.roles, found.headers)

    def _load(self, plan: Plan) -> tuple[TaskState, Manifest | None]:
        store, before = self.store, self.batch - 1
        if store is None or self.batch == 0:
            return TaskState(plan, index=INDEX), None
        first = self._first(store)
        old = plan_from_json(first.plan)
        if old == plan:
            own = first if self.task == 0 else self._manifest(store, self.task, before, first.history)
            return store.load(own, old, self.job.payload), own
        self.migrated = (
            f"{len(getattr(old, 'pairs', ()))} pairs x {old.tasks} -> {len(getattr(plan, 'pairs', ()))} x {plan.tasks}"
        )
        manifests = [first, *(self._manifest(store, task, before, first.history) for task in range(1, old.tasks))]
        states = store.load_all(manifests, old, self.job.payload)
        assert isinstance(plan, DocumentPlan)
        previous = manifests[self.task] if self.task < old.tasks else None
        return migrate_documents(self.job.spec, self.task, plan, states), previous


def migrate_documents(spec: JoinSpec, task: int, plan: DocumentPlan, old: Sequence[TaskState]) -> TaskState:
    """Return what a task holds under a new plan: of every document of every old task, if the new plan sends it here.

    A document that several old tasks held is taken from the least of them. Its tasks are computed anew.
    """
    runs = {}
    for side in SIDES:
        gained = [part for owner, state in enumerate(old) for part in _gained(side, owner, state, task, plan)]
        whole = run_of(spec, side, Block.concat(gained)) if gained else None
        runs[side] = chained(spec, side, (), whole, old[0].before[side])
    return TaskState(plan, runs, old[0].before, old[0].clock, INDEX)


def _gained(side: Side, owner: int, state: TaskState, task: int, plan: DocumentPlan) -> Iterator[Block]:
    before = state.plan
    assert isinstance(before, DocumentPlan)
    for run in state.runs[side]:
        first = tasks_of(run.words[-before.width :], before.tasks).argmax(axis=0) == owner
        block = Block(run.words, run.u, run.payload).filter(first)
        if len(block):
            made = with_tasks(block, plan, old=before.width)
            here = tasks_of(made.words[-plan.width :], plan.tasks)[task]
            if here.any():
                yield made.filter(np.asarray(here))
