"""Tree indexes that are asked for: the cost model of the PIM-Tree paper chooses their merge ratio and says what a tuple costs.

The model counts the rows of a window. A count window tells them; for any other a window of `TYPICAL` rows stands in.
"""

from __future__ import annotations

from fractions import Fraction

from weft.index import TreeSet, named_index, show_name
from weft.index.trees import Cost, Workload, best_ratio
from weft.routing import Plan
from weft.spec import JoinSpec, Last

__all__ = ["TYPICAL", "predicted", "settled", "show_ratio"]

TYPICAL = 1 << 20
"""Rows of a window that does not tell."""
MATCH_RATE = 2.0
"""Partners per tuple, as in the paper (002-26); no one knows them before the join runs."""


def settled(spec: JoinSpec, plan: Plan, index: str) -> tuple[str, str]:
    """Return the index with all that matters said, and why: a merge ratio that was left open is chosen."""
    kind, settings = named_index(index)
    if not issubclass(kind, TreeSet) or not kind.merges or "merge_ratio" in settings:
        return show_name(kind.name, settings), "as requested"
    load = Workload(_rows(spec, plan), MATCH_RATE)
    if kind.predict(load, settings) is None:
        return show_name(kind.name, settings), "as requested"

    def cost(ratio: float) -> Cost:
        found = kind.predict(load, {**settings, "merge_ratio": ratio})
        assert found is not None
        return found

    ratio = best_ratio(cost)
    why = f"as requested; merge ratio {show_ratio(ratio)}, the cheapest by the cost model"
    return show_name(kind.name, {**settings, "merge_ratio": ratio}), why


def predicted(spec: JoinSpec, plan: Plan, index: str) -> str:
    """Say what a tuple will cost in a tree; nothing for other indexes."""
    kind, settings = named_index(index)
    rows = _rows(spec, plan)
    cost = kind.predict(Workload(rows, MATCH_RATE), settings) if issubclass(kind, TreeSet) else None
    if cost is None:
        return ""
    last = "merging" if issubclass(kind, TreeSet) and kind.merges else "deleting"
    steps = (("searching", cost.search), ("scanning", cost.scan), (last, cost.delete), ("inserting", cost.insert))
    told = ", ".join(f"{step} {spent:.0f}" for step, spent in steps if spent)
    guess = "" if isinstance(spec.window, Last) else " (a guess: the window has no row count)"
    return (
        f"{cost.total:,.0f} ns per tuple ({told}), one tuple at a time, with {rows:,} rows per side and task{guess} and "
        f"{MATCH_RATE:g} matches per tuple"
    )


def show_ratio(ratio: float) -> str:
    """Write a ratio as people do.

    >>> show_ratio(0.125), show_ratio(1.0), show_ratio(0.3)
    ('1/8', '1', '0.3')
    """
    plain = Fraction(ratio)
    return str(plain) if plain.denominator <= 1024 else f"{ratio:g}"


def _rows(spec: JoinSpec, plan: Plan) -> int:
    window = spec.window.n if isinstance(spec.window, Last) else TYPICAL
    return max(1, round(window * max(plan.copies()) / plan.tasks))
