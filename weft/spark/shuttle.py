"""What travels from route tasks to join tasks: messages, and what stands beside them.

A route task *ships* messages through its `Outbox`; they travel as one binary column beside the number of their task, large ones
in slices: Spark handles many bodies of a few megabytes faster than one of many. A join task takes them in
(`weft.spark.join_task`). What is in the messages is the engine's business. Beside a message stands what Spark itself may know:
the newest `time` of its stream, for Spark's watermark, and a `note` for its progress reports. So neither costs anything per
row.

In the roll call every join task of every batch is sent something, however empty the batch is. A task learns its number from
what it is sent, because whatever stands behind the join (`coalesce`, a union) may number partitions anew. So the state of a batch
is whole or the batch fails, also where no row arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from weft.engine import Header
from weft.spark.analysis import frame_of
from weft.state import Clock
from weft.types import SIDES, WORD_MIN, Side

__all__ = [
    "COUNTS",
    "MOST_COUNTED",
    "NOTE",
    "NOTE_DDL",
    "SHIPPED",
    "SHIPPED_DDL",
    "Outbox",
    "RunningTask",
    "Stamp",
    "marked",
    "note_of",
    "roll_call",
    "running_task",
]

SLICE = 1 << 22
"""Bytes of a message that travel together."""

_TOGETHER = 256
"""Slices in one record batch: a gibibyte, so that a message of any size can travel."""

COUNTS = (
    "left_rows", "right_rows", "left_late", "right_late", "left_behind", "right_behind", "state_rows", "state_bytes",
    "state_fullest", "state_tasks", "migrations",
)  # fmt: skip
"""What a note counts; `weft.spark.observed` adds the notes of a batch up."""

MOST_COUNTED = (1 << 40) - 1
"""The most rows that a note counts: above them stands whose count it is (`marked`)."""

NOTE = pa.struct([pa.field(name, pa.int64()) for name in COUNTS])
"""One route task's part of a progress report. Rows are `marked` with their partition, so a task that runs twice counts once."""

SHIPPED = pa.schema(
    [
        pa.field("task", pa.int32()), pa.field("message", pa.int64()), pa.field("slice", pa.int32()),
        pa.field("body", pa.binary()), pa.field("time", pa.timestamp("us", tz="UTC")), pa.field("note", NOTE),
    ]
)  # fmt: skip
NOTE_DDL = f"STRUCT<{', '.join(f'{name}: BIGINT' for name in COUNTS)}>"
SHIPPED_DDL = f"task int, message long, slice int, body binary, time timestamp, note {NOTE_DDL}"


def note_of(**counts: int) -> dict[str, int | None]:
    """Return a note; of what it does not count it says nothing."""
    return {**dict.fromkeys(COUNTS), **counts}


def marked(partition: int, count: int) -> int:
    """Return a count that is told from those of other partitions: one that arrives twice is the same number twice."""
    return (partition << 40) | min(count, MOST_COUNTED)


_LONG_AGO = -62_135_596_800_000_000
"""The year 1, in microseconds: the time of a partition that has none, older than any that counts. Spark takes NULL for 1970."""


@dataclass(frozen=True)
class Stamp:
    """What stands beside the messages of a route task: the newest time so far, and a note to task 0."""

    newest: int = _LONG_AGO
    note: dict[str, int | None] | None = None

    @classmethod
    def of(cls, side: Side, header: Header, clock: Clock, *, told: bool = True) -> Stamp:
        """Return the stamp that a header makes, with or without its note; `clock` is that of the batches before."""
        newest = max(header.newest, clock.newest[side])
        rows, late = (marked(header.partition, count) for count in (header.rows, header.late))
        counts = {f"{side}_rows": rows, f"{side}_late": late, f"{side}_behind": header.behind}
        note = note_of(**counts) if told else None
        return cls(newest if newest > WORD_MIN else _LONG_AGO, note)


@dataclass(frozen=True)
class RunningTask:
    """What a task works for: batch and query (None in a static join), partition, and the run of the query.

    A restart is another run.
    """

    batch: int | None
    query: str | None
    partition: int
    run: str = ""
    stage: int = 0
    """Which job of the run: the same for all tasks of a stage, and for those that Spark runs again."""


def running_task() -> RunningTask:
    """Return what the task that asks works for."""
    context = TaskContext.get()
    assert context is not None
    batch = context.getLocalProperty("streaming.sql.batchId")
    query = context.getLocalProperty("sql.streaming.queryId")
    if batch is None or query is None:
        return RunningTask(None, None, context.partitionId())
    run = context.getLocalProperty("spark.jobGroup.id") or ""  # Spark runs a query's jobs under the run's id
    return RunningTask(int(batch), query, context.partitionId(), run, context.stageId())


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


def roll_call(spark: SparkSession, tasks: int) -> DataFrame:
    """Return the stream that sends every task of every batch a message without content.

    Its rows are constants that Spark takes for streaming. So they are there in every batch, no Python runs for them, and the
    sources of the query stay the user's own.
    """
    nothing = ["-1L AS message", "0 AS slice", "X'' AS body", "CAST(NULL AS TIMESTAMP) AS time"]
    numbers = spark.sql(f"VALUES {', '.join(f'({task})' for task in range(tasks))} AS roll(task)")
    constant: Any = (
        numbers.selectExpr("task", *nothing, f"CAST(NULL AS {NOTE_DDL}) AS note")._jdf.queryExecution().optimizedPlan()
    )
    output, rows, _, *rest = (constant.productElement(number) for number in range(constant.productArity()))
    return frame_of(spark, constant.copy(output, rows, True, *rest)).coalesce(1)
