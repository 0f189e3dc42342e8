"""The function that Spark runs where rows meet: it takes in what was shipped to one task and joins it. It speaks Arrow only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
import pyarrow as pa

from weft.engine import Found, Job, Joiner, Pairs, Shipment, Worker, unpack
from weft.errors import StateError
from weft.routing import Plan
from weft.spark.shuttle import running_task
from weft.spark.state_place import JOIN, StatePlace
from weft.spark.workers import begin_task
from weft.state import Holder, StateStore

__all__ = ["Inbox", "JoinTask", "side_by_side"]


@dataclass(frozen=True)
class JoinTask(Generic[Found]):
    """Joins what was shipped to one task; `shown` makes the output's rows of what it finds."""

    joiner: Joiner[Found]
    where: StatePlace | None
    shown: Callable[[Found], pa.Table]
    plan: Plan | None = None

    @property
    def __name__(self) -> str:
        """Return how Spark's plans call this function."""
        return JOIN + (self.where.join if self.where is not None else "static")

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        inbox = Inbox.open(self.joiner.job, self.where, batches)
        worker = Worker(self.joiner, inbox.store, inbox.task, inbox.batch, self.plan, time.perf_counter)
        for found in worker.run(map(self.joiner.whole, inbox.shipments())):
            yield from self.shown(found).to_batches()


def side_by_side(pairs: Pairs, schema: pa.Schema) -> pa.Table:
    """Return the payload of both rows of every pair, its key, and whether it is one that also holds the other way round."""
    columns = [*pairs.left.columns, *pairs.right.columns, *([] if pairs.ids is None else [pairs.ids])]
    if len(columns) < len(schema):
        columns.append(pairs.swapped)
    return pa.table(columns, schema=schema)


@dataclass(frozen=True)
class Inbox:
    """What was shipped to one task, and the state it works on."""

    task: int
    batch: int
    store: StateStore | None
    shipped: list[pa.RecordBatch]

    @classmethod
    def open(cls, job: Job, where: StatePlace | None, batches: Iterable[pa.RecordBatch]) -> Inbox:
        """Take everything in; task 0 claims the state for this run of the query, the others ask whether it may go on."""
        begin_task()
        here = running_task()
        store = None if where is None else where.opened(job, here.query, here.run)
        shipped = [batch for batch in batches if batch.num_rows]
        if store is not None and not shipped:
            raise StateError.of(
                f"A join task of batch {here.batch} received nothing.",
                "Every task receives a message in every batch, so one was lost between the route and join tasks.",
                "run the batch again; if it fails again, please report it.",
            )
        # What stands behind the join (a union, a coalesce) may number partitions anew: the messages say which task this is.
        task = shipped[0].column(0)[0].as_py() if shipped else here.partition % job.tasks
        if store is not None and where is not None:
            store.claim(Holder(here.run, where.join, f"{here.run} {here.stage}"), lead=task == 0)
        return cls(task, here.batch or 0, store, shipped)

    def shipments(self) -> list[Shipment]:
        """Unpack the messages; arrays stay views of them."""
        slices: dict[int, list[tuple[int, pa.Buffer]]] = {}
        for batch in self.shipped:
            for message, number, body in zip(
                batch.column(1).to_pylist(), batch.column(2).to_pylist(), _bodies(batch.column(3)), strict=True
            ):
                slices.setdefault(message, []).append((number, body))
        whole = (_whole(sorted(parts, key=lambda part: part[0])) for parts in slices.values())
        return [unpack(body) for body in whole if body.size]  # the roll call has no body


def _whole(parts: Sequence[tuple[int, pa.Buffer]]) -> pa.Buffer:
    """Put the slices of a message together."""
    if len(parts) == 1:
        return parts[0][1]
    return pa.py_buffer(np.concatenate([np.frombuffer(body, np.uint8) for _, body in parts]))


def _bodies(column: pa.Array) -> Iterator[pa.Buffer]:
    _, _, data = column.buffers()
    width = np.dtype(np.int64 if pa.types.is_large_binary(column.type) else np.int32)  # by the session's settings
    ends = np.frombuffer(column.buffers()[1], width, len(column) + 1, column.offset * width.itemsize)
    for number in range(len(column)):
        yield data.slice(int(ends[number]), int(ends[number + 1] - ends[number]))
