"""Deciding: the one `choose()`, and saying why."""

from __future__ import annotations

from weft.control.choose import Choice, Limits, check_switch, check_tasks, choose
from weft.control.draw import draw, draw_svg
from weft.control.explain import Explanation, explain_join
from weft.control.two_predicates import TwoPredicates, two_predicates

__all__ = [
    "Choice", "Explanation", "Limits", "TwoPredicates", "check_switch", "check_tasks", "choose", "draw", "draw_svg",
    "explain_join", "two_predicates",
]  # fmt: skip
