"""What every join's tasks share on Spark: pieces of a partition, messages to tasks, and what reaches one.

A route task reads its partition in pieces and *ships* messages through its `Outbox`; they travel as one binary column beside
the number of their task, large ones in slices: Spark handles many bodies of a few megabytes faster than one of many. A join
task opens its `Inbox`. What is in the messages is the engine's business. Beside a message stands what Spark itself may know:
the newest `time` of its stream, for Spark's watermark, and a `note` for its progress reports. So neither costs anything per
row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from weft.engine import Header, Job, Shipment, pinned_for, unpack
from weft.errors import StateError
from weft.kernels.memory import keep_pages
from weft.routing import Plan
from weft.spark.context import Where as Here
from weft.spark.context import where_am_i
from weft.spark.place import Where
from weft.state import Clock, Pinned, StateStore
from weft.types import SIDES, WORD_MIN, Side

__all__ = [
    "COUNTS", "NOTE", "NOTE_DDL", "PIECE", "SHIPPED", "SHIPPED_DDL", "Inbox", "Outbox", "Stamp", "note_of", "open_route",
    "pieces",
]  # fmt: skip

PIECE = 1 << 20
"""Rows that are routed at a time."""

SLICE = 1 << 22
"""Bytes of a message that travel together."""

_TOGETHER = 256
"""Slices in one record batch: a gibibyte, so that a message of any size can travel."""

COUNTS = (
    "left_rows", "right_rows", "left_late", "right_late", "left_behind", "right_behind", "state_rows", "state_bytes",
    "migrations",
)  # fmt: skip
"""What a note counts; `weft.spark.reports` adds the notes of a batch up."""

NOTE = pa.struct([pa.field("who", pa.string()), *(pa.field(name, pa.int64()) for name in COUNTS)])
"""One route task's part of a progress report. `who` tells the notes of a batch apart, so that a task that runs twice counts
once."""

SHIPPED = pa.schema(
    [
        pa.field("task", pa.int32()), pa.field("message", pa.int64()), pa.field("slice", pa.int32()),
        pa.field("body", pa.binary()), pa.field("time", pa.timestamp("us", tz="UTC")), pa.field("note", NOTE),
    ]
)  # fmt: skip
NOTE_DDL = f"STRUCT<who: STRING, {', '.join(f'{name}: BIGINT' for name in COUNTS)}>"
SHIPPED_DDL = f"task int, message long, slice int, body binary, time timestamp, note {NOTE_DDL}"


def note_of(who: str, **counts: int) -> dict[str, object]:
    """Return a note; of what it does not count it says nothing."""
    return {"who": who, **dict.fromkeys(COUNTS), **counts}


_LONG_AGO = -62_135_596_800_000_000
"""The year 1, in microseconds: the time of a partition that has none, older than any that counts. Spark takes NULL for 1970."""


@dataclass(frozen=True)
class Stamp:
    """What stands beside the messages of a route task: the newest time so far, and a note to task 0."""

    newest: int = _LONG_AGO
    note: dict[str, object] | None = None

    @classmethod
    def of(cls, side: Side, header: Header, clock: Clock, *, told: bool = True) -> Stamp:
        """Return the stamp that a header makes, with or without its note; `clock` is that of the batches before."""
        newest = max(header.newest, clock.newest[side])
        counts = {f"{side}_rows": header.rows, f"{side}_late": header.late, f"{side}_behind": header.behind}
        note = note_of(f"{side} {header.partition}", **counts) if told else None
        return cls(newest if newest > WORD_MIN else _LONG_AGO, note)


def open_route(job: Job, where: Where | None, plan: Plan | None) -> tuple[Here, Pinned]:
    """Return where a route task runs and what is pinned for its batch: the plan of a static join is given."""
    keep_pages()  # a Python worker lives for many batches of the same sizes
    here = where_am_i()
    store = None if where is None else where.opened(job, here)
    return here, pinned_for(job, store, here.batch or 0) if plan is None else Pinned(plan)


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

    def ship(self, messages: Iterable[Message], stamp: Stamp | None = None) -> Iterator[pa.RecordBatch]:
        """Write messages one behind the other into a buffer and hand it out as binary values, without a copy each."""
        gathered: list[Message] = []
        ends = [0]
        for task, write in messages:
            counter = pa.MockOutputStream()  # counts bytes and keeps none
            write(counter)
            gathered.append((task, write))
            ends.append(ends[-1] + counter.size())
            if ends[-1] > 1 << 28:
                yield from self._shipped(gathered, ends, stamp or Stamp())
                gathered, ends = [], [0]
        if gathered:
            yield from self._shipped(gathered, ends, stamp or Stamp())

    def _shipped(self, messages: Sequence[Message], ends: Sequence[int], stamp: Stamp) -> Iterator[pa.RecordBatch]:
        # Of the right size at once, and of pages that were in use before (`keep_pages`): growing costs more than writing.
        data = pa.py_buffer(np.empty(ends[-1], np.uint8))
        with pa.FixedSizeBufferWriter(data) as sink:
            for _, write in messages:
                write(sink)
        slices = [max(1, -(-(end - start) // SLICE)) for start, end in pairwise(ends)]
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
            count = len(tasks[some])
            time = pa.array(np.full(count, stamp.newest)).cast(SHIPPED.field("time").type)
            noted = [stamp.note if task == 0 else None for task in tasks[some]]
            note = pa.nulls(count, NOTE) if stamp.note is None else pa.array(noted, NOTE)
            columns = [
                pa.array(tasks[some]), pa.array(message[some]), pa.array(number[some].astype(np.int32)), body, time, note,
            ]  # fmt: skip
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
        if store is not None and not shipped:
            raise StateError.of(
                f"A join task of batch {here.batch} was sent nothing.",
                "The roll call reaches every task of every batch, so something between route and join went wrong.",
                "run the batch again; if it fails again, please report it.",
            )
        # What stands behind the join (a union, a coalesce) may number partitions anew: the messages say which task this is.
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
