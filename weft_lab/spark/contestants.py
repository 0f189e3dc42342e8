"""The queries of the STA paper as streaming queries that run side by side, for `weft-lab bench sta` (000-49..000-51).

Every contestant is a query of its own over its own copy of the input, kept alive for the whole run; they are given batch
b one after the other before any of them sees batch b + 1, so that whatever the machine does in between hits all alike. What
leaves is a count per window: the join must not hide behind its output.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from weft.routing import Scheme
from weft.spark.jobs import cause
from weft.spark.join import explain, join, self_join
from weft.spec import Within
from weft.state import StateStore

__all__ = ["Asked", "Contestant", "Timed"]


@dataclass(frozen=True)
class Asked:
    """A query: its condition, the schema of its streams, its window; a self join reads one stream."""

    on: str
    schema: str
    window: Within
    self_join: bool


@dataclass(frozen=True)
class Timed:
    """One batch of one contestant, as Spark timed it."""

    seconds: float
    rows: int
    pairs: int


class Contestant:
    """One way to run a query: started once, then fed a batch at a time."""

    def __init__(
        self, spark: SparkSession, asked: Asked, folder: Path, scheme: str | Scheme, index: str, tasks: int | None
    ) -> None:  # fmt: skip
        self.asked, self.folder, self._fed = asked, folder, 0
        self._state = str(folder / "state")
        roles = ("a", "b") if asked.self_join else ("l", "r")
        self.sides = ("one",) if asked.self_join else ("left", "right")
        for side in self.sides:
            (folder / side).mkdir(parents=True)
        streams = [self._stream(spark, side) for side in self.sides]
        options: dict[str, Any] = {
            "on": asked.on, "window": asked.window, "scheme": scheme, "index": index, "tasks": tasks,
        }  # fmt: skip
        self.explanation = explain(*streams, **options)
        options |= {"select": [f"{roles[0]}.w"], "state": self._state}
        joined = self_join(*streams, **options) if asked.self_join else join(*streams, **options)
        self._query = self._start(joined.groupBy("w").count())

    def _stream(self, spark: SparkSession, side: str) -> DataFrame:
        # A batch is a folder that appears at once, whatever the number of its files.
        return spark.readStream.schema(self.asked.schema).parquet(str(self.folder / side / "*"))

    def _start(self, counts: DataFrame) -> StreamingQuery:
        writer = counts.writeStream.format("noop").outputMode("complete")
        return writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()

    def feed(self, files: Mapping[str, Iterable[Path]]) -> Timed:
        """Give the query one batch of each of its streams and wait until it is through."""
        number, self._fed = self._fed, self._fed + 1
        for side in self.sides:
            made = self.folder / f"{side}-{number:04d}"
            made.mkdir()
            for file in files[side]:
                os.link(file, made / file.name)
        for side in self.sides:
            (self.folder / f"{side}-{number:04d}").rename(self.folder / side / f"{number:04d}")
        try:
            self._query.processAllAvailable()
        except StreamingQueryException as error:
            raise cause(str(error)) from None
        found = [json.loads(progress.json) for progress in self._query.recentProgress]
        new = [one for one in found if one["numInputRows"] and one["batchId"] >= self._batches]
        self._batches = max(one["batchId"] for one in new) + 1
        seconds = sum(one["durationMs"]["triggerExecution"] for one in new) / 1000
        pairs = sum(self._pairs(one["batchId"]) for one in new)
        return Timed(seconds, sum(one["numInputRows"] for one in new), pairs)

    _batches = 0

    def _pairs(self, batch: int) -> int:
        store = StateStore(self._state, str(self._query.id), "")
        found = [store.read_metrics(int(task), batch) for task in store.folder.names() if task.isdigit()]
        return sum(int(metrics["pairs"]) for metrics in found if metrics is not None)

    def stop(self) -> None:
        """End the query."""
        self._query.stop()
