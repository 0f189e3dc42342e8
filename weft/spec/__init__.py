"""WHAT joins: predicate, window, join spec; frozen data that refuses nonsense."""

from __future__ import annotations

from weft.spec.disorder import TimeOrder, lags_of, reach_of, with_delays
from weft.spec.join_spec import JoinSpec, SideSpec, build_spec, read_self_join
from weft.spec.kinds import INNER, KINDS, Kind, kind_named
from weft.spec.terms import Access, Compare, Condition, Encode, Key, Op, Term
from weft.spec.window import (
    Delays,
    Last,
    Tumbling,
    TumblingRows,
    Unbounded,
    Unit,
    Window,
    Within,
    last,
    tumbling,
    tumbling_rows,
    unbounded,
    unit_hint,
    unit_shown,
    window_column,
    within,
)

__all__ = [
    "INNER", "KINDS", "Access", "Compare", "Condition", "Delays", "Encode", "JoinSpec", "Key", "Kind", "Last", "Op",
    "SideSpec", "Term", "TimeOrder", "Tumbling", "TumblingRows", "Unbounded", "Unit", "Window", "Within", "build_spec",
    "kind_named", "lags_of", "last", "reach_of", "read_self_join", "tumbling", "tumbling_rows", "unbounded", "unit_hint",
    "unit_shown", "window_column", "with_delays", "within",
]  # fmt: skip
