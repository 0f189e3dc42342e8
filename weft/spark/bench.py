"""The three queries that `weft bench spark` compares, and their time per batch as Spark reports it.

All read the same two Parquet streams and write to the noop sink. *weft* is the join; *null* moves the same columns
through the same hop into Python and brings as many rows of the same schema back; *native* is what a Spark user writes
today: keys in buckets, neighbours exploded, equality of buckets, the band and the time bounds as residual.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.routing import Scheme
from weft.spark.join import join
from weft.spark.run import cause
from weft.spec import within
from weft.state import StateStore

__all__ = ["BatchTime", "Workload", "time_query"]

SCHEMA = "id long, key long, ts timestamp, value double"
MATCHES = 2
"""Partners of each row."""


@dataclass(frozen=True)
class Workload:
    """Two folders of Parquet files, some files of each per batch; `span` microseconds hold a window, `width` is the band."""

    left: Path
    right: Path
    files: int
    width: int
    span: int


@dataclass(frozen=True)
class BatchTime:
    """What Spark says of one batch, and the pairs where Weft's tasks tell."""

    batch: int
    rows: int
    seconds: float
    pairs: int | None = None


def time_query(
    spark: SparkSession,
    kind: str,
    load: Workload,
    scratch: Path,
    scheme: str | Scheme = "auto",
    tasks: int | None = None,
) -> list[BatchTime]:
    """Run one of the queries over all its files, a batch at a time."""
    left, right = (_read(spark, folder, load.files) for folder in (load.left, load.right))
    state = str(scratch / "state")
    if kind == "weft":
        near = f"abs(l.key - r.key) <= {load.width}"
        frame = join(left, right, on=near, window=_window(load), scheme=scheme, tasks=tasks, state=state)
    elif kind == "null":
        frame = _null(left, right)
    else:
        frame = _native(left, right, load)
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(scratch / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise cause(str(error)) from None
    times = []
    for progress in query.recentProgress:
        data: dict[str, Any] = json.loads(progress.json)
        if data["numInputRows"]:
            batch = int(data["batchId"])
            pairs = _pairs(state, str(query.id), batch) if kind == "weft" else None
            times.append(
                BatchTime(batch, int(data["numInputRows"]), data["durationMs"]["triggerExecution"] / 1000, pairs)
            )
    return times


def _read(spark: SparkSession, folder: Path, files: int) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(str(folder))


def _window(load: Workload) -> Any:
    return within(f"{load.span} us", on="ts", delay="0 seconds")


def _pairs(state: str, query: str, batch: int) -> int:
    store = StateStore(state, query, "")
    found = [store.read_metrics(int(task), batch) for task in store.folder.names() if task.isdigit()]
    return sum(int(metrics["pairs"]) for metrics in found if metrics is not None)


def _null(left: DataFrame, right: DataFrame) -> DataFrame:
    names = [*left.columns, *(f"{name}_right" for name in right.columns)]
    kinds = [kind for _, kind in left.dtypes]
    schema = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds * 2, strict=True))

    def through(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            doubled = pa.record_batch([*batch.columns, *batch.columns], names=names)
            for _ in range(MATCHES):
                yield doubled

    return left.unionAll(right).mapInArrow(through, schema)


def _native(left: DataFrame, right: DataFrame, load: Workload) -> DataFrame:
    span = f"INTERVAL '{load.span / 1e6:.6f}' SECOND"
    bucket = F.floor(F.col("key") / load.width)
    one = left.withWatermark("ts", "0 seconds").withColumn("bucket", F.explode(F.array(bucket - 1, bucket, bucket + 1)))
    two = right.withWatermark("ts", "0 seconds").withColumn("bucket", bucket)
    near = (
        f"l.bucket = r.bucket AND abs(l.key - r.key) <= {load.width} AND r.ts BETWEEN l.ts - {span} AND l.ts + {span}"
    )
    columns = [f"{side}.{name}" for side in "lr" for name in left.columns]
    return one.alias("l").join(two.alias("r"), F.expr(near)).select(*columns)
