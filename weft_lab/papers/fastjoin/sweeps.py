"""Figures 5 to 10, 12 and 13: throughput and latency against instances, data size, threshold and skew."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weft_lab.papers.fastjoin.runs import PUBLISHED, SYSTEMS, TASKS, Run, rides, zipf
from weft_lab.papers.figure import Figure

__all__ = ["figure_5", "figure_6", "figure_7", "figure_8", "figure_9", "figure_10", "figure_12", "figure_13"]

PAPER = ("003-27", "003-29", "003-30", "003-32", "003-33")

INSTANCES = (16, 32, 48, 64)
SIZES = (0.33, 0.67, 1.0, 1.67)
"""Of the default: 10, 20, 30 and 50 GB of the paper's 30."""
THRESHOLDS = (1.2, 1.6, 2.2, 3.0, 5.0)
GROUPS = tuple((x, y) for x in (0, 1, 2) for y in (0, 1, 2))
ZIPF_TASKS = 16
CONT, BI = SYSTEMS["ContRand"], SYSTEMS["BiStream"]

Of = Callable[[Run], float]


def _throughput(run: Run) -> float:
    return run.throughput


def _latency(run: Run) -> float:
    return run.latency


def _rows(xs: Sequence[Any], run: Callable[[Any, Any], Run], of: Of) -> tuple[tuple[Any, ...], ...]:
    return tuple((x, *(of(run(scheme, x)) for scheme in SYSTEMS.values())) for x in xs)


def _better(rows: Sequence[Sequence[Any]], *, less: bool, slack: float = 0.0) -> int:
    """Count the rows in which FastJoin is no worse than either of the others."""
    sign = -1 if less else 1
    return sum(sign * row[1] >= sign * other * (1 - sign * slack) for row in rows for other in [_best(row, less)])


def _best(row: Sequence[Any], less: bool) -> float:
    return float(min(row[2:]) if less else max(row[2:]))


def _instances(scale: float, of: Of) -> tuple[tuple[Any, ...], ...]:
    return _rows(INSTANCES, lambda scheme, tasks: rides(scheme, tasks, scale), of)


def figure_5(scale: float) -> Figure:
    """Throughput against the number of instances."""
    rows = _instances(scale, _throughput)
    few, many = rows[0][1] / rows[0][3], rows[-1][1] / rows[-1][3]
    wins = _better(rows, less=False)
    return Figure(
        "5", "Throughput and instances", "FastJoin leads, most with 16 instances (+186 %, +258 %); with more the gap closes.",
        ("instances", *SYSTEMS), rows, wins == len(rows) and few > many,
        f"FastJoin leads at {wins} of {len(rows)}; over BiStream {few - 1:+.0%} with 16, {many - 1:+.0%} with 64. Here the gap "
        "grows with the instances: fewer keys per task hash less evenly. The paper's 16 instances were overloaded, which a "
        "count of comparisons does not show.",
        ("003-30", "003-32"), "pairs per million comparisons of the heaviest task",
    )  # fmt: skip


def figure_6(scale: float) -> Figure:
    """Latency against the number of instances."""
    rows = _instances(scale, _latency)
    wins = _better(rows, less=True, slack=0.02)
    return Figure(
        "6", "Latency and instances", "FastJoin is below the others; latency grows with the instances (communication).",
        ("instances", *SYSTEMS), rows, wins == len(rows),
        f"FastJoin is lowest (within 2 %) at {wins} of {len(rows)}. Comparisons per lookup fall with the instances, because "
        "each holds less; the paper's rise is communication, which is not counted here.",
        ("003-30", "003-32"), "comparisons per lookup",
    )  # fmt: skip


def _sizes(scale: float, of: Of) -> tuple[tuple[Any, ...], ...]:
    return _rows(SIZES, lambda scheme, size: rides(scheme, TASKS, scale, size), of)


def figure_7(scale: float) -> Figure:
    """Throughput against the size of the data."""
    rows = _sizes(scale, _throughput)
    gains = [row[1] / row[3] for row in rows]
    wins = _better(rows, less=False)
    return Figure(
        "7", "Throughput and data size", "Size matters little; FastJoin leads, and gains least on the smallest data.",
        ("size over default", *SYSTEMS), rows, wins >= len(rows) - 1 and gains[0] <= max(gains),
        f"FastJoin leads at {wins} of {len(rows)}; over BiStream {', '.join(f'{gain - 1:+.0%}' for gain in gains)} from small "
        "to large.",
        ("003-30", "003-33"), "pairs per million comparisons of the heaviest task",
    )  # fmt: skip


