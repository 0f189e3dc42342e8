"""Decimal arithmetic with Spark's result types.

Everything is computed exactly in 256 bits and then rounded once, half up, to the type Spark would give: Arrow's own
decimal kernels have other result types, truncate quotients, and turn decimals into doubles with an error of one ulp.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from weft.local.expr.frame import Failed, Value
from weft.local.expr.spark_types import bounded, decimal_of

__all__ = ["add", "divide", "fit", "modulo", "multiply", "subtract", "to_double", "widen"]

_HALF_UP = "half_towards_infinity"


def widen(value: Value, room: int = 0) -> Value:
    """Return the value as a 256-bit decimal, integers too, with `room` more digits before the point."""
    precision, scale = decimal_of(value.type)
    if not pt.is_decimal(value.type):
        value = value.cast(pa.decimal256(20, 0))
    return value.cast(pa.decimal256(min(precision + room, 76), scale))


def fit(value: Value, target: pa.DataType, *, null: bool = False) -> Value:
    """Round half up to the scale of `target`; what has too many digits fails, or becomes NULL."""
    if value.type == target:
        return value
    value = widen(value, room=1)
    if value.type.scale > target.scale:
        value = pc.round(value, target.scale, _HALF_UP)
    if null:
        wide = pa.decimal256(76, value.type.scale)
        limit = pa.scalar(Decimal(10) ** (target.precision - target.scale), wide)
        value = pc.if_else(pc.less(pc.abs(value.cast(wide)), limit), value, pa.scalar(None, value.type))
    return value.cast(target)


def to_double(value: Value) -> Value:
    """Return the nearest double: text is parsed correctly rounded, which Arrow's direct cast is not."""
    return value.cast(pa.string()).cast(pa.float64())


def add(a: Value, b: Value) -> Value:
    """Return `a + b`."""
    return fit(pc.add(widen(a), widen(b)), _sum_type(a, b))


def subtract(a: Value, b: Value) -> Value:
    """Return `a - b`."""
    return fit(pc.subtract(widen(a), widen(b)), _sum_type(a, b))


def multiply(a: Value, b: Value) -> Value:
    """Return `a * b`."""
    (p1, s1), (p2, s2) = decimal_of(a.type), decimal_of(b.type)
    return fit(pc.multiply(widen(a), widen(b)), bounded(p1 + p2 + 1, s1 + s2))


def divide(a: Value, b: Value) -> Value:
    """Return `a / b`, rounded half up: one digit more than wanted is computed, then rounded away."""
    (p1, s1), (p2, s2) = decimal_of(a.type), decimal_of(b.type)
    scale = max(6, s1 + p2 + 1)
    target = bounded(p1 - s1 + s2 + scale, scale)
    more = max(0, target.scale - (s1 + p2 - s2))  # Arrow's quotient has a scale of s1 + p2 - s2 + 1
    left = widen(a).cast(pa.decimal256(p1 + more, s1 + more))
    _refuse_zero(a, b)
    return fit(pc.divide(left, widen(b)), target)


def modulo(a: Value, b: Value) -> Value:
    """Return the remainder, with the sign of `a`."""
    (p1, s1), (p2, s2) = decimal_of(a.type), decimal_of(b.type)
    scale = max(s1, s2)
    _refuse_zero(a, b)
    whole = pc.trunc(pc.divide(widen(a), widen(b)))
    whole = whole.cast(pa.decimal256(min(p1 + s2 + 1, 76 - p2 - 1), 0))
    rest = pc.subtract(widen(a), pc.multiply(whole, widen(b)))
    return fit(rest, bounded(min(p1 - s1, p2 - s2) + scale, scale))


def _sum_type(a: Value, b: Value) -> pa.DataType:
    (p1, s1), (p2, s2) = decimal_of(a.type), decimal_of(b.type)
    scale = max(s1, s2)
    return bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)


def _refuse_zero(a: Value, b: Value) -> None:
    zero = pc.and_(pc.equal(widen(b), pa.scalar(Decimal(0), pa.decimal256(1, 0))), pc.is_valid(a))
    if pc.any(zero).as_py():
        raise Failed("divides by zero", "Spark (ANSI) fails here too.", "guard it: IF(x = 0, NULL, y / x).")
