"""Which batch of which query a task works for: Spark tells it in the task's local properties."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import TaskContext

__all__ = ["Where", "where_am_i"]


@dataclass(frozen=True)
class Where:
    """Batch and query (None in a static join), and the partition."""

    batch: int | None
    query: str | None
    partition: int


def where_am_i() -> Where:
    """Return where this task runs."""
    context = TaskContext.get()
    assert context is not None
    batch = context.getLocalProperty("streaming.sql.batchId")
    query = context.getLocalProperty("sql.streaming.queryId")
    if batch is None or query is None:
        return Where(None, None, context.partitionId())
    return Where(int(batch), query, context.partitionId())
