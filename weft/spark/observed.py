"""What people get to know of a running join: `StreamingQueryProgress.observedMetrics`, and a warning of late rows.

Route tasks put notes beside the messages they ship (`weft.spark.shuttle`), a few rows per batch, and Spark adds them up
(`DataFrame.observe`): that costs nothing per row. Their counts are marked with the partition they come from, so those of a task
that runs twice count once. Pairs are counted by Spark as they leave. One route task looks at what the state held when the batch
began.

A query that drops late rows says so once, in the driver's log: how many, on which side, which delay would have kept them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from weft.engine import Job
from weft.errors import StateError
from weft.routing import plan_from_json
from weft.spark.front import front_of
from weft.spark.listening import hear
from weft.spark.shuttle import COUNTS, MOST_COUNTED, Outbox, RunningTask, Stamp, note_of
from weft.spark.state_place import StatePlace
from weft.spec import JoinSpec, Tumbling, Within
from weft.spec.window import written
from weft.state import Pinned, StateStore
from weft.types import SIDES, Side

__all__ = ["counted_pairs", "follow_late_rows", "late_warning", "observed_routes", "report_name", "report_state"]


def report_name(name: str) -> str:
    """Return under which name a join reports: `weft`, or `weft.` and the name that tells it from others of its query."""
    return f"weft.{name}" if name else "weft"


def observed_routes(routes: DataFrame, name: str) -> DataFrame:
    """Report rows and late rows per side, the state as the batch found it, and migrations."""
    observed = routes.observe(report_name(name), *[F.expr(_total(count)).alias(count) for count in COUNTS])
    return front_of(routes).named_alike(observed)  # joins with state paths of their own need no names


def _total(count: str) -> str:
    """Return what adds up one count of all notes; the state and migrations are in one note, and unknown without it."""
    # A set of numbers is cheap in every task of every batch, a set of whole notes is not: four of these, none of those.
    if count.endswith(("_rows", "_late")) and count != "state_rows":
        return f"aggregate(collect_set(note.{count}), 0L, (total, n) -> total + (n & {MOST_COUNTED}L))"
    return f"coalesce(max(note.{count}), 0L)" if count.endswith("_behind") else f"max(note.{count})"


def counted_pairs(joined: DataFrame, name: str) -> DataFrame:
    """Report the pairs that leave; behind a look-up in a table, the rows."""
    observed = joined.observe(f"{report_name(name)}.pairs", F.count(F.lit(1)).alias("pairs"))
    return front_of(joined).named_alike(observed)


def report_state(
    job: Job, where: StatePlace | None, here: RunningTask, pinned: Pinned, outbox: Outbox, newest: int
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Ship a message without content to task 0, with the note beside it; the first partition does it for all."""
    store = where.opened(job, here.query, here.run) if where is not None and here.partition == 0 else None
    if store is not None and here.batch is not None:
        stamp = Stamp(newest, _state_note(store, here.batch, pinned))
        yield from outbox.ship([(0, _nothing)], stamp)


def _nothing(sink: pa.NativeFile) -> None:
    """Write a message without content."""


def _state_note(store: StateStore, batch: int, pinned: Pinned) -> dict[str, int | None]:
    """Return what the state holds when a batch begins, and whether the batch migrates it."""
    empty = note_of(state_rows=0, state_bytes=0, state_fullest=0, state_tasks=0, migrations=0)
    try:
        first = store.manifest(0, batch - 1, pinned.history) if batch else None
        if first is None:
            return empty
        others = store.manifests(range(1, int(first.plan["tasks"])), batch - 1, pinned.history)
        migrations = int(plan_from_json(first.plan) != pinned.plan)
    except StateError:  # the join tasks read the same files and say what is wrong with them
        return empty
    found = [first, *(manifest for manifest in others if manifest is not None)]
    segments = [segment for manifest in found for segment in manifest.files]
    held = {"state_rows": sum(s.rows for s in segments), "state_bytes": sum(s.bytes for s in segments)}
    held["state_fullest"] = max(sum(s.rows for s in manifest.files) for manifest in found)
    held["state_tasks"] = len(found)
    return note_of(**held, migrations=migrations)


_LOG = logging.getLogger("weft")


def follow_late_rows(spark: SparkSession, query: StreamingQuery, joins: dict[str, JoinSpec]) -> None:
    """Watch a query that has just started; `joins` are those of its joins by the names they report under."""
    timed = {
        report_name(name): spec
        for name, spec in joins.items()
        if isinstance(spec.window, (Within, Tumbling)) and spec.window.delays.known is not None
    }
    if timed:
        hear(spark, query, _LateRows(timed))


_FEW = 10
"""Of so few rows it says nothing that most are late."""
_BACKFILL = (
    " That is most of what it read: history is being read out of order, such as a topic whose partitions are hours apart."
    " A delay covers the distance between partitions, or remove it until the history is read."
)


def late_warning(spec: JoinSpec, batch: int, report: dict[str, Any]) -> str:
    """Say what a batch dropped, "" if nothing."""
    window = spec.window
    assert isinstance(window, (Within, Tumbling))
    dropped, most = [], False
    sides: tuple[Side, ...] = ("left",) if spec.self_join else SIDES
    for side in sides:
        late, behind = int(report.get(f"{side}_late") or 0), int(report.get(f"{side}_behind") or 0)
        if late:
            stream = "" if spec.self_join else f" of the {side} side"
            enough = f"{'' if spec.self_join else side + '_'}delay={written(window.unit, behind)}"
            dropped.append(f"{late:,} row{'s' if late > 1 else ''}{stream} ({enough} would have kept them)")
            most |= 2 * late > max(int(report.get(f"{side}_rows") or 0), _FEW)
    if not dropped:
        return ""
    text = f"Batch {batch} dropped late rows: {' and '.join(dropped)}."
    return text + _BACKFILL if most else text


class _LateRows:
    """Reads the reports of every batch until each join has dropped something."""

    def __init__(self, joins: dict[str, JoinSpec]) -> None:
        self.joins = joins

    def progress(self, progress: Any) -> None:
        for name, row in dict(progress.observedMetrics).items():
            spec = self.joins.get(name)
            text = late_warning(spec, progress.batchId, row.asDict()) if spec is not None else ""
            if text and self.joins.pop(name, None) is not None:
                _LOG.warning(
                    "%s Logged once per run of query %s; observedMetrics[%r] of its progress has the counts of every batch.",
                    text, progress.name or progress.id, name,
                )  # fmt: skip

    def idle(self) -> None:
        """Nothing arrived, nothing is late."""

    def ended(self, error: str | None) -> None:
        """What was dropped was told."""