def figure_8(scale: float) -> Figure:
    """Latency against the size of the data."""
    rows = _sizes(scale, _latency)
    wins = _better(rows, less=True, slack=0.02)
    return Figure(
        "8", "Latency and data size", "FastJoin is below the others from middle sizes on.",
        ("size over default", *SYSTEMS), rows, wins >= len(rows) - 1,
        f"FastJoin is lowest (within 2 %) at {wins} of {len(rows)}. Over the full history comparisons grow with the data.",
        ("003-30",), "comparisons per lookup",
    )  # fmt: skip


def _thresholds(scale: float, of: Of) -> tuple[tuple[Any, ...], ...]:
    others = of(rides(CONT, TASKS, scale)), of(rides(BI, TASKS, scale))
    runs = [(at, rides(replace(PUBLISHED, threshold=at), TASKS, scale)) for at in THRESHOLDS]
    return tuple((at, of(run), *others, run.measured.migrations) for at, run in runs)


def figure_9(scale: float) -> Figure:
    """Throughput against the threshold."""
    rows = _thresholds(scale, _throughput)
    best = max(rows, key=lambda row: row[1])
    return Figure(
        "9", "Throughput and threshold", "A threshold near 1 or a large one helps slightly less; FastJoin leads throughout.",
        ("threshold", *SYSTEMS, "migrations"), rows, THRESHOLDS[0] < best[0] < THRESHOLDS[-1],
        f"Best at {best[0]:g}. With {THRESHOLDS[-1]:g} it is {rows[-1][1] / best[1] - 1:+.0%} ({rows[-1][4]} migrations), with "
        f"{THRESHOLDS[0]:g} {rows[0][1] / best[1] - 1:+.0%} ({rows[0][4]}): what migrations cost, which speaks against small "
        "thresholds, is not in a count of comparisons.",
        ("003-30", "003-33"), "pairs per million comparisons of the heaviest task",
    )  # fmt: skip


def figure_10(scale: float) -> Figure:
    """Latency against the threshold."""
    rows = _thresholds(scale, _latency)
    spread = max(row[1] for row in rows) / min(row[1] for row in rows) - 1
    return Figure(
        "10", "Latency and threshold", "The threshold matters slightly; FastJoin is below the others.",
        ("threshold", *SYSTEMS, "migrations"), rows, all(row[1] <= 1.02 * row[3] for row in rows),
        f"Latencies of all thresholds lie within {spread:.1%} of one another.",
        ("003-30",), "comparisons per lookup",
    )  # fmt: skip


def _groups(scale: float, of: Of) -> tuple[tuple[Any, ...], ...]:
    systems = {**SYSTEMS, "FastJoin, split keys": replace(PUBLISHED, split_hot=True)}
    return tuple(
        (f"G{x}{y}", *(of(zipf(scheme, ZIPF_TASKS, scale, x, y)) for scheme in systems.values())) for x, y in GROUPS
    )


def figure_12(scale: float) -> Figure:
    """Throughput against skew."""
    rows = _groups(scale, _throughput)
    gains = {row[0]: row[1] / max(row[2], row[3]) for row in rows}
    skewed = [gain for name, gain in gains.items() if name != "G00"]
    mean = float(np.exp(np.mean([math.log(max(gain, 1e-9)) for gain in skewed])))
    split = {row[0]: row[4] / row[1] for row in rows}
    worst = min(gains, key=lambda name: gains[name])
    return Figure(
        "12", "Throughput and skew", "FastJoin leads in all nine groups, much more when at least one stream is skewed.",
        ("group", *SYSTEMS, "FastJoin, split keys"), rows, mean > 1 and min(gains.values()) > 0.95,
        f"Over the better of the others {mean - 1:+.0%} in the skewed groups on average, least in {worst} "
        f"({gains[worst] - 1:+.0%}). With Zipf 2.0 one key has most of the load and no migration can help; splitting it "
        f"(ours) gives {split['G22'] - 1:+.0%} over FastJoin in G22.",
        ("003-29", "003-30"), "pairs per million comparisons of the heaviest task", log_y=True,
    )  # fmt: skip


def figure_13(scale: float) -> Figure:
    """Latency against skew."""
    rows = _groups(scale, _latency)
    wins = sum(row[1] <= 1.05 * min(row[2], row[3]) for row in rows)
    return Figure(
        "13", "Latency and skew", "FastJoin is below the others in all nine groups.",
        ("group", *SYSTEMS, "FastJoin, split keys"), rows, wins == len(rows),
        f"FastJoin is lowest (within 5 %) in {wins} of {len(rows)} groups, in comparisons per lookup.",
        ("003-29", "003-30"), "comparisons per lookup", log_y=True,
    )  # fmt: skip
