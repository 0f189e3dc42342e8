"""The rows under evaluation, how a node finds its handler, and the leaves: columns, struct fields and literals.

A *value* is an array with one entry per row, or a scalar that stands for all of them (literals stay scalars, so
`l.x + 1` adds one number, not a column of ones). Handlers know one kind of node each; errors get the text of the node here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.errors import SpecError, UnknownColumn, WeftError
from weft.local.expr.spark_types import normal
from weft.spec.parse import render

__all__ = ["HANDLERS", "ExprFrame", "Failed", "Handler", "Unfit", "Value", "as_array", "elementwise", "number_literal"]

Value: TypeAlias = Any
"""`pa.Array | pa.Scalar` (pyarrow has no types)."""

Handler: TypeAlias = Callable[[Any, "ExprFrame"], Value]


class Unfit(Exception):
    """A node whose types do not fit; becomes a SpecError that names it."""

    def __init__(self, what: str, there_is: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.parts = (what, there_is, hint)


class Failed(Unfit):
    """A value for which the node has no result; becomes a WeftError that names it."""


@dataclass(frozen=True)
class ExprFrame:
    """Columns by (alias, name), in computed types, all of `rows` entries."""

    columns: Mapping[tuple[str, str], Value]
    rows: int
    zone: str
    handlers: Mapping[type[exp.Expr], Handler]

    def value(self, node: exp.Expr | None) -> Value:
        """Evaluate one node; None is what the parser leaves where an argument is missing."""
        if node is None:
            raise Unfit(
                "lacks an argument",
                "A function was called with too few arguments.",
                "write them all, such as YEAR(l.ts).",
            )
        handler = self.handlers.get(type(node), self.handlers[exp.Expr])
        try:
            return handler(node, self)
        except WeftError:
            raise
        except Failed as error:
            what, there_is, hint = error.parts
            raise WeftError.of(f"{render(node)} {what}.", there_is, hint) from None
        except Unfit as error:
            what, there_is, hint = error.parts
            raise SpecError.of(f"{render(node)} {what}.", there_is, hint) from None
        except pa.ArrowInvalid as error:
            raise _data_error(node, error) from error
        except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise SpecError.of(
                f"{render(node)} cannot be computed locally.",
                f"Arrow says: {error}.",
                "CAST the operands to a plainer type.",
            ) from error

    def where(self, keep: Value) -> ExprFrame:
        """Return the rows for which `keep` is true."""
        mask = self.spread(keep)
        columns = {name: column.filter(mask) for name, column in self.columns.items()}
        return replace(self, columns=columns, rows=pc.sum(mask, min_count=0).as_py())

    def spread(self, value: Value) -> Value:
        """Return the value as an array of one entry per row."""
        return pa.repeat(value, self.rows) if isinstance(value, pa.Scalar) else value

    def branch(self, node: exp.Expr, wanted: Value) -> Value:
        """Evaluate a node whose value matters only where `wanted` is true.

        SQL does not compute branches that it does not take: `CASE WHEN x = 0 THEN 0 ELSE 1 / x END` must not fail.
        Computing all rows is faster and nearly always works, so that is tried first.
        """
        try:
            return self.value(node)
        except SpecError:
            raise
        except WeftError:
            mask = pc.fill_null(self.spread(wanted), False)
            rows = self.where(mask)
            part = rows.spread(rows.value(node))
            places = pc.subtract(pc.cumulative_sum(mask.cast(pa.int64())), 1)
            return part.take(pc.if_else(mask, places, pa.scalar(None, pa.int64())))


def _data_error(node: exp.Expr, error: Exception) -> WeftError:
    text = str(error)
    if "overflow" in text or "precision" in text or "not fit" in text:
        return WeftError.of(
            f"{render(node)} overflows.", "Spark (ANSI) fails here too.", "CAST an operand to a wider type."
        )
    return WeftError.of(f"{render(node)} failed.", f"Arrow says: {text}.", "look at the values it is computed from.")


def as_array(value: Value) -> Value:
    """Return a scalar as an array of one entry, an array unchanged."""
    return pa.array([value.as_py()], value.type) if isinstance(value, pa.Scalar) else value


def elementwise(function: Callable[..., Any], *values: Value, out: pa.DataType) -> Value:
    """Apply a NumPy function to number values; NULL in any of them gives NULL, NaN stays a number."""
    constant = all(isinstance(value, pa.Scalar) for value in values)
    arrays = [as_array(value) if constant else value for value in values]
    missing: Any = False
    inputs = []
    for array in arrays:
        if isinstance(array, pa.Scalar):
            missing = missing | (not array.is_valid)
            inputs.append(array.as_py() if array.is_valid else 1)
        else:
            missing = missing | np.asarray(pc.is_null(array))
            inputs.append(np.asarray(pc.fill_null(array, pa.scalar(1).cast(array.type))))
    with np.errstate(all="ignore"):
        result = np.asarray(function(*inputs))
    answer = pa.array(result, mask=np.broadcast_to(np.asarray(missing), result.shape), from_pandas=False).cast(out)
    return answer[0] if constant else answer


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


def _literal(node: exp.Literal, _: ExprFrame) -> Value:
    return pa.scalar(str(node.this), pa.string()) if node.is_string else number_literal(str(node.this))


def _boolean(node: exp.Boolean, _: ExprFrame) -> Value:
    return pa.scalar(bool(node.this))


def _null(_node: exp.Null, _: ExprFrame) -> Value:
    return pa.scalar(None, pa.null())


def _interval(node: exp.Interval, _: ExprFrame) -> Value:
    """Days and smaller are a length of time; months are not, so they are left to Spark."""
    unit = str(node.unit).upper().removesuffix("S")
    amount = _AMOUNT.fullmatch(str(node.this.name)) if isinstance(node.this, exp.Literal) else None
    if unit not in _UNITS or amount is None:
        raise Unfit(
            "is not an interval that is supported locally",
            f"Units are: {', '.join(_UNITS)}; the amount is a constant.",
            "write INTERVAL 90 SECONDS; weft.join on Spark evaluates every Spark function.",
        )
    sign, whole, fraction = amount[1], int(amount[2]), (amount[3] or "").ljust(6, "0")
    micros = whole * _UNITS[unit] + int(fraction) * _UNITS[unit] // 1_000_000
    if micros >= 2**63:
        raise Unfit("is too long", "An interval counts microseconds in 64 bits.", "write at most 106751991 DAYS.")
    return pa.scalar(-micros if sign == "-" else micros, pa.duration("us"))


def _column(node: exp.Column, frame: ExprFrame) -> Value:
    return frame.columns[node.table, node.name]


def _field(node: exp.Dot, frame: ExprFrame) -> Value:
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
            "field names are case-insensitive.",
        )
    part = pc.struct_field(value, found)
    kind = normal(part.type, frame.zone)
    return part if part.type == kind else part.cast(kind, safe=False)


def _paren(node: exp.Paren, frame: ExprFrame) -> Value:
    return frame.value(node.this)


def _raw(node: exp.RawString, _: ExprFrame) -> Value:
    return pa.scalar(str(node.this), pa.string())


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Literal: _literal, exp.Boolean: _boolean, exp.Null: _null, exp.Interval: _interval, exp.Column: _column,
    exp.Dot: _field, exp.Paren: _paren, exp.RawString: _raw,
}  # fmt: skip
