"""Which batch of which query a task works for: Spark tells it in the task's local properties."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import TaskContext

__all__ = ["Where", "where_am_i"]


@dataclass(frozen=True)
class Where:
    """Batch and query (None in a static join), the partition, and the run of the query (a restart is another run)."""

    batch: int | None
    query: str | None
    partition: int
    run: str = ""


def where_am_i() -> Where:
    """Return where this task runs."""
    context = TaskContext.get()
    assert context is not None
    batch = context.getLocalProperty("streaming.sql.batchId")
    query = context.getLocalProperty("sql.streaming.queryId")
    if batch is None or query is None:
        return Where(None, None, context.partitionId())
    run = context.getLocalProperty("spark.jobGroup.id") or ""  # Spark runs a query's jobs under the run's id
    return Where(int(batch), query, context.partitionId(), run)
