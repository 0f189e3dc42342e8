"""Conditions as Spark decides them: comparison, three-valued logic, NULL tests and branches.

NaN equals NaN and is greater than everything, -0.0 = 0.0, NULL gives NULL.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr.cast import cast
from weft.local.expr.frame import ExprFrame, Handler, Unfit, Value
from weft.local.expr.spark_types import common, spark_name

__all__ = ["HANDLERS", "NAMED", "equal", "less", "truth", "unify"]


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


def _pair(node: exp.Binary, frame: ExprFrame) -> tuple[Value, Value]:
    a, b = unify([frame.value(node.left), frame.value(node.right)])
    if pt.is_nested(a.type):
        raise _incomparable(a.type, b.type)
    if pt.is_null(a.type):
        a, b = cast(a, pa.bool_()), cast(b, pa.bool_())
    return a, b


def _eq(node: exp.EQ, frame: ExprFrame) -> Value:
    return equal(*_pair(node, frame))


def _neq(node: exp.NEQ, frame: ExprFrame) -> Value:
    return pc.invert(equal(*_pair(node, frame)))


def _lt(node: exp.LT, frame: ExprFrame) -> Value:
    return less(*_pair(node, frame))


def _gt(node: exp.GT, frame: ExprFrame) -> Value:
    a, b = _pair(node, frame)
    return less(b, a)


def _lte(node: exp.LTE, frame: ExprFrame) -> Value:
    a, b = _pair(node, frame)
    return pc.invert(less(b, a))


def _gte(node: exp.GTE, frame: ExprFrame) -> Value:
    return pc.invert(less(*_pair(node, frame)))


def _null_safe(node: exp.Binary, frame: ExprFrame) -> Value:
    a, b = _pair(node, frame)
    return pc.coalesce(equal(a, b), pc.and_(pc.is_null(a), pc.is_null(b)))


def _distinct(node: exp.NullSafeNEQ, frame: ExprFrame) -> Value:
    return pc.invert(_null_safe(node, frame))


def _between(node: exp.Between, frame: ExprFrame) -> Value:
    low = frame.value(exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()))
    return pc.and_kleene(low, frame.value(exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())))


def _in(node: exp.In, frame: ExprFrame) -> Value:
    if not node.expressions:
        raise Unfit("is not a list of values", "IN takes a list.", "write x IN (1, 2, 3).")
    value, *choices = unify([frame.value(part) for part in (node.this, *node.expressions)])
    return reduce(pc.or_kleene, [equal(value, choice) for choice in choices])


def _extreme(node: exp.Greatest | exp.Least, frame: ExprFrame) -> Value:
    """Skip NULL, as Spark does: the result is NULL only if all values are."""
    values = unify([frame.value(part) for part in (node.this, *node.expressions)])
    best = values[0]
    for value in values[1:]:
        better = less(best, value) if isinstance(node, exp.Greatest) else less(value, best)
        best = pc.coalesce(pc.if_else(better, value, best), best, value)
    return best


def truth(value: Value) -> Value:
    """Return the value as BOOLEAN; anything else is not a condition."""
    if pt.is_null(value.type):
        return value.cast(pa.bool_())
    if not pt.is_boolean(value.type):
        raise Unfit(
            f"takes conditions, not {spark_name(value.type)}",
            "AND, OR, NOT, IF and CASE WHEN take BOOLEAN.",
            "compare it: x > 0.",
        )
    return value


def _and(node: exp.And, frame: ExprFrame) -> Value:
    left = truth(frame.value(node.left))
    open_rows = pc.invert(pc.equal(pc.fill_null(left, True), pa.scalar(False)))
    return pc.and_kleene(left, truth(frame.branch(node.right, open_rows)))


def _or(node: exp.Or, frame: ExprFrame) -> Value:
    left = truth(frame.value(node.left))
    return pc.or_kleene(left, truth(frame.branch(node.right, pc.invert(pc.fill_null(left, False)))))


def _not(node: exp.Not, frame: ExprFrame) -> Value:
    return pc.invert(truth(frame.value(node.this)))


def _is(node: exp.Is, frame: ExprFrame) -> Value:
    value = frame.value(node.this)
    if isinstance(node.expression, exp.Null):
        return pc.is_null(value)
    wanted = pa.scalar(bool(node.expression.this))
    return pc.fill_null(pc.equal(truth(value), wanted), False)


def _is_null(node: exp.Anonymous, frame: ExprFrame) -> Value:
    return pc.is_null(frame.value(node.expressions[0]))


def _is_not_null(node: exp.Anonymous, frame: ExprFrame) -> Value:
    return pc.is_valid(frame.value(node.expressions[0]))


def _choose(whens: list[tuple[exp.Expr, exp.Expr]], default: exp.Expr, frame: ExprFrame) -> Value:
    """Take the first branch whose condition is true; later ones are not needed for its rows."""
    rest: Value = pa.scalar(True)
    hits: list[Value] = []
    values: list[Value] = []
    for condition, result in whens:
        hit = pc.and_(rest, pc.fill_null(truth(frame.branch(condition, rest)), False))
        values.append(frame.branch(result, hit))
        rest = pc.and_(rest, pc.invert(hit))
        hits.append(hit)
    *values, answer = unify([*values, frame.branch(default, rest)])
    for hit, value in reversed(list(zip(hits, values, strict=True))):
        answer = pc.if_else(hit, value, answer)
    return answer


def _if(node: exp.If, frame: ExprFrame) -> Value:
    return _choose([(node.this, node.args["true"])], node.args.get("false") or exp.Null(), frame)


def _case(node: exp.Case, frame: ExprFrame) -> Value:
    def condition(test: exp.Expr) -> exp.Expr:
        return exp.EQ(this=node.this.copy(), expression=test.copy()) if node.this else test

    whens = [(condition(part.this), part.args["true"]) for part in node.args["ifs"]]
    return _choose(whens, node.args.get("default") or exp.Null(), frame)


def _coalesce(node: exp.Coalesce, frame: ExprFrame) -> Value:
    first = frame.value(node.this)
    missing, values = pc.is_null(first), [first]
    for part in node.expressions:
        value = frame.branch(part, missing)
        missing = pc.and_(missing, pc.is_null(value))
        values.append(value)
    return pc.coalesce(*unify(values))


def _nullif(node: exp.Nullif, frame: ExprFrame) -> Value:
    value = frame.value(node.this)
    same = pc.fill_null(equal(*unify([value, frame.value(node.expression)])), False)
    return pc.if_else(same, pa.scalar(None, value.type), value)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.And: _and, exp.Or: _or, exp.Not: _not, exp.Is: _is, exp.If: _if, exp.Case: _case, exp.Coalesce: _coalesce,
    exp.Nullif: _nullif, exp.EQ: _eq, exp.NEQ: _neq, exp.LT: _lt, exp.LTE: _lte, exp.GT: _gt, exp.GTE: _gte,
    exp.NullSafeEQ: _null_safe, exp.NullSafeNEQ: _distinct, exp.Between: _between, exp.In: _in, exp.Greatest: _extreme,
    exp.Least: _extreme,
}  # fmt: skip

NAMED: dict[str, Handler] = {"isnull": _is_null, "isnotnull": _is_not_null}
