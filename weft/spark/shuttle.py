"""What every join's tasks share on Spark: pieces of a partition, messages to tasks, and what reaches one.

A route task reads its partition in pieces and *ships* messages; they travel as one binary column beside the number of their
task. A join task opens its `Inbox`. What is in the messages is the engine's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.engine import Job, Shipment, plan_of, unpack
from weft.kernels.memory import keep_pages
from weft.routing import Plan
from weft.spark.context import Where as Here
from weft.spark.context import where_am_i
from weft.spark.place import Where
from weft.state import StateStore

__all__ = ["PIECE", "SHIPPED", "SHIPPED_DDL", "Inbox", "open_route", "pieces", "ship"]

PIECE = 1 << 20
"""Rows that are routed at a time."""

SHIPPED = pa.schema([pa.field("task", pa.int32()), pa.field("body", pa.binary())])
SHIPPED_DDL = "task int, body binary"


def open_route(job: Job, where: Where | None, plan: Plan | None) -> tuple[Here, Plan]:
    """Return where a route task runs and the plan of its batch: that of a static join is given, a streaming one is read."""
    keep_pages()  # a Python worker lives for many batches of the same sizes
    here = where_am_i()
    store = None if where is None else where.opened(job, here)
    return here, plan or plan_of(job, store, here.batch or 0)


def pieces(batches: Iterable[pa.RecordBatch], *, whole: bool) -> Iterator[pa.Table]:
    """Gather the batches of a partition into tables of about `PIECE` rows, or into one."""
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


def ship(messages: Iterable[tuple[int, Callable[[pa.BufferOutputStream], None]]]) -> Iterator[pa.RecordBatch]:
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
class Inbox:
    """What was shipped to one task, and the state it works on."""

    task: int
    batch: int
    store: StateStore | None
    shipped: list[pa.RecordBatch]

    @classmethod
    def open(cls, job: Job, where: Where | None, batches: Iterable[pa.RecordBatch]) -> Inbox:
        """Take everything in; task 0 claims the state for this run of the query."""
        keep_pages()
        here = where_am_i()
        store = None if where is None else where.opened(job, here)
        shipped = [batch for batch in batches if batch.num_rows]
        # A union behind the join shifts the partition's number, so the shipments say which task this is. An empty batch
        # ships nothing; then any one-to-one numbering will do.
        task = shipped[0].column(0)[0].as_py() if shipped else here.partition % job.tasks
        if store is not None and where is not None and task == 0:
            store.claim(here.run, where.join)
        return cls(task, here.batch or 0, store, shipped)

    def shipments(self) -> list[Shipment]:
        """Unpack the messages; arrays stay views of them."""
        return [unpack(body) for batch in self.shipped for body in _bodies(batch)]


def _bodies(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    column = batch.column(1)
    _, _, data = column.buffers()
    width = np.dtype(np.int64 if pa.types.is_large_binary(column.type) else np.int32)  # by the session's settings
    ends = np.frombuffer(column.buffers()[1], width, len(column) + 1, column.offset * width.itemsize)
    for number in range(len(column)):
        yield data.slice(int(ends[number]), int(ends[number + 1] - ends[number]))
