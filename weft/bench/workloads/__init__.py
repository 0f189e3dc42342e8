"""Streams that the papers measured with, made here: seeded, on whole columns, without files."""

from __future__ import annotations

from weft.bench.workloads.feeds import feed_dates, stock_prices
from weft.bench.workloads.queries import QUERIES, Query, social
from weft.bench.workloads.tpch import Lineitem, Orders, lineitem, orders, suppliers
from weft.bench.workloads.volumes import fluctuating, ratios
from weft.bench.workloads.zipf import zipf_counts, zipf_keys

__all__ = [
    "QUERIES", "Lineitem", "Orders", "Query", "feed_dates", "fluctuating", "lineitem", "orders", "ratios", "social",
    "stock_prices", "suppliers", "zipf_counts", "zipf_keys",
]  # fmt: skip
