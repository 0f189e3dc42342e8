"""The queries that `weft-lab bench table` compares, and their time per batch as Spark reports it.

All read the same Parquet stream of numbers and write to the noop sink. *weft* looks each number up in a table of ranges; *null*
moves the same rows through the same hop into Python and back, with a column more as the join has; *native* is Spark's own join of
the stream with the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.spark.join import join
from weft_lab.spark.timed_joins import BatchTime, run_timed

__all__ = ["time_table"]

SCHEMA = "id long, ip long, ts timestamp, value double"
ON = "l.ip BETWEEN r.first AND r.last"
COLUMNS = ["l.id", "l.ip", "l.ts", "l.value", "r.place"]


def time_table(
    spark: SparkSession, kind: str, folder: Path, files: int, scratch: Path, *, how: str = "inner"
) -> list[BatchTime]:
    """Run one of the queries over all files of the stream, so many of them in a batch."""
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(str(folder / "stream"))
    table = spark.read.parquet(str(folder / "table"))
    _, progresses = run_timed(_frame(stream, table, kind, how, str(scratch / "state")), scratch)
    return [
        BatchTime(int(data["batchId"]), int(data["numInputRows"]), data["durationMs"]["triggerExecution"] / 1000)
        for data in progresses
    ]


def _frame(stream: DataFrame, table: DataFrame, kind: str, how: str, state: str) -> DataFrame:
    columns = COLUMNS if how in ("inner", "left") else COLUMNS[:4]
    if kind == "weft":
        return join(stream, table, on=ON, how=how, select=columns, state=state)
    if kind == "native":
        return stream.alias("l").join(table.alias("r"), F.expr(ON), how).select(*columns)
    wider = len(columns) > len(stream.columns)

    def through(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.append_column("place", batch.column(0)) if wider else batch

    return stream.mapInArrow(through, f"{SCHEMA}, place long" if wider else SCHEMA)
