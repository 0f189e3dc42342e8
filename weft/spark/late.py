"""A query that drops late rows says so once, in the driver's log: how many, on which side, which delay would have kept them."""

from __future__ import annotations

import atexit
import contextlib
import logging
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery

from weft.spark.reports import report_name
from weft.spec import JoinSpec, Tumbling, Within
from weft.spec.window import written
from weft.types import SIDES, Side

__all__ = ["follow_late_rows", "late_warning"]

_LOG = logging.getLogger("weft")


def follow_late_rows(spark: SparkSession, query: StreamingQuery, joins: dict[str, JoinSpec]) -> None:
    """Watch a query that has just started; `joins` are those of its joins by the names they report under."""
    timed = {
        report_name(name): spec
        for name, spec in joins.items()
        if isinstance(spec.window, (Within, Tumbling)) and spec.window.delays.known is not None
    }
    if timed:
        _WATCHED[str(query.runId)] = timed
        _listen(spark)
        for progress in query.recentProgress:  # what was reported before anybody listened
            _tell(progress)
        if not query.isActive:
            _WATCHED.pop(str(query.runId), None)


_WATCHED: dict[str, dict[str, JoinSpec]] = {}
"""Joins that have dropped nothing so far, by the run of their query."""
_LISTENING: set[str] = set()
"""Sessions whose queries are watched."""


def _listen(spark: SparkSession) -> None:
    session = str(spark._jsparkSession.sessionUUID())
    if session not in _LISTENING:
        _LISTENING.add(session)
        listener = _LateRows()
        spark.streams.addListener(listener)
        atexit.register(_stop_listening, spark, listener)


def _stop_listening(spark: SparkSession, listener: StreamingQueryListener) -> None:
    """Take leave before Python ends: a JVM that outlives it would complain of a listener that does not answer."""
    with contextlib.suppress(Exception):  # the session may be gone already, in more ways than one
        spark.streams.removeListener(listener)
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(2000)  # one of its calls may be under way


def late_warning(spec: JoinSpec, batch: int, report: dict[str, Any]) -> str:
    """Say what a batch dropped, "" if nothing."""
    window = spec.window
    assert isinstance(window, (Within, Tumbling))
    dropped = []
    sides: tuple[Side, ...] = ("left",) if spec.self_join else SIDES
    for side in sides:
        late, behind = int(report.get(f"{side}_late") or 0), int(report.get(f"{side}_behind") or 0)
        if late:
            stream = "" if spec.self_join else f" of the {side} side"
            enough = f"{'' if spec.self_join else side + '_'}delay={written(window.unit, behind)}"
            dropped.append(f"{late:,} row{'s' if late > 1 else ''}{stream} ({enough} would have kept them)")
    if not dropped:
        return ""
    return f"Batch {batch} dropped late rows: {' and '.join(dropped)}."


def _tell(progress: Any) -> None:
    joins = _WATCHED.get(str(progress.runId), {})
    for name, row in dict(progress.observedMetrics).items():
        spec = joins.get(name)
        text = late_warning(spec, progress.batchId, row.asDict()) if spec is not None else ""
        if text and joins.pop(name, None) is not None:
            _LOG.warning(
                "%s This is said once per run of query %s; observedMetrics[%r] of its progress counts every batch.",
                text, progress.name or progress.id, name,
            )  # fmt: skip


class _LateRows(StreamingQueryListener):
    """Reads the reports of every batch until a join has dropped something."""

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 (PySpark's own names)
        del event

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        _tell(event.progress)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        del event

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        _WATCHED.pop(str(event.runId), None)
