"""Streams that the papers measured with, made here: seeded, on whole columns, without files."""

from __future__ import annotations

from weft.bench.workloads.feeds import feed_dates, stock_prices
from weft.bench.workloads.tpch import Lineitem, Orders, lineitem, orders, suppliers
from weft.bench.workloads.volumes import fluctuating, ratios
from weft.bench.workloads.zipf import zipf_counts, zipf_keys

__all__ = [
    "Lineitem", "Orders", "feed_dates", "fluctuating", "lineitem", "orders", "ratios", "stock_prices", "suppliers", "zipf_counts",
    "zipf_keys",
]  # fmt: skip
