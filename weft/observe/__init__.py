"""Inspect a join from outside: metrics, progress and state. Read-only, except for `remove_query` and `roll_back`."""

from __future__ import annotations

from weft.observe.inspect import QueryView, inspect_query
from weft.observe.leftovers import Leftover, asked_for, remove_query, stale_queries
from weft.observe.listing import batches_of, find_query, is_query, list_queries, open_state, query_line
from weft.observe.metrics import BatchMetrics, BatchReport, Migration, Summary, disk_use, read_batch, read_documents
from weft.observe.notebook import ui, watch
from weft.observe.prometheus import address_of, prometheus
from weft.observe.rollback import Rollback, plan_rollback, roll_back

__all__ = [
    "BatchMetrics", "BatchReport", "Leftover", "Migration", "QueryView", "Rollback", "Summary", "address_of", "asked_for",
    "batches_of", "disk_use", "find_query", "inspect_query", "is_query", "list_queries", "open_state", "plan_rollback",
    "prometheus", "query_line", "read_batch", "read_documents", "remove_query", "roll_back", "stale_queries", "ui", "watch",
]  # fmt: skip
