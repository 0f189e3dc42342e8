"""The same runs by the clock: pairs per second of the slowest task, real seconds of Weft's own tasks on the local runtime.

The other figures count comparisons, as the paper's load model does, and are the same on every machine. Weft's tasks search
sorted runs, so what they really take follows rows and pairs; migrations are in it. Tasks run one after the other in one
process and a batch lasts as long as its slowest one, as it would with a core for each. What a task spends on any batch,
however small, is in it too, and evens the systems out where tasks are many and batches small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from weft_lab.papers.fastjoin.runs import PUBLISHED, SYSTEMS, TASKS, Run, rides, zipf
from weft_lab.papers.figure import Figure

__all__ = ["figure_5_seconds", "figure_9_seconds", "figure_12_seconds"]

PAPER = ("003-26", "003-29", "003-30", "003-32", "003-33")
INSTANCES, THRESHOLDS, GROUPS = (16, 32, 48, 64), (1.2, 2.2, 5.0), ((0, 0), (1, 1), (2, 0), (2, 2))
ZIPF_TASKS = 16
UNIT = "pairs per second of the slowest task"


def _speed(run: Run) -> float:
    return run.pairs / max(run.seconds, 1e-9)


def _leads(rows: Sequence[Sequence[Any]]) -> int:
    return sum(row[1] >= max(row[2], row[3]) for row in rows)


def figure_5_seconds(scale: float) -> Figure:
    """Throughput by the clock against the number of instances."""
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (n, *(_speed(rides(scheme, n, scale)) for scheme in SYSTEMS.values())) for n in INSTANCES
    )
    few, many = rows[0][1] / rows[0][3] - 1, rows[-1][1] / rows[-1][3] - 1
    return Figure(
        "5s", "Throughput and instances", "FastJoin leads, most with 16 instances; with more the gap closes.",
        ("instances", *SYSTEMS), rows, _leads(rows) == len(rows) and few > many,
        f"FastJoin leads at {_leads(rows)} of {len(rows)}; over BiStream {few:+.0%} with 16, {many:+.0%} with 64.",
        ("003-26", "003-30", "003-32"), UNIT,
    )  # fmt: skip


def figure_9_seconds(scale: float) -> Figure:
    """Throughput by the clock against the threshold: here migrations cost what they cost."""
    systems = [(t, replace(PUBLISHED, threshold=t)) for t in THRESHOLDS]
    runs = [(t, rides(scheme, TASKS, scale)) for t, scheme in systems]
    beside = [_speed(rides(scheme, TASKS, scale)) for scheme in list(SYSTEMS.values())[1:]]
    rows: tuple[tuple[Any, ...], ...] = tuple((t, _speed(run), *beside, run.measured.migrations) for t, run in runs)
    best = max(rows, key=lambda row: row[1])
    return Figure(
        "9s", "Throughput and threshold", "A threshold near 1 or a large one helps slightly less.",
        ("threshold", *SYSTEMS, "migrations"), rows, best[0] == THRESHOLDS[1],
        f"Best at {best[0]:g}; {', '.join(f'{row[0]:g}: {row[1] / best[1] - 1:+.0%}, {row[4]} migrations' for row in rows)}.",
        ("003-30", "003-33"), UNIT,
    )  # fmt: skip


def figure_12_seconds(scale: float) -> Figure:
    """Throughput by the clock against skew."""
    systems = {**SYSTEMS, "FastJoin, split keys": replace(PUBLISHED, split_hot=True)}
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (f"G{x}{y}", *(_speed(zipf(scheme, ZIPF_TASKS, scale, x, y)) for scheme in systems.values())) for x, y in GROUPS
    )
    worst = min(rows, key=lambda row: row[1] / max(row[2], row[3]))
    return Figure(
        "12s", "Throughput and skew", "FastJoin leads, much more when at least one stream is skewed.",
        ("group", *systems), rows, _leads(rows) == len(rows),
        f"FastJoin leads in {_leads(rows)} of {len(rows)}, least in {worst[0]} "
        f"({worst[1] / max(worst[2], worst[3]) - 1:+.0%}); split keys (ours) give {rows[-1][4] / rows[-1][1] - 1:+.0%} in G22.",
        ("003-29", "003-30"), UNIT, log_y=True,
    )  # fmt: skip
