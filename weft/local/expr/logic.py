"""Three-valued logic, NULL tests and branches."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr.compare import equal, unify
from weft.local.expr.frame import Frame, Handler, Unfit, Value
from weft.local.expr.types import spark_name

__all__ = ["HANDLERS", "NAMED", "truth"]


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


def _and(node: exp.And, frame: Frame) -> Value:
    left = truth(frame.value(node.left))
    open_rows = pc.invert(pc.equal(pc.fill_null(left, True), pa.scalar(False)))
    return pc.and_kleene(left, truth(frame.branch(node.right, open_rows)))


def _or(node: exp.Or, frame: Frame) -> Value:
    left = truth(frame.value(node.left))
    return pc.or_kleene(left, truth(frame.branch(node.right, pc.invert(pc.fill_null(left, False)))))


def _not(node: exp.Not, frame: Frame) -> Value:
    return pc.invert(truth(frame.value(node.this)))


def _is(node: exp.Is, frame: Frame) -> Value:
    value = frame.value(node.this)
    if isinstance(node.expression, exp.Null):
        return pc.is_null(value)
    wanted = pa.scalar(bool(node.expression.this))
    return pc.fill_null(pc.equal(truth(value), wanted), False)


def _is_null(node: exp.Anonymous, frame: Frame) -> Value:
    return pc.is_null(frame.value(node.expressions[0]))


def _is_not_null(node: exp.Anonymous, frame: Frame) -> Value:
    return pc.is_valid(frame.value(node.expressions[0]))


def _choose(whens: list[tuple[exp.Expr, exp.Expr]], default: exp.Expr, frame: Frame) -> Value:
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


def _if(node: exp.If, frame: Frame) -> Value:
    return _choose([(node.this, node.args["true"])], node.args.get("false") or exp.Null(), frame)


def _case(node: exp.Case, frame: Frame) -> Value:
    def condition(test: exp.Expr) -> exp.Expr:
        return exp.EQ(this=node.this.copy(), expression=test.copy()) if node.this else test

    whens = [(condition(part.this), part.args["true"]) for part in node.args["ifs"]]
    return _choose(whens, node.args.get("default") or exp.Null(), frame)


def _coalesce(node: exp.Coalesce, frame: Frame) -> Value:
    first = frame.value(node.this)
    missing, values = pc.is_null(first), [first]
    for part in node.expressions:
        value = frame.branch(part, missing)
        missing = pc.and_(missing, pc.is_null(value))
        values.append(value)
    return pc.coalesce(*unify(values))


def _nullif(node: exp.Nullif, frame: Frame) -> Value:
    value = frame.value(node.this)
    same = pc.fill_null(equal(*unify([value, frame.value(node.expression)])), False)
    return pc.if_else(same, pa.scalar(None, value.type), value)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.And: _and, exp.Or: _or, exp.Not: _not, exp.Is: _is, exp.If: _if, exp.Case: _case, exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
}  # fmt: skip

NAMED: dict[str, Handler] = {"isnull": _is_null, "isnotnull": _is_not_null}
