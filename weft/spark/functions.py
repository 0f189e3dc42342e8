"""The two functions that Spark runs: route where rows are read, join where they meet. Both speak Arrow only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from weft.engine import Inputs, Job, Router, Worker, pack_delivery, pack_header, plan_of, unpack
from weft.routing import Plan
from weft.spark.context import where_am_i
from weft.state import StateStore
from weft.types import Side

__all__ = ["PIECE", "SHIPPED", "JoinTask", "RouteTask", "Where"]

PIECE = 1 << 20
"""Rows that are routed at a time."""

SHIPPED = pa.schema([pa.field("task", pa.int32()), pa.field("body", pa.binary())])


@dataclass(frozen=True)
class Where:
    """Where the state is, how many versions are kept, and what tells this join from others of its query.

    `name` is part of the folder, `join` is new with every call of `weft.join`.
    """

    path: str
    retain: int
    name: str = ""
    join: str = ""

    def store(self, job: Job, query: str) -> StateStore:
        """Open the state of this join in one query."""
        folder = f"{query}.{self.name}" if self.name else query
        return StateStore(self.path, folder, job.spec.fingerprint(), self.retain, job.derived)


@dataclass(frozen=True)
class RouteTask:
    """Cuts the rows of a map partition into one block per join task. A self join reads once and routes in both roles."""

    job: Job
    sides: tuple[Side, ...]
    inputs: dict[Side, Inputs]
    where: Where | None
    plan: Plan | None = None
    """The plan of a static join; a streaming one reads its own."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Route one partition."""
        here = where_am_i()
        store = None if self.where is None or here.query is None else self.where.store(self.job, here.query)
        batch = here.batch or 0
        plan = self.plan or plan_of(self.job, store, batch)
        routers = [Router(self.job.spec, s, self.inputs[s], plan, batch, here.partition) for s in self.sides]
        for piece, table in enumerate(_pieces(batches, whole=self.job.spec.counted)):
            for router in routers:
                derived = self.job.derived[router.side]
                cut = router.route(_typed(table, self.job.payload[router.side]))
                yield from _ship(
                    (d.task, partial(pack_delivery, delivery=d, partition=here.partition, piece=piece, derived=derived))
                    for d in cut
                )
        for router in routers:
            write = partial(pack_header, side=router.side, header=router.header())
            if router.position:
                yield from _ship((task, write) for task in range(plan.tasks))


def _pieces(batches: Iterable[pa.RecordBatch], *, whole: bool) -> Iterator[pa.Table]:
    gathered: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        gathered.append(batch)
        rows += batch.num_rows
        if rows >= PIECE and not whole:
            yield pa.Table.from_batches(gathered).combine_chunks()
            gathered, rows = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered).combine_chunks()


def _typed(table: pa.Table, payload: pa.Schema) -> pa.Table:
    """Return the table with the payload's types and names; mostly it has the types already."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(table.columns, payload, strict=False)
    ]
    rest = range(len(columns), table.num_columns)
    names = [*payload.names, *(table.column_names[number] for number in rest)]
    return pa.table([*columns, *(table.column(number) for number in rest)], names=names)


def _ship(messages: Iterable[tuple[int, Callable[[pa.BufferOutputStream], None]]]) -> Iterator[pa.RecordBatch]:
    """Write messages one behind the other into a buffer and hand it out as one binary column, without a copy each."""
    sink = pa.BufferOutputStream()
    tasks: list[int] = []
    ends = [0]
    for task, write in messages:
        write(sink)
        tasks.append(task)
        ends.append(sink.tell())
        if ends[-1] > 1 << 28:
            yield _shipped(sink, tasks, ends)
            sink, tasks, ends = pa.BufferOutputStream(), [], [0]
    if tasks:
        yield _shipped(sink, tasks, ends)


def _shipped(sink: pa.BufferOutputStream, tasks: list[int], ends: list[int]) -> pa.RecordBatch:
    offsets = pa.py_buffer(np.array(ends, np.int32))
    body = pa.Array.from_buffers(pa.binary(), len(tasks), [None, offsets, sink.getvalue()])
    return pa.record_batch([pa.array(tasks, pa.int32()), body], schema=SHIPPED)


@dataclass(frozen=True)
class JoinTask:
    """Joins what was shipped to one task, and yields the payload of both rows of every pair."""

    job: Job
    where: Where | None
    output: pa.Schema
    plan: Plan | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        here = where_am_i()
        store = None if self.where is None or here.query is None else self.where.store(self.job, here.query)
        shipped = [batch for batch in batches if batch.num_rows]
        # A union behind the join shifts the partition's number, so the shipments say which task this is. An empty batch
        # ships nothing; then any one-to-one numbering will do.
        task = shipped[0].column(0)[0].as_py() if shipped else here.partition % self.job.tasks
        if store is not None and self.where is not None and task == 0:
            store.claim(here.run, self.where.join)
        worker = Worker(self.job, store, task, here.batch or 0, self.plan, time.perf_counter)
        shipments = [unpack(body) for batch in shipped for body in _bodies(batch)]
        for pairs in worker.run(shipments):
            columns = [*pairs.left.columns, *pairs.right.columns]
            if len(columns) < len(self.output):
                columns.append(pairs.swapped)
            yield from pa.table(columns, schema=self.output).to_batches()


def _bodies(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    column = batch.column(1)
    _, _, data = column.buffers()
    width = np.dtype(np.int64 if pa.types.is_large_binary(column.type) else np.int32)  # by the session's settings
    ends = np.frombuffer(column.buffers()[1], width, len(column) + 1, column.offset * width.itemsize)
    for number in range(len(column)):
        yield data.slice(int(ends[number]), int(ends[number + 1] - ends[number]))
