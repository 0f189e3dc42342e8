"""The roll call of a Spark Connect session: a message without content to every task of every batch.

A client cannot make a stream of constants, as a classic session does. So the roll call is made of a source that never has a row,
a pattern of file names that nothing has: it triggers no batch, and Spark reads nothing for it. Its batches have no partition;
`coalesce(1)` gives them one, and the task of that writes the messages. The function in front is never called, but keeps Spark's
optimizer from seeing that there are no rows, and leaving all of it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from weft.spark.shuttle import NOTE, SHIPPED, SHIPPED_DDL

__all__ = ["roll_call"]

_NOWHERE = "file:///weft-roll-call-*-that-no-file-is-called"


@dataclass(frozen=True)
class CallAll:
    """Writes one message without content to each task."""

    tasks: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the messages; there is nothing to read."""
        for _ in batches:
            pass
        numbers = pa.array(range(self.tasks), pa.int32())
        count = self.tasks
        columns = [
            numbers, pa.array([-1] * count, pa.int64()), pa.array([0] * count, pa.int32()), pa.array([b""] * count),
            pa.nulls(count, SHIPPED.field("time").type), pa.nulls(count, NOTE),
        ]  # fmt: skip
        yield pa.record_batch(columns, schema=SHIPPED)


def _nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def roll_call(spark: SparkSession, tasks: int) -> DataFrame:
    """Return the stream of messages to all tasks."""
    never = spark.readStream.format("text").load(_NOWHERE)
    return never.mapInArrow(_nothing, "value string").coalesce(1).mapInArrow(CallAll(tasks), SHIPPED_DDL)
