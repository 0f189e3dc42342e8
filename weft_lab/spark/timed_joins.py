"""The queries that `weft-lab bench spark` compares, and their time per batch as Spark reports it.

All read the same two Parquet streams and write to the noop sink. *weft* is the join; *null* and *shuffled* move as many rows and
join nothing (`weft_lab.spark.null_joins`); *native* is what a Spark user writes today: keys in buckets, neighbours exploded,
equality of buckets, the band and the time bounds as residual.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.routing import Scheme
from weft.spark.jobs import cause
from weft.spark.join import join
from weft.spec import Window, within
from weft.state import StateStore
from weft_lab.spark.null_joins import NULL_JOINS

__all__ = ["BatchTime", "JoinTime", "Workload", "run_timed", "time_join", "time_near", "time_null", "time_query"]

SCHEMA = "id long, key long, ts timestamp, value double"


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


@dataclass(frozen=True)
class JoinTime:
    """Seconds of one batch as Spark says, and what each task reports of it (`Worker` writes it)."""

    batch: int
    seconds: float
    tasks: tuple[dict[str, Any], ...]

    @property
    def pairs(self) -> int:
        """Return the pairs that all tasks found."""
        return sum(int(task["pairs"]) for task in self.tasks)

    def spent(self, part: str) -> float:
        """Return the seconds that all tasks together spent on one part of the batch."""
        return float(sum(task["seconds"][part] for task in self.tasks))


def time_query(spark: SparkSession, kind: str, load: Workload, scratch: Path, how: str = "inner") -> list[BatchTime]:
    """Run one of the queries over all its files, a batch at a time; `how` is the kind of Weft's join."""
    left, right = (_read(spark, folder, load.files) for folder in (load.left, load.right))
    state = str(scratch / "state")
    if kind == "weft":
        near = f"abs(l.key - r.key) <= {load.width}"
        frame = join(left, right, on=near, how=how, window=_window(load), state=state)
    elif kind in NULL_JOINS:
        frame = NULL_JOINS[kind](left, right, spark.sparkContext.defaultParallelism)
    else:
        frame = _native(left, right, load)
    query, progresses = run_timed(frame, scratch)
    times = []
    for data in progresses:
        batch = int(data["batchId"])
        pairs = _pairs(state, query, batch) if kind == "weft" else None
        times.append(BatchTime(batch, int(data["numInputRows"]), data["durationMs"]["triggerExecution"] / 1000, pairs))
    return times


def time_join(
    spark: SparkSession, left: Path, right: Path, files: int, scratch: Path, *, on: str, window: Window,
    scheme: str | Scheme, tasks: int,
) -> list[JoinTime]:  # fmt: skip
    """Run a join of two folders of Parquet files, `files` of each in a batch, and say what its tasks did."""
    frames = (_read(spark, folder, files) for folder in (left, right))
    state = str(scratch / "state")
    frame = join(*frames, on=on, window=window, scheme=scheme, tasks=tasks, state=state)
    query, progresses = run_timed(frame, scratch)
    return [
        JoinTime(int(data["batchId"]), data["durationMs"]["triggerExecution"] / 1000, tuple(found))
        for data in progresses
        if (found := _metrics(state, query, int(data["batchId"])))
    ]


def time_null(spark: SparkSession, left: Path, right: Path, files: int, scratch: Path, tasks: int) -> list[float]:
    """Send the rows of two folders to so many tasks that join nothing; return the seconds of each batch."""
    one, two = (_read(spark, folder, files) for folder in (left, right))
    _, progresses = run_timed(NULL_JOINS["shuffled"](one, two, tasks), scratch)
    return [data["durationMs"]["triggerExecution"] / 1000 for data in progresses]


def time_near(
    spark: SparkSession, load: Workload, scratch: Path, *, scheme: str | Scheme, tasks: int
) -> list[JoinTime]:  # fmt: skip
    """Run the band join of a workload, and say what its tasks did."""
    near = f"abs(l.key - r.key) <= {load.width}"
    return time_join(
        spark, load.left, load.right, load.files, scratch, on=near, window=_window(load), scheme=scheme, tasks=tasks
    )


def run_timed(frame: DataFrame, scratch: Path) -> tuple[str, list[dict[str, Any]]]:
    """Run a query over all its files; return its id and Spark's progress of every batch that read rows."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(scratch / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise cause(str(error)) from None
    found: list[dict[str, Any]] = [json.loads(progress.json) for progress in query.recentProgress]
    return str(query.id), [data for data in found if data["numInputRows"]]


def _read(spark: SparkSession, folder: Path, files: int) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(str(folder))


def _window(load: Workload) -> Any:
    return within(f"{load.span} us", on="ts", delay="0 seconds")


def _pairs(state: str, query: str, batch: int) -> int:
    return sum(int(metrics["pairs"]) for metrics in _metrics(state, query, batch))


def _metrics(state: str, query: str, batch: int) -> list[dict[str, Any]]:
    """Return what each task of a batch reports, in order of the tasks."""
    store = StateStore(state, query, "")
    tasks = sorted(int(task) for task in store.folder.names() if task.isdigit())
    found = [store.read_metrics(task, batch) for task in tasks]
    return [metrics for metrics in found if metrics is not None]


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
