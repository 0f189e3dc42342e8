"""Figures of memory and of the keys' distribution: 11c, 13a, 13b and 13c."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from weft.index import Layout, PimTree, TreeSet
from weft.kernels import trees
from weft.kernels.parallel.shared import PLOT, TREES
from weft.local.parallel import FedTuples, Settings, Threads, WordJoin
from weft.types import Block, Words
from weft_lab.indexes import BPlusTree
from weft_lab.papers.figure import Figure
from weft_lab.papers.pim.joins import merged, parallel
from weft_lab.papers.pim.many_threads import cores
from weft_lab.papers.pim.sizes import stream, top, windows
from weft_lab.papers.pim.streams import DISTRIBUTIONS, band_for, drifting

__all__ = ["FIGURES"]

PAPER = ("002-34", "002-41")

SHIFTS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
SHOWN = (0.0, 0.2, 0.6, 1.0)


def _slide(index: TreeSet, keys: Words, window: int) -> dict[str, int]:
    """Feed a count window; return the bytes by component when the index was largest."""
    most: dict[str, int] = {}
    step = max(1, window // 16)
    for first in range(0, len(keys), step):
        part = keys[first : first + step]
        seq = np.arange(first, first + len(part))
        index.expire(first + len(part) - window)
        index.insert(Block(np.stack([part, seq]), np.zeros(len(part), np.uint32), pa.table({"id": seq})))
        now = {name: size for name, size in index.memory().items() if name != "window"}
        if sum(now.values()) > sum(most.values()):
            most = now
    return most


def memory(scale: float) -> Figure:
    """Figure 11c."""
    rows = []
    for exponent in windows(scale):
        keys = stream(exponent)[0][: 3 << exponent]
        tree = _slide(BPlusTree(Layout(key=0), 1), keys, 1 << exponent)
        pim = _slide(PimTree(Layout(key=0), 1, replace(PimTree.default_merging, small=64)), keys, 1 << exponent)
        rows.append((exponent, sum(tree.values()), pim["T_S"], pim["T_I"], pim["merge buffer"], sum(pim.values())))
    ratio = float(np.mean([row[5] / row[1] for row in rows]))
    return Figure(
        "11c", "Memory at m = 1", "T_S, T_I and merge buffer together take about twice the B+-tree.",
        ("log2 w", "B+-tree", "T_S", "T_I", "merge buffer", "PIM-Tree"), tuple(rows), 1.2 < ratio < 4,
        f"{ratio:.2f} x the B+-tree, which takes {rows[-1][1] / (1 << rows[-1][0]):.0f} bytes an entry. "
        "An entry is 16 bytes here, 8 in the paper.",
        ("002-16", "002-34"), "bytes",
    )  # fmt: skip


def distributions(scale: float) -> Figure:
    """Figure 13a."""
    exponent = top(scale)
    w, rates = 1 << exponent, []
    for name in DISTRIBUTIONS:
        keys, band = stream(exponent, 2.0, name)
        rates.append((merged(keys, w, band, 1, 0.125), parallel(keys, w, band, cores())[0]))
    worst = min(min(pair[c] for pair in rates) / rates[0][c] for c in (0, 1))
    rows = [(name, *pair) for name, pair in zip(DISTRIBUTIONS, rates, strict=True)]
    return Figure(
        "13a", f"Distributions, w = 2^{exponent}", "Skewed values cost 2 to 4 %.",
        ("distribution", "PIM-Tree", f"parallel, {cores()} threads"), tuple(rows), worst > 0.8,
        f"The slowest distribution has {worst:.2f} of the uniform rate.",
        ("002-25", "002-33", "002-34", "002-41"), "million tuples/s",
    )  # fmt: skip


def _drift(scale: float, by: float) -> tuple[list[float], list[float]]:
    """Run a parallel self join over a drifting stream; return the rates over time, and the busiest sub-index's shares of T_I.

    Phases are 3, 10 and 3 windows long and m is 1, as in the paper; a rate and a share are of a quarter of a window.
    """
    w = 1 << max(8, top(scale) - 1)
    keys = drifting(3 * w, 10 * w, by, seed=9)
    band = band_for(keys[: 3 * w], w)
    runner, step = Threads(cores(), 16), w // 4
    join = WordJoin(1, w, runner, Settings(merge_ratio=1.0, batch=step, output=1 << 20), cores())
    zeros, rates, taken = np.zeros(step, np.int64), [], []
    for start in range(0, len(keys), step):
        part = keys[start : start + step]
        arrivals = FedTuples(zeros, part, part - band, part + band, zeros, zeros)
        began = time.perf_counter()
        for _ in join.feed(arrivals):
            pass
        rates.append(step / (time.perf_counter() - began) / 1e6)
        taken.append(_busiest(join, w // 2))
    runner.close()
    return rates, taken


def _busiest(join: WordJoin, enough: int) -> float:
    """Return the share of T_I that its fullest sub-index holds; NaN while it holds too little to tell."""
    m, f = join.shared.m, join.shared.forest
    plot = int(m[PLOT])
    first = plot * int(m[TREES])
    sizes = [f.count(first + i) for i in range(trees.nodes_at(join.shared.css, plot, join.settings.depth))]
    return max(sizes) / sum(sizes) if sum(sizes) > enough else float("nan")


def _phases(values: list[float]) -> tuple[list[float], list[float], list[float]]:
    """Return what was seen before the drift, during it, and after the first merge that follows it."""
    n = len(values)
    return values[4 : n * 3 // 16], values[n * 5 // 16 : n * 13 // 16], values[n * 14 // 16 :]


def shares(scale: float) -> Figure:
    """Figure 13b."""
    rows = []
    for by in SHIFTS:
        found = [part for part in _phases(_drift(scale, by)[1])[1] if not math.isnan(part)]
        rows.append((by, float(np.mean(found))))
    return Figure(
        "13b", "Share of T_I that the busiest sub-index holds while values drift",
        "At r = 1 one sub-index takes 77 % of the inserts; without drift they are even.",
        ("r", "busiest sub-index"), tuple(rows), rows[-1][1] > 2 * rows[0][1],
        f"{rows[0][1]:.1%} without drift, {rows[-1][1]:.0%} at r = 1.", ("002-25", "002-34", "002-41"), "share",
    )  # fmt: skip


def over_time(scale: float) -> Figure:
    """Figure 13c."""
    rates = {by: _drift(scale, by)[0] for by in SHOWN}
    rows = tuple((i / 4, *(rates[by][i] for by in rates)) for i in range(4, len(rates[0.0])))
    before, during, after = (float(np.median(part)) for part in _phases(rates[1.0]))
    slow = float(np.median(_phases(rates[0.2])[1]) / np.median(_phases(rates[0.2])[0]))
    return Figure(
        "13c", f"Throughput over time while values drift, {cores()} threads",
        "A slow drift (r = 0.2) costs nothing; at r = 1 sixteen threads lose 84 % to one lock; with the first merge after the "
        "drift throughput recovers.",
        ("windows fed", *(f"r = {by}" for by in rates)), rows, slow > 0.85 and during < before and after > 0.85 * before,
        f"At r = 1: {before:.2f} before, {during:.2f} during, {after:.2f} M/s after the drift; at r = 0.2 {slow:.2f} of the rate "
        f"before it. {cores()} threads seldom wait for one lock.",
        ("002-25", "002-33", "002-34", "002-41"), "million tuples/s",
    )  # fmt: skip


FIGURES: dict[str, Callable[[float], Figure]] = {"11c": memory, "13a": distributions, "13b": shares, "13c": over_time}
