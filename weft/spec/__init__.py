"""WHAT joins: predicate, window, join spec; frozen data that refuses nonsense."""

from __future__ import annotations

from weft.spec.condition import Compare, Condition, Encode, Key
from weft.spec.join import JoinSpec, SideSpec, build_spec, read_self_join
from weft.spec.terms import Access, Op, Term
from weft.spec.window import (
    Last,
    Tumbling,
    TumblingRows,
    Unbounded,
    Window,
    Within,
    last,
    tumbling,
    tumbling_rows,
    unbounded,
    unit_hint,
    within,
)

__all__ = [
    "Access", "Compare", "Condition", "Encode", "JoinSpec", "Key", "Last", "Op", "SideSpec", "Term", "Tumbling",
    "TumblingRows", "Unbounded", "Window", "Within", "build_spec", "last", "read_self_join", "tumbling", "tumbling_rows",
    "unbounded", "unit_hint", "within",
]  # fmt: skip
