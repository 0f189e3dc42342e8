"""Figures of memory and of the keys' distribution: 11c, 13a, 13b and 13c."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from weft.bench.paper.figure import Figure
from weft.bench.paper.pim.joins import FAN, LEAF, merged, parallel
from weft.bench.paper.pim.many_threads import cores
from weft.bench.paper.pim.sizes import stream, top, windows
from weft.bench.paper.pim.streams import DISTRIBUTIONS, band_for, drifting
from weft.index import BPlusTree, Layout, PimTree, TreeSet
from weft.kernels import trees
from weft.kernels.trees import single
from weft.types import Block, Words

__all__ = ["FIGURES"]

SHIFTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


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
        pim = _slide(PimTree(Layout(key=0), 1, small=64), keys, 1 << exponent)
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
    """Run a self join over a drifting stream; return the rate over time, and the busiest sub-index's share per merge.

    Phases are 3, 10 and 3 windows long, as in the paper.
    """
    exponent = max(8, top(scale) - 3)
    w = 1 << exponent
    keys = drifting(3 * w, 10 * w, by, seed=9)
    band = band_for(keys[: 3 * w], w)
    depth, limit = 1, w
    most = FAN
    c = trees.css_room(w + limit + 8, LEAF, FAN, plots=2)
    f = trees.forest_of(most, limit + 8, LEAF, FAN, linked=True, plots=2)
    trees.clear(f, 0, 0, 1, True)
    state = np.zeros(4, np.int64)
    rates, shares = [], []
    step = w // 4
    for start in range(0, len(keys), step):
        began = time.perf_counter()
        single.join_merged(f, c, keys, start, start + step, 1, w, band, most, depth, limit, state)
        rates.append(step / (time.perf_counter() - began) / 1e6)
        first = int(state[0]) * most
        sizes = np.array([f.count(first + i) for i in range(trees.nodes_at(c, int(state[0]), depth))])
        if sizes.sum() > w // 2:
            shares.append(float(sizes.max() / sizes.sum()))
    return rates, shares


def shares(scale: float) -> Figure:
    """Figure 13b."""
    rows = []
    for by in SHIFTS:
        found = _drift(scale, by)[1]
        rows.append((by, float(np.mean(found[len(found) // 4 : -len(found) // 4]))))
    return Figure(
        "13b", "Share of the inserts that the busiest sub-index takes, while values drift",
        "At r = 1 one sub-index takes 77 % of the inserts; without drift they are even.",
        ("r", "busiest sub-index"), tuple(rows), rows[-1][1] > 2 * rows[0][1],
        f"{rows[0][1]:.0%} without drift, {rows[-1][1]:.0%} at r = 1.", ("002-25", "002-34", "002-41"), "share",
    )  # fmt: skip


def over_time(scale: float) -> Figure:
    """Figure 13c."""
    rates = {by: _drift(scale, by)[0] for by in (0.0, 0.4, 1.0)}
    count = len(rates[0.0])
    rows = tuple((i / 4, *(rates[by][i] for by in rates)) for i in range(4, count))
    fast, last = rates[1.0], count * 13 // 16 + 4
    during, after = float(np.median(fast[count * 5 // 16 : count * 13 // 16])), float(np.median(fast[last:]))
    before = float(np.median(fast[4 : count * 3 // 16]))
    return Figure(
        "13c", "Throughput over time while values drift, one thread",
        "With 16 threads a fast drift costs up to 84 % (locks); throughput recovers with the first merge after it ends.",
        ("windows fed", *(f"r = {by}" for by in rates)), rows, after > 0.7 * before,
        f"At r = 1: {before:.2f} before, {during:.2f} during, {after:.2f} M/s after. One thread does not wait for locks.",
        ("002-25", "002-33", "002-34", "002-41"), "million tuples/s",
    )  # fmt: skip


FIGURES: dict[str, Callable[[float], Figure]] = {"11c": memory, "13a": distributions, "13b": shares, "13c": over_time}
