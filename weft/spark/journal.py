"""The driver's journal of a query (`weft.state.journal`): kept by a listener, after batches, at most once in a while.

What it says cannot be found on the state path otherwise: how the join was explained, Spark's own times, why a query failed, and
what happened before the versions that are kept.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from weft.errors import StateError
from weft.planner import Explanation
from weft.spark.listening import hear
from weft.state import Folder, Journal, JournalBatch, find_journal, read_reports, write_journal

__all__ = ["JournalKeeper", "first_lines", "keep_journal", "milliseconds", "trigger_of"]

PACE = {False: 1.0, True: 10.0}
"""Seconds between two writes; longer where each is a request that costs."""
_LONGEST = 2_000
"""Characters of an error that are kept."""


def keep_journal(
    spark: SparkSession, query: StreamingQuery, folder: Folder, report: str, explain: Callable[[], Explanation] | None
) -> None:  # fmt: skip
    """Keep the journal of one join of a query that has just started; `report` is the name that it reports under."""
    parts = explain().parts if explain is not None else ()
    began = Journal(str(query.runId), query.name or "", trigger_of(query), tuple(parts))
    hear(spark, query, JournalKeeper(folder, report, began))


def trigger_of(query: StreamingQuery) -> int:
    """Return the milliseconds from one batch to the next that were asked for, 0 if none were."""
    try:
        running: Any = query._jsq.streamingQuery()
        found = re.fullmatch(r"ProcessingTimeTrigger\((\d+)\)", str(running.trigger().toString()))
    except (Py4JError, AttributeError, TypeError):
        return 0
    return int(found[1]) if found else 0


class JournalKeeper:
    """Writes down what it hears of one join."""

    def __init__(
        self, folder: Folder, report: str, began: Journal, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder, self.report, self._clock = folder, report, clock
        self._began = began
        self._journal: Journal | None = None
        self._written = -PACE[True]
        self._dirty = False

    @property
    def journal(self) -> Journal:
        """Return the journal, which goes on from that of the runs before."""
        if self._journal is None:
            before = find_journal(self.folder) or Journal()
            self._journal = replace(self._began, batches=before.batches, events=before.events)
        return self._journal

    def progress(self, progress: Any) -> None:
        """Write a batch down."""
        durations = dict(progress.durationMs)
        if "addBatch" not in durations:
            return
        told = dict(progress.observedMetrics)
        seen = told[self.report].asDict() if self.report in told else {}
        pairs = told[f"{self.report}.pairs"].asDict() if f"{self.report}.pairs" in told else {}
        counts = {name: int(seen.get(name) or 0) for name in (
            "left_rows", "right_rows", "state_rows", "state_bytes", "left_late", "right_late")}  # fmt: skip
        batch = JournalBatch(
            int(progress.batchId), milliseconds(progress.timestamp), int(durations.get("triggerExecution", -1)),
            int(durations["addBatch"]), pairs=int(pairs.get("pairs") or 0), **counts,
        )  # fmt: skip
        event = self._migration(batch.batch) if seen.get("migrations") else None
        self._journal, self._dirty = self.journal.having(batch, event), True
        self._write(PACE[self.folder.packed])

    def _migration(self, batch: int) -> tuple[int, str, str, int, float] | None:
        """Read what the tasks told of a migration; there are few."""
        found = [one for one in read_reports(self.folder, batch, None) if one.get("migrated")]
        if not found:
            return None
        reason = next((str(one["reason"]) for one in found if one.get("reason")), "")
        slowest = max(float(one["seconds"].get("load", 0.0)) for one in found)
        return batch, str(found[0]["migrated"]), reason, sum(int(one["gained"]) for one in found), round(slowest, 3)

    def idle(self) -> None:
        """Write down what has not been yet."""
        self._write(PACE[self.folder.packed])

    def ended(self, error: str | None) -> None:
        """Write down how the run ended."""
        said = (error or "").strip()[:_LONGEST]
        self._journal = replace(self.journal, ended=round(time.time() * 1000), error=first_lines(said))
        self._dirty = True
        self._write(0.0)

    def _write(self, pace: float) -> None:
        if not self._dirty or self._clock() - self._written < pace:
            return
        try:
            if self.folder.exists("spec.json"):  # else there is no state yet, or it was removed
                write_journal(self.folder, self.journal)
                self._dirty = False
        except (StateError, OSError):  # it serves people only, and no batch waits for it
            pass
        self._written = self._clock()


def first_lines(error: str) -> str:
    """Return what an error says, without the traceback of the JVM."""
    from weft.spark.hooks import weft_error

    found = weft_error(error)
    if found is not None:
        return str(found)
    lines = [line.rstrip() for line in error.splitlines() if line.strip()]
    return "\n".join(line for line in lines[:4] if not line.startswith(("\tat ", "    at ")))


def milliseconds(stamp: str) -> int:
    """Return when a batch began, from Spark's `2024-01-01T00:00:00.000Z`."""
    try:
        return round(datetime.fromisoformat(stamp.replace("Z", "+00:00")).astimezone(timezone.utc).timestamp() * 1000)
    except ValueError:
        return 0
