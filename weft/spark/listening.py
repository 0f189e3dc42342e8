"""Hearing of batches: one Python listener per session, and whoever wants to hear of a query.

Spark calls listeners after a batch, on a thread of its own, so nothing of this delays a query.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["Hearer", "hear", "listen"]

_LOG = logging.getLogger("weft")


class Hearer(Protocol):
    """Wants to hear of one run of a query."""

    def progress(self, progress: Any) -> None:
        """Hear of a batch that is done."""

    def idle(self) -> None:
        """Hear that there was nothing to do."""

    def ended(self, error: str | None) -> None:
        """Hear that the run has ended, and of what it died."""


_HEARERS: dict[str, list[Hearer]] = {}
"""By the run of their query."""
_LISTENING: set[str] = set()
"""Sessions whose queries are heard of."""


def hear(spark: SparkSession, query: StreamingQuery, hearer: Hearer) -> None:
    """Let somebody hear of a query that has just started; what it did before anybody listened is told now."""
    run = str(query.runId)
    _HEARERS.setdefault(run, []).append(hearer)
    _listen(spark)
    for progress in query.recentProgress:
        _told(hearer.progress, progress)
    if not query.isActive and run in _HEARERS:  # it ended before anybody listened
        _HEARERS[run].remove(hearer)
        error = query.exception()
        _told(hearer.ended, None if error is None else str(error))


def _listen(spark: SparkSession) -> None:
    session = str(spark._jsparkSession.sessionUUID())
    if session not in _LISTENING:
        _LISTENING.add(session)
        listen(spark, _Listener())


def listen(spark: SparkSession, listener: StreamingQueryListener) -> None:
    """Let a listener hear of all queries of a session, until Python ends."""
    spark.streams.addListener(listener)
    atexit.register(_stop_listening, spark, listener)


def _stop_listening(spark: SparkSession, listener: StreamingQueryListener) -> None:
    """Take leave before Python ends: a JVM that outlives it would complain of a listener that does not answer."""
    with contextlib.suppress(Exception):  # the session may be gone already, in more ways than one
        spark.streams.removeListener(listener)
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(2000)  # one of its calls may be under way


def _told(tell: Any, *news: Any) -> None:
    """Tell somebody; what goes wrong there must not reach Spark, nor others who listen."""
    try:
        tell(*news)
    except Exception as error:  # noqa: BLE001  a listener serves people only
        _LOG.debug("A listener of Weft failed: %s", error)


class _Listener(StreamingQueryListener):
    """Passes on what Spark tells."""

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 (PySpark's own names)
        del event

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        for hearer in _HEARERS.get(str(event.progress.runId), ()):
            _told(hearer.progress, event.progress)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        for hearer in _HEARERS.get(str(event.runId), ()):
            _told(hearer.idle)

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        for hearer in _HEARERS.pop(str(event.runId), ()):
            _told(hearer.ended, event.exception)
