"""Saying how a parallel join works: which settings hold, and what the paper's cost model expects of them (002-07)."""

from __future__ import annotations

import re

from weft.control import Explanation
from weft.control.trees import MATCH_RATE, TYPICAL, show_ratio
from weft.index.predict import predict
from weft.local.parallel_words import WordJoin
from weft.spec import JoinSpec

__all__ = ["explain_parallel"]


def explain_parallel(spec: JoinSpec, join: WordJoin) -> Explanation:
    """Explain merge ratio, insertion depth and tasks, and predict the cost of a tuple."""
    settings = join.settings
    rows = join.window or TYPICAL
    ratio = join.ratio_for(rows)
    chosen = "as asked" if settings.merge_ratio is not None else "the cheapest by the cost model"
    cost = predict("pim-tree", rows, MATCH_RATE, ratio, sides=join.sides, depth=settings.depth)
    share = "the size of the window" if ratio == 1 else f"{show_ratio(ratio)} of the window"
    window = str(spec.window)
    if (
        spec.self_join
    ):  # the window's text speaks of l and r, and is part of what names a state: only here it is reworded
        window = re.sub(r"\bl\.", "a.", re.sub(r"\br\.", "b.", window)).replace(" of the other side", "")
    guess = "" if join.window else ", a guess: the window does not tell"
    predicted = (
        f"{cost.total:,.0f} ns of work a tuple (searching {cost.search:.0f}, scanning {cost.scan:.0f}, merging "
        f"{cost.delete:.0f}, inserting {cost.insert:.0f}) without what threads cost each other, with {rows:,} rows a "
        f"window{guess}; {MATCH_RATE:g} partners each"
    )
    return Explanation(
        (
            ("join", f"{spec.condition.text}{' (self join)' if spec.self_join else ''}"),
            ("window", window),
            ("index", f"pim-tree, shared by {join.threads} thread{'s' if join.threads != 1 else ''}"),
            (
                "merge",
                f"at {share}, {chosen}; {'all wait' if settings.blocking else 'others go on'}",
            ),
            ("sub-indexes", f"one per node of T_S at depth {settings.depth}, or at its last level of inner nodes"),
            ("task", f"{settings.task} tuples"),
            ("predicted", predicted),
        )
    )
