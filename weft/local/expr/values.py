"""Leaves: columns, struct fields and literals."""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.errors import UnknownColumn
from weft.local.expr.frame import Frame, Handler, Unfit, Value
from weft.local.expr.types import normal

__all__ = ["HANDLERS", "number_literal"]

_UNITS = {
    "MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000, "WEEK": 604_800_000_000,
}  # fmt: skip
_AMOUNT = re.compile(r"\s*([+-]?)\s*(\d+)(?:\.(\d{1,6}))?\s*")


def number_literal(text: str) -> Value:
    """Return a number with Spark's type for it: 7 is INT, 1.05 is DECIMAL(3, 2), 1e3 is DOUBLE.

    >>> number_literal("1.05").type
    Decimal128Type(decimal128(3, 2))
    """
    if "e" in text.lower():
        return pa.scalar(float(text), pa.float64())
    number = Decimal(text)
    digits, exponent = number.as_tuple().digits, number.as_tuple().exponent
    assert isinstance(exponent, int)
    if "." not in text and -(2**63) <= number < 2**63:
        return pa.scalar(int(number), pa.int32() if -(2**31) <= number < 2**31 else pa.int64())
    if max(len(digits), -exponent) > 38:
        raise Unfit("has too many digits", "A DECIMAL has at most 38.", f"write {text}e0 for a DOUBLE.")
    return pa.scalar(number, pa.decimal128(max(len(digits), -exponent, 1), -exponent))


def _literal(node: exp.Literal, _: Frame) -> Value:
    return pa.scalar(str(node.this), pa.string()) if node.is_string else number_literal(str(node.this))


def _boolean(node: exp.Boolean, _: Frame) -> Value:
    return pa.scalar(bool(node.this))


def _null(_node: exp.Null, _: Frame) -> Value:
    return pa.scalar(None, pa.null())


def _interval(node: exp.Interval, _: Frame) -> Value:
    """Days and smaller are a length of time; months are not, so they are left to Spark."""
    unit = str(node.unit).upper().removesuffix("S")
    amount = _AMOUNT.fullmatch(str(node.this.name)) if isinstance(node.this, exp.Literal) else None
    if unit not in _UNITS or amount is None:
        raise Unfit(
            "is not an interval that is computed locally",
            f"Units are: {', '.join(_UNITS)}; the amount is a constant.",
            "write INTERVAL 90 SECONDS; weft.join on Spark evaluates every Spark function.",
        )
    sign, whole, fraction = amount[1], int(amount[2]), (amount[3] or "").ljust(6, "0")
    micros = whole * _UNITS[unit] + int(fraction) * _UNITS[unit] // 1_000_000
    return pa.scalar(-micros if sign == "-" else micros, pa.duration("us"))


def _column(node: exp.Column, frame: Frame) -> Value:
    return frame.columns[node.table, node.name]


def _field(node: exp.Dot, frame: Frame) -> Value:
    value = frame.value(node.this)
    if not pt.is_struct(value.type):
        raise Unfit(
            "is not a struct field",
            f"The value before the dot is {value.type}.",
            "name a column or a field of a struct.",
        )
    names = [field.name for field in value.type]
    found = [index for index, name in enumerate(names) if name.lower() == node.expression.name.lower()]
    if len(found) != 1:
        raise UnknownColumn.of(
            f"The struct {node.this.sql('spark')} has {'several fields' if found else 'no field'} {node.expression.name!r}.",
            f"It has: {', '.join(names)}.",
            "field names are compared without case.",
        )
    part = pc.struct_field(value, found)
    kind = normal(part.type, frame.zone)
    return part if part.type == kind else part.cast(kind, safe=False)


def _paren(node: exp.Paren, frame: Frame) -> Value:
    return frame.value(node.this)


def _raw(node: exp.RawString, _: Frame) -> Value:
    return pa.scalar(str(node.this), pa.string())


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Literal: _literal, exp.Boolean: _boolean, exp.Null: _null, exp.Interval: _interval, exp.Column: _column,
    exp.Dot: _field, exp.Paren: _paren, exp.RawString: _raw,
}  # fmt: skip
