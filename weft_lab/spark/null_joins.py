"""What a join cannot beat: the same rows through the same hops into Python, without a join.

*null* reads the rows into Python and hands as many rows of the result's schema back, in one stage. *shuffled* also sends
every row to a task, as blocks of bytes, which is how Weft ships them: whatever joins rows of different partitions has to
do this much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

__all__ = ["MATCHES", "NULL_JOINS"]

MATCHES = 2
"""Partners of each row."""

_SHIPPED = "task int, body binary"


def _null(left: DataFrame, right: DataFrame, tasks: int) -> DataFrame:
    del tasks
    names, schema = _result(left, right)

    def through(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _widened(batch, names)

    return left.unionAll(right).mapInArrow(through, schema)


def _shuffled(left: DataFrame, right: DataFrame, tasks: int) -> DataFrame:
    names, schema = _result(left, right)

    def cut(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            task = batch.column(0).to_numpy() % tasks
            blocks = [batch.take(pa.array(np.flatnonzero(task == number))) for number in range(tasks)]
            bodies = [_packed(block) for block in blocks]
            numbers = pa.array(np.arange(tasks, dtype=np.int32))
            yield pa.record_batch([numbers, pa.array(bodies, pa.binary())], names=["task", "body"])

    def joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for body in batch.column(1):
                for block in pa.ipc.open_stream(body.as_buffer()):
                    yield from _widened(block, names)

    shipped = left.unionAll(right).mapInArrow(cut, _SHIPPED)
    return shipped.repartitionById(tasks, F.col("task")).mapInArrow(joined, schema)


NULL_JOINS: dict[str, Callable[[DataFrame, DataFrame, int], DataFrame]] = {"null": _null, "shuffled": _shuffled}
"""By name, from two streams and a number of tasks to a stream."""


def _packed(block: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, block.schema) as writer:
        writer.write_batch(block)
    return bytes(sink.getvalue())


def _widened(batch: pa.RecordBatch, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Give back each row with a partner, as often as it has partners."""
    doubled = pa.record_batch([*batch.columns, *batch.columns], names=names)
    for _ in range(MATCHES):
        yield doubled


def _result(left: DataFrame, right: DataFrame) -> tuple[list[str], str]:
    """Return the columns of a join's result, and them as a schema."""
    names = [*left.columns, *(f"{name}_right" for name in right.columns)]
    kinds = [kind for _, kind in left.dtypes]
    return names, ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds * 2, strict=True))
