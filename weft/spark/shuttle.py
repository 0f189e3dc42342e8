"""What every join's tasks share on Spark: pieces of a partition, messages to tasks, and what reaches one.

A route task reads its partition in pieces and *ships* messages through its `Outbox`; they travel as one binary column beside
the number of their task, large ones in slices: Spark handles many bodies of a few megabytes faster than one of many. A join
task opens its `Inbox`. What is in the messages is the engine's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from weft.engine import Job, Shipment, plan_of, unpack
from weft.kernels.memory import keep_pages
from weft.routing import Plan
from weft.spark.context import Where as Here
from weft.spark.context import where_am_i
from weft.spark.place import Where
from weft.state import StateStore
from weft.types import SIDES, Side

__all__ = ["PIECE", "SHIPPED", "SHIPPED_DDL", "Inbox", "Outbox", "open_route", "pieces"]

PIECE = 1 << 20
"""Rows that are routed at a time."""

SLICE = 1 << 22
"""Bytes of a message that travel together."""

_TOGETHER = 256
"""Slices in one record batch: a gibibyte, so that a message of any size can travel."""

SHIPPED = pa.schema(
    [
        pa.field("task", pa.int32()), pa.field("message", pa.int64()), pa.field("slice", pa.int32()),
        pa.field("body", pa.binary()),
    ]
)  # fmt: skip
SHIPPED_DDL = "task int, message long, slice int, body binary"


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


Message = tuple[int, Callable[[pa.NativeFile], None]]
"""A task, and what writes the message to it."""


class Outbox:
    """Ships the messages of one route task.

    All messages are told apart: by partition, by side (a union may run both sides in one partition), by number.
    """

    def __init__(self, partition: int, side: Side) -> None:
        self._next = (2 * partition + SIDES.index(side)) << 32

    def ship(self, messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
        """Write messages one behind the other into a buffer and hand it out as binary values, without a copy each."""
        gathered: list[Message] = []
        ends = [0]
        for task, write in messages:
            counter = pa.MockOutputStream()  # counts bytes and keeps none
            write(counter)
            gathered.append((task, write))
            ends.append(ends[-1] + counter.size())
            if ends[-1] > 1 << 28:
                yield from self._shipped(gathered, ends)
                gathered, ends = [], [0]
        if gathered:
            yield from self._shipped(gathered, ends)

    def _shipped(self, messages: Sequence[Message], ends: Sequence[int]) -> Iterator[pa.RecordBatch]:
        # Of the right size at once, and of pages that were in use before (`keep_pages`): growing costs more than writing.
        data = pa.py_buffer(np.empty(ends[-1], np.uint8))
        with pa.FixedSizeBufferWriter(data) as sink:
            for _, write in messages:
                write(sink)
        slices = [-(-(end - start) // SLICE) for start, end in pairwise(ends)]
        number = np.concatenate([np.arange(count) for count in slices])
        place = np.append(np.repeat(np.array(ends[:-1]), slices) + number * SLICE, ends[-1])
        tasks = np.repeat(np.array([task for task, _ in messages], np.int32), slices)
        message = np.repeat(self._next + np.arange(len(messages)), slices)
        self._next += len(messages)
        for first in range(0, len(number), _TOGETHER):
            some = slice(first, first + _TOGETHER)
            offsets = place[first : first + _TOGETHER + 1]
            there = data.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
            offsets = pa.py_buffer((offsets - offsets[0]).astype(np.int32))
            body = pa.Array.from_buffers(pa.binary(), len(tasks[some]), [None, offsets, there])
            columns = [pa.array(tasks[some]), pa.array(message[some]), pa.array(number[some].astype(np.int32)), body]
            yield pa.record_batch(columns, schema=SHIPPED)


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
        slices: dict[int, list[tuple[int, pa.Buffer]]] = {}
        for batch in self.shipped:
            for message, number, body in zip(
                batch.column(1).to_pylist(), batch.column(2).to_pylist(), _bodies(batch.column(3)), strict=True
            ):
                slices.setdefault(message, []).append((number, body))
        return [unpack(_whole(sorted(parts, key=lambda part: part[0]))) for parts in slices.values()]


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
