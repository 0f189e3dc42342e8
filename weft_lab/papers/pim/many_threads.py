"""Figures of several threads: 8a, 9a, 9d, 11a, 11b, 12a, 12b and 12c. A machine with two cores shows two threads, not sixteen."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from weft.local.parallel import Settings
from weft_lab.papers.figure import Figure
from weft_lab.papers.pim.joins import bplus, locked, loop, merged, parallel, round_robin, round_robin_loop
from weft_lab.papers.pim.sizes import THREADS, stream, top, windows

__all__ = ["FIGURES"]

PAPER = ("002-34", "002-35", "002-39", "002-40")

RATE = "million tuples/s"


def cores() -> int:
    """Return the threads that the figures use: as many as there are cores, at least two, at most four."""
    return max(2, min(4, os.cpu_count() or 1))


def five(scale: float) -> Figure:
    """Figure 8a."""
    rows = []
    for exponent in windows(scale):
        keys, band = stream(exponent)
        w, p = 1 << exponent, cores()
        alone, shared = loop(keys, w, band), round_robin_loop(keys, w, band, p)
        rows.append(
            (exponent, alone, shared, bplus(keys, w, band), round_robin(keys, w, band, p), locked(keys, w, band, p))
        )
    loops, trees = (float(np.mean([row[many] / row[one] for row in rows])) for one, many in ((1, 2), (3, 4)))
    falls = rows[0][1] / rows[-1][1] > 4 * rows[0][3] / rows[-1][3]
    return Figure(
        "8a", f"Nested loop and B+-tree, alone and by {cores()} threads",
        "Nested loops fall linearly with w, trees hardly; round robin helps the loop (8 x) more than the tree (2.5 x).",
        ("log2 w", "NLWJ", "NLWJ, round robin", "B+-tree", "B+-tree, round robin", "B+-tree under one lock"),
        tuple(rows), falls and loops > trees,
        f"Round robin gains {loops:.2f} x for the loop and {trees:.2f} x for the tree with {cores()} threads. "
        "The last column stands in for the Bw-tree, and is no Bw-tree.",
        ("002-03", "002-05", "002-06", "002-34", "002-35"), RATE, log_y=True,
    )  # fmt: skip


def depths(scale: float) -> Figure:
    """Figure 9a."""
    rows = []
    for exponent in windows(scale):
        keys, band = stream(exponent)
        rates = (
            parallel(keys, 1 << exponent, band, cores(), settings=Settings(depth=depth))[0] for depth in (0, 1, 2, 3)
        )
        rows.append((exponent, *rates))
    gain = float(np.mean([max(row[2:]) / row[1] for row in rows]))
    return Figure(
        "9a", f"Insertion depth, {cores()} threads", "Too few sub-indexes hold threads up; beyond depth 2 nothing is gained.",
        ("log2 w", "D_I = 0", "D_I = 1", "D_I = 2", "D_I = 3"), tuple(rows), gain > 1,
        f"The best depth has {gain:.2f} x the rate of one sub-index.", ("002-13", "002-28", "002-31", "002-34"), RATE,
    )  # fmt: skip


def ratios(scale: float) -> Figure:
    """Figure 9d."""
    exponent = top(scale)
    keys, band = stream(exponent)
    rows = tuple(
        (power, parallel(keys, 1 << exponent, band, cores(), settings=Settings(merge_ratio=2.0**power))[0])
        for power in (-4, -3, -2, -1, 0)
    )
    best = max(rows, key=lambda row: row[1])[0]
    return Figure(
        "9d", f"Merge ratio, {cores()} threads, w = 2^{exponent}", "In parallel the largest ratio, 1, is best.",
        ("log2 m", "parallel PIM-Tree"), rows, best >= -1, f"Best at m = 2^{best}.", ("002-27", "002-34"), RATE,
    )  # fmt: skip


def tasks(latency: bool) -> Callable[[float], Figure]:
    """Figures 11a and 11b."""

    def measure(scale: float) -> Figure:
        exponent = top(scale)
        keys, band = stream(exponent)
        rows = []
        for task in (1, 2, 4, 8, 10):
            rate, waits = parallel(keys, 1 << exponent, band, cores(), settings=Settings(task=task))
            rows.append((task, waits if latency else rate))
        if latency:
            return Figure(
                "11b", "Task size and latency", "Latency grows with the task size.", ("task size", "latency"), tuple(rows),
                rows[-1][1] > rows[0][1], f"From {rows[0][1]:.1f} to {rows[-1][1]:.1f} us: tuples seen under way over the rate.",
                ("002-17", "002-28", "002-34"), "microseconds",
            )  # fmt: skip
        return Figure(
            "11a", "Task size and throughput", "Larger tasks cost less to take; beyond 8 little is gained.",
            ("task size", "parallel PIM-Tree"), tuple(rows), rows[3][1] > rows[0][1],
            f"Tasks of 8 have {rows[3][1] / rows[0][1]:.2f} x the rate of tasks of 1.", ("002-17", "002-28", "002-34"), RATE,
        )  # fmt: skip

    return measure


def threads(scale: float) -> Figure:
    """Figure 12a."""
    exponent = top(scale)
    w, rows = 1 << exponent, []
    for count in THREADS:
        found = []
        for sides in (2, 1):
            keys, band = stream(exponent, sides=sides)
            found.append(parallel(keys, w, band, count, sides)[0])
        rows.append((count, *found))
    gains = [rows[1][c] / rows[0][c] for c in (1, 2)]
    return Figure(
        "12a", f"Threads, w = 2^{exponent}", "8 threads are 4.6 x (two-way) and 4 x (self join) as fast as one.",
        ("threads", "two-way", "self join"), tuple(rows), min(gains) > 1.3,
        f"Two threads: {gains[0]:.2f} x and {gains[1]:.2f} x one; this machine has {os.cpu_count()} cores.",
        ("002-34", "002-39"), RATE,
    )  # fmt: skip


def windows_of(number: str, sides: int) -> Callable[[float], Figure]:
    """Figures 12b and 12c."""
    name = "two-way" if sides == 2 else "self join"

    def measure(scale: float) -> Figure:
        rows = []
        for exponent in windows(scale):
            keys, band = stream(exponent, sides=sides)
            w, p = 1 << exponent, cores()
            single = (
                bplus(keys, w, band, sides),
                merged(keys, w, band, 1, 0.125, sides),
                locked(keys, w, band, p, sides),
            )
            free, blocking = (parallel(keys, w, band, p, sides, Settings(blocking=held))[0] for held in (False, True))
            rows.append((exponent, *single, free, blocking))
        over = [float(np.mean([row[4] / row[c] for row in rows])) for c in (1, 2, 3)]
        return Figure(
            number, f"Window size, {name}, {cores()} threads",
            "The parallel join beats all others from about 2^14 on (3.7 x the single PIM-Tree, 16 threads), more for large w; "
            "a blocking merge is slightly faster.",
            ("log2 w", "B+-tree", "PIM-Tree", "B+-tree under one lock", "parallel PIM-Tree", "with blocking merge"), tuple(rows),
            min(over) > 1,
            f"Parallel over B+-tree {over[0]:.2f} x, over PIM-Tree {over[1]:.2f} x, over the locked tree {over[2]:.2f} x.",
            ("002-34", "002-40", "002-42"), RATE,
        )  # fmt: skip

    return measure


FIGURES: dict[str, Callable[[float], Figure]] = {
    "8a": five, "9a": depths, "9d": ratios, "11a": tasks(False), "11b": tasks(True), "12a": threads,
    "12b": windows_of("12b", 2), "12c": windows_of("12c", 1),
}  # fmt: skip
