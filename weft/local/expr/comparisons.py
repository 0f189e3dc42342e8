"""One conjunct as a comparison that an index can serve: what of both sides it compares, in which type, within which limits.

Types are asked of the caller: the local runtime knows them from its own evaluation, a Spark Connect session from the server.
An expression whose type nobody knows (None) is left to the residual.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr.bands import band_limits
from weft.local.expr.spark_types import INT_DIGITS, common, is_text, spark_name
from weft.spec.parse import conjuncts, references
from weft.spec.terms import Encode, Op

__all__ = ["Comparison", "comparison", "in_type", "left_and_right", "spread"]

_OPS: dict[type[exp.Expr], Op] = {
    exp.LT: Op.LT, exp.LTE: Op.LE, exp.GT: Op.GT, exp.GTE: Op.GE, exp.EQ: Op.EQ, exp.NEQ: Op.NE,
}  # fmt: skip
_FLIPPED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
}  # fmt: skip
_OPPOSITE: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.GTE: exp.LT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
}  # fmt: skip

Types = Callable[[exp.Expr], pa.DataType | None]
Constants = Callable[[exp.Expr], Any]


@dataclass(frozen=True)
class Comparison:
    """`left OP right`, both in `kind`; for bands `lo <= left - right <= hi`. See `weft.spec.Compare`."""

    left: exp.Expr
    op: Op
    right: exp.Expr
    kind: pa.DataType
    encode: Encode = "value"
    lo: float = 0
    hi: float = 0
    weak: bool = False
    step: str = "1"


def spread(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conjuncts; BETWEEN as its two comparisons, NOT of a comparison as its opposite (NaN is ordered, so it is)."""
    for conjunct in conjuncts(tree):
        inner = conjunct.this.unnest() if isinstance(conjunct, exp.Not) else None
        if isinstance(conjunct, exp.Between) and len(references(conjunct)) > 1:
            yield exp.GTE(this=conjunct.this.copy(), expression=conjunct.args["low"].copy())
            yield exp.LTE(this=conjunct.this.copy(), expression=conjunct.args["high"].copy())
        elif inner is not None and type(inner) in _OPPOSITE:
            yield _OPPOSITE[type(inner)](this=inner.this.copy(), expression=inner.expression.copy())
        else:
            yield conjunct


def comparison(
    conjunct: exp.Expr, aliases: tuple[str, str], types: Types, constant: Constants
) -> Comparison | None:  # fmt: skip
    """Return the comparison that a conjunct is, None if only its evaluation can tell."""
    if type(conjunct) not in _OPS:
        return None
    assert isinstance(conjunct, exp.Binary)
    return _compare(conjunct, aliases, types) or _band(conjunct, aliases, types, constant)


def _compare(conjunct: exp.Binary, aliases: tuple[str, str], types: Types) -> Comparison | None:
    sides = left_and_right(conjunct.left, conjunct.right, aliases)
    if sides is None:
        return None
    swapped = sides[0] is not conjunct.left
    op = _OPS[_FLIPPED[type(conjunct)] if swapped else type(conjunct)]
    one, two = (types(side.unnest()) for side in sides)
    if one is None or two is None:
        return None
    kind = _key_type(one, two)
    encode = None if kind is None else _encode(kind, op)
    if kind is None or encode is None:
        return None
    return Comparison(sides[0], op, sides[1], kind, encode, weak=encode != "value")


def _band(
    conjunct: exp.Binary, aliases: tuple[str, str], types: Types, constant: Constants
) -> Comparison | None:  # fmt: skip
    """Match `abs(a - b) <= d` and `a - b <= d` in any order of their parts; what `a - b` is depends on the types."""
    if references(conjunct.left) and references(conjunct.right):
        return None
    turned = not references(conjunct.left)
    op = _FLIPPED[type(conjunct)] if turned else type(conjunct)
    distance, limit = (conjunct.right, conjunct.left) if turned else (conjunct.left, conjunct.right)
    distance = distance.unnest()
    absolute = isinstance(distance, exp.Abs)
    inner = distance.this.unnest() if absolute else distance
    upper = op in (exp.LT, exp.LTE)
    if op in (exp.EQ, exp.NEQ) or not isinstance(inner, (exp.Sub, exp.DateDiff)) or (absolute and not upper):
        return None
    if isinstance(inner, exp.DateDiff) and inner.args.get("unit") not in (None, exp.Var(this="DAY")):
        return None
    first, second = inner.this, inner.expression
    sides = left_and_right(first, second, aliases)
    if sides is None:
        return None
    kinds = [types(side.unnest()) for side in sides]
    bound = constant(limit)
    if kinds[0] is None or kinds[1] is None or bound is None:
        return None
    if not absolute and not upper and not isinstance(bound, (int, float, Decimal, timedelta)):
        return None
    # a - b >= d is b - a <= -d, except where NaN is above every d.
    found = band_limits(kinds[0], kinds[1], bound if upper else -bound, strict=op in (exp.LT, exp.GT))
    if found is None or (not upper and found.op is Op.FBAND):
        return None
    lo, hi = found.lo, found.hi
    if not absolute:
        straight = (sides[0] is first) == upper
        lo, hi = (-math.inf, hi) if straight else (lo, math.inf)
    return Comparison(sides[0], found.op, sides[1], found.kind, "value", lo, hi, found.weak, found.step)


def in_type(side: exp.Expr, kind: pa.DataType, types: Types) -> exp.Expr:
    """Return an expression of one side in the type in which it is compared."""
    side = side.unnest()
    if isinstance(side, exp.TsOrDsToDate) and types(side.this) == kind:
        return side.this  # DATEDIFF wraps dates in TO_DATE
    if types(side) == kind:
        return side
    return exp.Cast(this=side.copy(), to=exp.DataType.build(spark_name(kind), dialect="spark"))


def left_and_right(a: exp.Expr, b: exp.Expr, aliases: tuple[str, str]) -> tuple[exp.Expr, exp.Expr] | None:
    """Return two expressions as that of the left and that of the right side; None if each is not of one side."""
    left, right = (frozenset([alias]) for alias in aliases)
    if (references(a), references(b)) == (left, right):
        return a, b
    return (b, a) if (references(a), references(b)) == (right, left) else None


def _key_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return the type of both keys; None if no key of one word can decide."""
    kind = common(a, b)
    if pt.is_null(a) or pt.is_null(b):  # never true; what it is compared with may have no name in SQL to cast it to
        return None
    if kind is None or pt.is_duration(kind) or pt.is_nested(kind) or pt.is_decimal256(kind):
        return None
    return pa.int64() if kind in INT_DIGITS and a != b else kind


def _encode(kind: pa.DataType, op: Op) -> Encode | None:
    wide = is_text(kind) or pt.is_binary(kind) or (pt.is_decimal(kind) and kind.precision > 18)
    if not wide:
        return "value"
    if op is Op.NE:
        return None
    return "hash" if op is Op.EQ else "prefix"
