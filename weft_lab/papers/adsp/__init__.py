"""The figures of the A-DSP paper (001-48), simulated: routing, control and migration are the real ones, time is modelled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from weft_lab.papers.adsp.changing import (
    adjustments,
    fluctuation,
    migration_under_ratios,
    selectivity_tasks,
    selectivity_throughput,
)  # fmt: skip
from weft_lab.papers.adsp.loading import execution_time, requests, tasks_while_loading, window_throughput
from weft_lab.papers.adsp.resources import limited, whole_load
from weft_lab.papers.figure import Figure

__all__ = ["FIGURES"]

FIGURES: dict[str, Callable[[float], Figure]] = {
    "10a": tasks_while_loading,
    "10b": partial(execution_time, "10b", "E_Q5"),
    "10c": partial(execution_time, "10c", "B_NCI"),
    "10d": partial(execution_time, "10d", "B_MR"),
    "11a": partial(window_throughput, "11a", "E_Q5"),
    "11b": partial(requests, "11b", "E_Q5"),
    "11c": partial(window_throughput, "11c", "B_NCI"),
    "11d": partial(requests, "11d", "B_NCI"),
    "11e": partial(window_throughput, "11e", "B_MR"),
    "11f": partial(requests, "11f", "B_MR"),
    "12a": selectivity_tasks,
    "12b": selectivity_throughput,
    "13b": migration_under_ratios,
    "14a": partial(fluctuation, "14a", "E_Q5", "throughput"),
    "14b": partial(fluctuation, "14b", "E_Q5", "latency"),
    "14c": partial(fluctuation, "14c", "B_MR", "throughput"),
    "14d": partial(fluctuation, "14d", "B_MR", "latency"),
    "15a": partial(adjustments, "15a", "adjustments"),
    "15b": partial(adjustments, "15b", "migration_latency"),
    "16a": partial(limited, "16a", "Social 3"),
    "16b": partial(limited, "16b", "Stock"),
    "17a": partial(whole_load, "17a", "tasks"),
    "17b": partial(whole_load, "17b", "seconds"),
    "17c": partial(whole_load, "17c", "bandwidth"),
    "17d": partial(whole_load, "17d", "cost"),
}
"""Figures by their number in the paper."""
