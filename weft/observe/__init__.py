"""Looking at a join from outside: metrics, progress, state. Reads, never decides."""

from __future__ import annotations

from weft.observe.inspect import QueryView, inspect_query
from weft.observe.listing import find_query, list_queries, query_line
from weft.observe.metrics import BatchMetrics, Migration, disk_use, read_batch, read_documents
from weft.observe.progress import BatchReport, Summary

__all__ = [
    "BatchMetrics", "BatchReport", "Migration", "QueryView", "Summary", "disk_use", "find_query", "inspect_query", "list_queries",
    "query_line", "read_batch", "read_documents",
]  # fmt: skip
