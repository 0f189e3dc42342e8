"""Tree indexes that are asked for: the cost model of the PIM-Tree paper chooses their merge ratio and says what a tuple costs.

The model counts the rows of a window. A count window tells them; for any other a window of `TYPICAL` rows stands in.
"""

from __future__ import annotations

from fractions import Fraction

from weft.index import named_index, read_name, show_name
from weft.index.predict import MERGED, PREDICTED, best_ratio, predict
from weft.routing import Plan
from weft.spec import JoinSpec, Last

__all__ = ["TYPICAL", "predicted", "settled", "show_ratio"]

TYPICAL = 1 << 20
"""Rows of a window that does not tell."""
MATCH_RATE = 2.0
"""Partners per tuple, as in the paper (002-26); no one knows them before the join runs."""


def settled(spec: JoinSpec, plan: Plan, index: str) -> tuple[str, str]:
    """Return the index with all that matters said, and why: a merge ratio that was left open is chosen."""
    name, settings = read_name(index)
    named_index(index)  # refuses what it does not have
    if name not in MERGED or "merge_ratio" in settings:
        return show_name(name, settings), "as asked"
    ratio = best_ratio(name, _rows(spec, plan), MATCH_RATE, depth=int(settings.get("depth", 1)))
    why = f"as asked; merge ratio {show_ratio(ratio)}, the cheapest by the cost model"
    return show_name(name, {**settings, "merge_ratio": ratio}), why


def predicted(spec: JoinSpec, plan: Plan, index: str) -> str:
    """Say what a tuple will cost in a tree; nothing for other indexes."""
    name, settings = read_name(index)
    if name not in PREDICTED:
        return ""
    rows = _rows(spec, plan)
    cost = predict(
        name, rows, MATCH_RATE, settings.get("merge_ratio", 1.0), depth=int(settings.get("depth", 1)),
        length=int(settings.get("length", 2)), partitions=int(settings.get("partitions", 4)),
    )  # fmt: skip
    last = "merging" if name in MERGED else "deleting"
    steps = (("searching", cost.search), ("scanning", cost.scan), (last, cost.delete), ("inserting", cost.insert))
    told = ", ".join(f"{step} {spent:.0f}" for step, spent in steps if spent)
    guess = "" if isinstance(spec.window, Last) else ", a guess: the window does not tell"
    return (
        f"{cost.total:,.0f} ns a tuple ({told}), tuple at a time, with {rows:,} rows a side and task{guess}; "
        f"{MATCH_RATE:g} partners each"
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
