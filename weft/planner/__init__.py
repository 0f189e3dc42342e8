"""Deciding: the one `choose()`, and saying why."""

from __future__ import annotations

from weft.planner.asof import explain_asof, explain_asof_table
from weft.planner.choose import Choice, Thresholds, check_switch, check_tasks, choose
from weft.planner.costs import MATCH_RATE, TYPICAL, TwoPredicates, show_ratio, two_predicates
from weft.planner.draw import area_cells, draw, draw_svg
from weft.planner.explain import Explanation, explain_join, explain_table

__all__ = [
    "MATCH_RATE", "TYPICAL", "Choice", "Explanation", "Thresholds", "TwoPredicates", "area_cells", "check_switch",
    "check_tasks", "choose", "draw", "draw_svg", "explain_asof", "explain_asof_table", "explain_join", "explain_table",
    "show_ratio", "two_predicates",
]  # fmt: skip
