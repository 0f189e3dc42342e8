"""Streams to measure with: seeded, vectorised, shaped like what the papers describe."""

from __future__ import annotations

from weft_lab.workloads.drift import drifting_keys
from weft_lab.workloads.electric import readings
from weft_lab.workloads.feeds import feed_dates, stock_prices
from weft_lab.workloads.nobench import nobench, nobench_object
from weft_lab.workloads.queries import QUERIES, Query, social
from weft_lab.workloads.recorded import recorded_readings, recorded_trips
from weft_lab.workloads.rides import ride_orders, ride_tracks
from weft_lab.workloads.server_log import ideal_windows, log_windows, server_log
from weft_lab.workloads.taxi import trips
from weft_lab.workloads.tpch import Lineitem, Orders, lineitem, orders, suppliers
from weft_lab.workloads.volumes import fluctuating, ratios
from weft_lab.workloads.zipf import scattered_keys, seeded_keys, zipf_counts, zipf_group, zipf_keys, zipf_shares

__all__ = [
    "QUERIES", "Lineitem", "Orders", "Query", "drifting_keys", "feed_dates", "fluctuating", "ideal_windows",
    "lineitem", "log_windows", "nobench", "nobench_object", "orders", "ratios", "readings", "recorded_readings",
    "recorded_trips", "ride_orders", "ride_tracks", "scattered_keys", "seeded_keys", "server_log", "social",
    "stock_prices", "suppliers", "trips", "zipf_counts", "zipf_group", "zipf_keys", "zipf_shares",
]  # fmt: skip
