"""Inspect a join from outside: metrics, progress and state. Read-only, except for `remove_query`."""

from __future__ import annotations

from weft.observe.inspect import QueryView, inspect_query
from weft.observe.leftovers import Leftover, asked_for, remove_query, stale_queries
from weft.observe.listing import find_query, list_queries, open_state, query_line
from weft.observe.metrics import BatchMetrics, BatchReport, Migration, Summary, disk_use, read_batch, read_documents

__all__ = [
    "BatchMetrics", "BatchReport", "Leftover", "Migration", "QueryView", "Summary", "asked_for", "disk_use", "find_query",
    "inspect_query", "list_queries", "open_state", "query_line", "read_batch", "read_documents", "remove_query", "stale_queries",
]  # fmt: skip
