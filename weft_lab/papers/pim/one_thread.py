"""Figures of one thread: 8b, 8c, 9b, 9c, 10a, 10b and 10c."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from weft.kernels import trees
from weft_lab.kernels import tree_joins, tree_steps
from weft_lab.kernels.tree_delete import delete_all
from weft_lab.papers.figure import Figure
from weft_lab.papers.pim.joins import FAN, LEAF, bplus, chain, merged
from weft_lab.papers.pim.sizes import stream, top, windows

__all__ = ["FIGURES"]

PAPER = ("002-34", "002-36", "002-37", "002-38")

RATE = "million tuples/s"


def chains(scale: float) -> Figure:
    """Figure 8b."""
    exponent = top(scale)
    keys, band = stream(exponent)
    w = 1 << exponent
    tree = bplus(keys, w, band)
    rows = tuple(
        (length, chain(keys, w, band, length, False), chain(keys, w, band, length, True), tree)
        for length in (2, 3, 4, 6, 8)
    )
    falls = rows[-1][1] < rows[0][1] and rows[-1][2] < rows[0][2]
    gain = float(np.mean([row[2] / row[1] for row in rows]))
    return Figure(
        "8b", f"Chained index, w = 2^{exponent}",
        "Throughput falls as the chain grows, two is best, and the IB-chain is faster than the B-chain (+50 % on average).",
        ("chain length", "B-chain", "IB-chain", "B+-tree"), rows, falls and gain > 1,
        f"IB-chain over B-chain {gain:.2f} x on average; length 8 has {rows[-1][2] / rows[0][2]:.2f} of the rate of length 2.",
        ("002-04", "002-29", "002-34", "002-36"), RATE,
    )  # fmt: skip


def depths(scale: float) -> Figure:
    """Figure 8c."""
    rows = []
    for exponent in windows(scale):
        keys, band = stream(exponent)
        rows.append((exponent, *(merged(keys, 1 << exponent, band, depth, 0.125) for depth in (1, 2, 3))))
    spread = max(max(row[1:]) / min(row[1:]) for row in rows)
    return Figure(
        "8c", "Insertion depth, one thread", "With one thread the depth matters little; the deepest is not the best.",
        ("log2 w", "D_I = 1", "D_I = 2", "D_I = 3"), tuple(rows), spread < 1.5,
        f"The best depth is at most {spread:.2f} x the worst; depths beyond the tree's height are clamped (002-31).",
        ("002-28", "002-31", "002-34"), RATE,
    )  # fmt: skip


def ratios(number: str, depth: int) -> Callable[[float], Figure]:
    """Figures 9b and 9c."""
    name = "IM-Tree" if depth == 0 else "PIM-Tree"

    def measure(scale: float) -> Figure:
        small, large = windows(scale)[0], top(scale)
        rows = []
        for power in (-6, -5, -4, -3, -2, -1, 0):
            found = []
            for exponent in (small, large):
                keys, band = stream(exponent)
                found.append(merged(keys, 1 << exponent, band, depth, 2.0**power))
            rows.append((power, *found))
        best = [rows[int(np.argmax([row[c] for row in rows]))][0] for c in (1, 2)]
        low = all(rows[0][c] < max(row[c] for row in rows) for c in (1, 2))
        return Figure(
            number, f"Merge ratio, {name}, one thread",
            "Neither a very small nor a very large ratio is best: 2^-3 at 2^16, 2^-4 at 2^23.",
            ("log2 m", f"w = 2^{small}", f"w = 2^{large}"), tuple(rows), low,
            f"Best at m = 2^{best[0]} and 2^{best[1]}; m = 2^-6 is {'slower' if low else 'not slower'} than the best.",
            ("002-10", "002-27", "002-34"), RATE,
        )  # fmt: skip

    return measure


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _steps(exponent: int) -> tuple[dict[str, float], dict[str, float]]:
    """Time every step of a window's worth of tuples, in blocks of 256; return nanoseconds per tuple and step.

    Search is timed alone; scan is what searching and scanning takes more than that.
    """
    w = 1 << exponent
    block = min(256, w)
    keys, band = stream(exponent)
    f = trees.forest_of(1, 2 * (w + block), LEAF, FAN)
    zero = np.zeros(w, np.int64)
    trees.insert_all(f, zero, keys[:w], np.arange(w))
    spent = dict.fromkeys(("search", "scan", "delete", "insert", "merge"), 0.0)
    for first in range(w, 2 * w, block):
        part, rows = keys[first : first + block], np.arange(first, first + block)
        old = keys[first - w : first - w + block]
        spent["search"] += _timed(lambda: tree_steps.reach_tree(f, 0, part, band))  # noqa: B023
        spent["scan"] += _timed(lambda: tree_steps.count_tree(f, 0, part, band))  # noqa: B023
        spent["delete"] += _timed(lambda: delete_all(f, zero[:block], old, rows - w))  # noqa: B023
        spent["insert"] += _timed(lambda: trees.insert_all(f, zero[:block], part, rows))  # noqa: B023
    spent["scan"] = max(0.0, spent["scan"] - spent["search"])

    limit = w // 8
    most = max(1, min(FAN, (w + limit) // (LEAF * FAN) + 2))
    c = trees.css_room(w + limit + block, LEAF, FAN, plots=2)
    f = trees.forest_of(most, limit + block, LEAF, FAN, linked=True, plots=2)
    trees.clear(f, 0, 0, 1, True)
    state = np.zeros(4, np.int64)
    both = dict.fromkeys(spent, 0.0)
    for first in range(0, 2 * w, block):
        part, plot, counts = keys[first : first + block], int(state[0]), first >= w
        oldest = max(0, first - w)
        if counts:
            both["search"] += _timed(lambda: tree_steps.reach_merged(f, c, plot, most, 1, part, band))  # noqa: B023
            both["scan"] += _timed(lambda: tree_steps.count_merged(f, c, plot, most, 1, part, band, oldest))  # noqa: B023
        took = _timed(lambda: tree_steps.insert_merged(f, c, plot, most, 1, part, first))  # noqa: B023
        state[2] += block
        merge = 0.0
        if state[2] >= limit:
            merge = _timed(lambda: tree_joins.merge_side(f, c, 0, most, 1, oldest + block, state))  # noqa: B023
        if counts:
            both["insert"] += took
            both["merge"] += merge
    both["scan"] = max(0.0, both["scan"] - both["search"])
    return ({k: v / w * 1e9 for k, v in spent.items()}, {k: v / w * 1e9 for k, v in both.items()})


def steps(scale: float) -> Figure:
    """Figure 10a."""
    _steps(9)  # compile
    rows, share, faster = [], [], []
    for exponent in (windows(scale)[0], top(scale)):
        tree, pim = _steps(exponent)
        for name, spent in (("B+-tree", tree), ("PIM-Tree", pim)):
            rows.append(
                (f"{name} 2^{exponent}", *(spent[step] for step in ("search", "scan", "delete", "insert", "merge")))
            )
        share.append(pim["merge"] / sum(pim.values()))
        faster.append(tree["insert"] / pim["insert"])
    holds = all(one < 0.35 for one in share) and faster[-1] > 1
    return Figure(
        "10a", "What a tuple costs, step by step",
        "Merging is 7 % (2^17) and 11 % (2^23) of the total; inserts are 1.5 x and 2.6 x faster than the B+-tree's.",
        ("index and window", "search", "scan", "delete", "insert", "merge"), tuple(rows), holds,
        f"Merge shares {share[0]:.0%} and {share[1]:.0%}; inserts {faster[0]:.2f} x and {faster[1]:.2f} x faster.",
        ("002-34", "002-37"), "ns per tuple",
    )  # fmt: skip


def indexes(scale: float) -> Figure:
    """Figure 10b."""
    rows = []
    for exponent in windows(scale):
        keys, band = stream(exponent)
        w = 1 << exponent
        rows.append((exponent, bplus(keys, w, band), merged(keys, w, band, 0, 0.125), merged(keys, w, band, 1, 0.125)))
    im, pim = (float(np.mean([row[c] / row[1] for row in rows])) for c in (2, 3))
    return Figure(
        "10b", "One thread: B+-tree, IM-Tree, PIM-Tree",
        "IM-Tree is 50 % and PIM-Tree 63 % faster than the B+-tree on average.",
        ("log2 w", "B+-tree", "IM-Tree", "PIM-Tree"), tuple(rows), pim > 1 and im > 1,
        f"IM-Tree {im:.2f} x, PIM-Tree {pim:.2f} x the B+-tree, on average.", ("002-34", "002-38", "002-42"), RATE,
    )  # fmt: skip


def match_rates(scale: float) -> Figure:
    """Figure 10c."""
    exponent = top(scale)
    w = 1 << exponent
    rows = []
    for power in (-4, -2, 0, 2, 4, 6, 8):
        keys, band = stream(exponent, 2.0**power)
        rows.append((power, bplus(keys, w, band), merged(keys, w, band, 1, 0.125)))
    flat = min(row[2] for row in rows if row[0] <= 4) / max(row[2] for row in rows if row[0] <= 4)
    drop = rows[-1][2] / rows[0][2]
    return Figure(
        "10c", f"Match rate, w = 2^{exponent}", "The match rate has no effect up to 2^4; then scanning takes over.",
        ("log2 match rate", "B+-tree", "PIM-Tree"), tuple(rows), flat > 0.6 and drop < flat,
        f"Up to 2^4 the slowest has {flat:.2f} of the fastest's rate, at 2^8 {drop:.2f}.", ("002-26", "002-34", "002-38"), RATE,
    )  # fmt: skip


FIGURES: dict[str, Callable[[float], Figure]] = {
    "8b": chains, "8c": depths, "9b": ratios("9b", 0), "9c": ratios("9c", 1), "10a": steps, "10b": indexes, "10c": match_rates,
}  # fmt: skip
