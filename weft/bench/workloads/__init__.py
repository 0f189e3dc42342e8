"""Seeded streams for the benchmarks."""

from __future__ import annotations

from weft.bench.workloads.nobench import nobench, nobench_object
from weft.bench.workloads.server_log import ideal_windows, log_windows, server_log

__all__ = ["ideal_windows", "log_windows", "nobench", "nobench_object", "server_log"]
