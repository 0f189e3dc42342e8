"""Comparison as Spark defines it: NaN equals NaN and is greater than everything, -0.0 = 0.0, NULL gives NULL."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr.cast import cast
from weft.local.expr.frame import Frame, Handler, Unfit, Value
from weft.local.expr.types import common, spark_name

__all__ = ["HANDLERS", "equal", "less", "unify"]


def equal(a: Value, b: Value) -> Value:
    """Return `a = b` for values of one type."""
    same = pc.equal(a, b)
    if pt.is_floating(a.type):
        same = pc.or_kleene(same, pc.and_kleene(pc.is_nan(a), pc.is_nan(b)))
    return same


def less(a: Value, b: Value) -> Value:
    """Return `a < b` for values of one type."""
    before = pc.less(a, b)
    if pt.is_floating(a.type):
        before = pc.or_kleene(before, pc.and_kleene(pc.is_nan(b), pc.invert(pc.is_nan(a))))
    return before


def unify(values: list[Value]) -> list[Value]:
    """Cast all values to the type they have in common."""
    kinds = [value.type for value in values]
    kind = kinds[0]
    for other in kinds[1:]:
        found = common(kind, other)
        if found is None:
            raise _incomparable(kind, other)
        kind = found
    return [cast(value, kind) for value in values]


def _incomparable(a: pa.DataType, b: pa.DataType) -> Unfit:
    return Unfit(
        f"cannot be compared: {spark_name(a)} with {spark_name(b)}",
        "Numbers compare with numbers, dates with timestamps, and text with either.",
        "CAST one side to the type of the other.",
    )


def _pair(node: exp.Binary, frame: Frame) -> tuple[Value, Value]:
    a, b = unify([frame.value(node.left), frame.value(node.right)])
    if pt.is_nested(a.type):
        raise _incomparable(a.type, b.type)
    if pt.is_null(a.type):
        a, b = cast(a, pa.bool_()), cast(b, pa.bool_())
    return a, b


def _eq(node: exp.EQ, frame: Frame) -> Value:
    return equal(*_pair(node, frame))


def _neq(node: exp.NEQ, frame: Frame) -> Value:
    return pc.invert(equal(*_pair(node, frame)))


def _lt(node: exp.LT, frame: Frame) -> Value:
    return less(*_pair(node, frame))


def _gt(node: exp.GT, frame: Frame) -> Value:
    a, b = _pair(node, frame)
    return less(b, a)


def _lte(node: exp.LTE, frame: Frame) -> Value:
    a, b = _pair(node, frame)
    return pc.invert(less(b, a))


def _gte(node: exp.GTE, frame: Frame) -> Value:
    return pc.invert(less(*_pair(node, frame)))


def _null_safe(node: exp.Binary, frame: Frame) -> Value:
    a, b = _pair(node, frame)
    return pc.coalesce(equal(a, b), pc.and_(pc.is_null(a), pc.is_null(b)))


def _distinct(node: exp.NullSafeNEQ, frame: Frame) -> Value:
    return pc.invert(_null_safe(node, frame))


def _between(node: exp.Between, frame: Frame) -> Value:
    low = frame.value(exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()))
    return pc.and_kleene(low, frame.value(exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())))


def _in(node: exp.In, frame: Frame) -> Value:
    if not node.expressions:
        raise Unfit("is not a list of values", "IN takes a list.", "write x IN (1, 2, 3).")
    value, *choices = unify([frame.value(part) for part in (node.this, *node.expressions)])
    return reduce(pc.or_kleene, [equal(value, choice) for choice in choices])


def _extreme(node: exp.Greatest | exp.Least, frame: Frame) -> Value:
    """Skip NULL, as Spark does: the result is NULL only if all values are."""
    values = unify([frame.value(part) for part in (node.this, *node.expressions)])
    best = values[0]
    for value in values[1:]:
        better = less(best, value) if isinstance(node, exp.Greatest) else less(value, best)
        best = pc.coalesce(pc.if_else(better, value, best), best, value)
    return best


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.EQ: _eq, exp.NEQ: _neq, exp.LT: _lt, exp.LTE: _lte, exp.GT: _gt, exp.GTE: _gte, exp.NullSafeEQ: _null_safe,
    exp.NullSafeNEQ: _distinct, exp.Between: _between, exp.In: _in, exp.Greatest: _extreme, exp.Least: _extreme,
}  # fmt: skip
