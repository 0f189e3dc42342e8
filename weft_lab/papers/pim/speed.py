"""Figures of our own: trees and runs in micro-batches, how near the cost model comes, and the speeds this library sets itself."""

from __future__ import annotations

from collections.abc import Callable

from weft.index import TreeSet, index_named
from weft.index.trees.cost_model import Cost, Workload, best_ratio
from weft.planner.costs import show_ratio
from weft_lab.bench.kernel import measure
from weft_lab.papers.figure import Figure
from weft_lab.papers.pim.joins import bplus, chain, merged, parallel
from weft_lab.papers.pim.sizes import stream, top

__all__ = ["FIGURES"]

RATE = "million tuples/s"
RATIOS = (2.0**-6, 2.0**-5, 2.0**-4, 2.0**-3, 2.0**-2, 2.0**-1, 1.0)


def _cost(index: str, w: int, ratio: float) -> Cost:
    """Return what the model expects a tuple to cost."""
    kind = index_named(index)
    found = kind.predict(Workload(w), {"merge_ratio": ratio}) if issubclass(kind, TreeSet) else None
    assert found is not None, index
    return found


def _predicted(index: str, w: int, ratio: float = 1.0) -> float:
    return _cost(index, w, ratio).total


def _cheapest(index: str, w: int) -> float:
    return best_ratio(lambda ratio: _cost(index, w, ratio))


def speed(scale: float) -> Figure:
    """Every join in question. The window is four times that of the other figures."""
    exponent = top(4 * scale)
    keys, band = stream(exponent)
    w = 1 << exponent
    ratio = _cheapest("pim-tree", w)
    found = {
        "B+-tree": bplus(keys, w, band),
        "PIM-Tree": merged(keys, w, band, 1, ratio),
        "parallel, 1 thread": parallel(keys, w, band, 1)[0],
        "parallel, 2 threads": parallel(keys, w, band, 2)[0],
    }
    tree, pim, one, two = found.values()
    return Figure(
        "speed", f"Tuple at a time, w = 2^{exponent}, two partners each",
        "The B+-tree does 0.3 million tuples/s or more, the PIM-Tree 1.4 x as many, two threads 1.5 x as many as one.",
        ("join", "rate"), tuple(found.items()), tree >= 0.3 and pim >= 1.4 * tree and two >= 1.5 * one,
        f"B+-tree {tree:.2f} M/s; PIM-Tree (m = {show_ratio(ratio)}) {pim / tree:.2f} x; two threads {two / one:.2f} x one, and "
        f"{two / pim:.2f} x the PIM-Tree that shares with nobody.",
        ("002-34", "002-38", "002-39"), RATE,
    )  # fmt: skip


def cost(scale: float) -> Figure:
    """Predicted against measured nanoseconds per tuple."""
    exponent = top(4 * scale)
    keys, band = stream(exponent)
    w = 1 << exponent
    rows = [
        ("B+-tree", _predicted("bplustree", w), 1e3 / bplus(keys, w, band)),
        ("B-chain, L = 2", _predicted("chained", w), 1e3 / chain(keys, w, band, 2, False)),
        ("IM-Tree, m = 1/8", _predicted("im-tree", w, 0.125), 1e3 / merged(keys, w, band, 0, 0.125)),
    ]
    measured = {}
    for ratio in RATIOS:
        measured[ratio] = 1e3 / merged(keys, w, band, 1, ratio)
        rows.append((f"PIM-Tree, m = {show_ratio(ratio)}", _predicted("pim-tree", w, ratio), measured[ratio]))
    chosen = _cheapest("pim-tree", w)
    worst = max(max(found / wanted, wanted / found) for _, wanted, found in rows)
    loss = measured.get(chosen, max(measured.values())) / min(measured.values())
    return Figure(
        "cost", f"The cost model, w = 2^{exponent}, one thread",
        "The model of sections 2 and 3 tells what a tuple costs, and so which merge ratio to take.",
        ("index", "predicted", "measured"), tuple(rows), worst < 1.6 and loss < 1.25,
        f"At most {worst:.2f} x off; the ratio it chooses, {show_ratio(chosen)}, costs {loss:.2f} x the best one.",
        ("002-07", "002-12", "002-27"), "ns per tuple",
    )  # fmt: skip


def batches(scale: float) -> Figure:
    """Every index of this paper behind the index protocol, and the default, fed in batches of a sixteenth of the window."""
    log_window = top(scale)
    names = ("runs", "bplustree", "chained", "css-tree", "im-tree", "pim-tree", "round-robin")
    rows: list[tuple[str, float, float]] = []
    for name in names:
        ratio = f"(merge_ratio={_cheapest(name, 1 << log_window)})" if name in ("im-tree", "pim-tree") else ""
        kept, restored = (
            measure(log_window, log_window - 4, 0.2, name + ratio, restored=restored)[0] for restored in (False, True)
        )
        rows.append((name, kept, restored))
    (_, kept, restored), *trees = rows
    over = min(kept / rate for _, rate, _ in trees), min(restored / rate for _, _, rate in trees)
    return Figure(
        "batches", f"Micro-batches of 2^{log_window - 4}, w = 2^{log_window}",
        "Sorted runs, the paper's merge rule without its trees, serve micro-batches better than any tree: the default index.",
        ("index", "kept in memory", "restored for each batch"), tuple(rows), min(over) > 1,
        f"Runs do {over[0]:.1f} x the best tree's rate when the index stays in memory, {over[1]:.1f} x when each batch "
        "restores it from its runs, as the runtimes do.",
        ("002-10", "002-34"), RATE,
    )  # fmt: skip


FIGURES: dict[str, Callable[[float], Figure]] = {"batches": batches, "cost": cost, "speed": speed}
