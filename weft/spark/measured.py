"""Batches of joins as numbers: what Spark's listener tells of all queries of a session, for whoever exports metrics."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from weft.spark.journal import trigger_of
from weft.spark.listening import listen

__all__ = ["JoinBatch", "listen_to_joins"]

_JOIN = re.compile(r"weft(\.(?!.*pairs$)[\w.-]+)?")


@dataclass(frozen=True)
class JoinBatch:
    """One batch of one join: the counts of its report (`observedMetrics`), its pairs, and Spark's times in seconds."""

    query: str
    id: str
    join: str
    """The name that the join reports under: `weft`, or `weft.` and its name."""
    batch: int
    seconds: float
    trigger: float
    pairs: int
    counts: dict[str, int] = field(default_factory=dict)


def listen_to_joins(
    spark: SparkSession, on_batch: Callable[[JoinBatch], None], on_end: Callable[[str, str | None], None]
) -> None:  # fmt: skip
    """Tell of every batch of every join of a session, and of the end of queries, by their ids, with the error if they failed."""
    listen(spark, _Joins(spark, on_batch, on_end))


class _Joins(StreamingQueryListener):
    def __init__(
        self, spark: SparkSession, on_batch: Callable[[JoinBatch], None], on_end: Callable[[str, str | None], None]
    ) -> None:  # fmt: skip
        self._session, self.on_batch, self.on_end = spark, on_batch, on_end
        self._triggers: dict[str, float] = {}
        self._ids: dict[str, str] = {}

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 (PySpark's own names)
        del event

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        progress = event.progress
        reports = {name: row.asDict() for name, row in dict(progress.observedMetrics).items()}
        durations = dict(progress.durationMs)
        joins = [name for name in reports if _JOIN.fullmatch(name)]
        if not joins or "addBatch" not in durations:
            return
        run, query = str(progress.runId), str(progress.id)
        self._ids[run] = query
        if run not in self._triggers:
            self._triggers[run] = self._trigger(query)
        for join in joins:
            counts = {name: int(value or 0) for name, value in reports[join].items()}
            pairs = int(reports.get(f"{join}.pairs", {}).get("pairs") or 0)
            self.on_batch(JoinBatch(
                progress.name or query, query, join, int(progress.batchId), int(durations.get("triggerExecution", 0)) / 1000,
                self._triggers[run], pairs, counts,
            ))  # fmt: skip

    def _trigger(self, query: str) -> float:
        try:
            running: Any = self._session.streams.get(query)
        except PySparkException:  # it has ended meanwhile
            return 0.0
        return 0.0 if running is None else trigger_of(running) / 1000

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        del event

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        run = str(event.runId)
        self._triggers.pop(run, None)
        if (query := self._ids.pop(run, None)) is not None:
            self.on_end(query, event.exception)
