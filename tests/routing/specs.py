"""A few joins to route."""

from __future__ import annotations

from weft.spec import Compare, Condition, JoinSpec, Key, Op, Window, build_spec, last, tumbling, unbounded, within

A, B = Key("a"), Key("b")


def spec_of(*compares: Compare, window: Window | None = None) -> JoinSpec:
    return build_spec(Condition("test", compares), window or unbounded())


EQUAL = spec_of(Compare(A, Op.EQ, A))
TWO = spec_of(Compare(A, Op.EQ, A), Compare(B, Op.EQ, B))
LESS = spec_of(Compare(A, Op.LT, A))
TUMBLING = spec_of(Compare(A, Op.EQ, A), window=tumbling(10, on="t", delay=0))
TWO_TUMBLING = spec_of(Compare(A, Op.EQ, A), Compare(B, Op.EQ, B), window=tumbling(10, on="t", delay=0))
WITHIN = spec_of(Compare(A, Op.EQ, A), window=within(40, on="t", delay=0))
LAST = spec_of(Compare(A, Op.EQ, A), window=last(40))
