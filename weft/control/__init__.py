"""Deciding: the one `choose()`, and saying why."""

from __future__ import annotations

from weft.control.choose import Choice, Limits, choose
from weft.control.draw import draw, draw_svg
from weft.control.explain import Explanation, explain_join

__all__ = ["Choice", "Explanation", "Limits", "choose", "draw", "draw_svg", "explain_join"]
