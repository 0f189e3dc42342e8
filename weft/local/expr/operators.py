"""`+ - * / %`: results in Spark's types; what overflows or divides by zero fails."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr import decimals
from weft.local.expr.cast import cast
from weft.local.expr.frame import Failed, Frame, Handler, Unfit, Value, elementwise
from weft.local.expr.types import INT_DIGITS, arithmetic, is_number, is_text, spark_name
from weft.local.expr.values import number_literal

__all__ = ["HANDLERS"]

_DAY = 86_400_000_000
_DAYS = {"DAY", "DAYS", "WEEK", "WEEKS"}
_ARROW: dict[str, Callable[..., Value]] = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_DECIMAL: dict[str, Callable[..., Value]] = {
    "+": decimals.add, "-": decimals.subtract, "*": decimals.multiply, "/": decimals.divide, "%": decimals.modulo,
}  # fmt: skip


def _numbers(symbol: str, node: exp.Binary, a: Value, b: Value) -> Value:
    kind = arithmetic(a.type, b.type)
    if kind is None:
        raise _unfit(symbol, a, b)
    if pt.is_decimal(kind):
        return _DECIMAL[symbol](_exact(node.left, a, kind), _exact(node.right, b, kind))
    if symbol == "/":
        a, b = cast(a, pa.float64()), cast(b, pa.float64())
        _refuse_zero(a, b)
        return pc.divide(a, b)
    a, b = cast(a, kind), cast(b, kind)
    if symbol == "%":
        _refuse_zero(a, b)
        return elementwise(np.fmod, a, b, out=kind)
    return _ARROW[symbol](a, b)


def _exact(node: exp.Expr, value: Value, kind: pa.DataType) -> Value:
    """Give an integer literal the digits it is written with, as Spark does beside a decimal."""
    if pt.is_null(value.type):
        return cast(value, kind)
    if isinstance(node.unnest(), exp.Literal) and value.type in INT_DIGITS:
        number = Decimal(value.as_py())
        return pa.scalar(number, pa.decimal128(max(len(str(abs(int(number)))), 1), 0))
    return value


def _refuse_zero(a: Value, b: Value) -> None:
    zero = pc.and_(pc.equal(b, pa.scalar(0).cast(b.type)), pc.is_valid(a))
    if pc.any(zero).as_py():
        raise Failed("divides by zero", "Spark (ANSI) fails here too.", "guard it: IF(x = 0, NULL, y / x).")


def _unfit(symbol: str, a: Value, b: Value) -> Unfit:
    return Unfit(
        f"is not defined: {spark_name(a.type)} {symbol} {spark_name(b.type)}",
        "Arithmetic is between numbers, and between dates or timestamps and intervals.",
        "CAST an operand.",
    )


def _add(node: exp.Add, frame: Frame) -> Value:
    a, b = frame.value(node.left), frame.value(node.right)
    if (pt.is_temporal(b.type) and not pt.is_temporal(a.type)) or pt.is_duration(a.type):
        return _move("+", node.left, b, a, frame)
    return _move("+", node.right, a, b, frame) if pt.is_temporal(a.type) else _numbers("+", node, a, b)


def _sub(node: exp.Sub, frame: Frame) -> Value:
    a, b = frame.value(node.left), frame.value(node.right)
    if not (pt.is_temporal(a.type) or pt.is_temporal(b.type)):
        return _numbers("-", node, a, b)
    dates = [pt.is_date(kind) or pt.is_timestamp(kind) for kind in (a.type, b.type)]
    if all(dates) or (any(dates) and (is_text(a.type) or is_text(b.type))):
        return _difference(a, b, frame)
    return _move("-", node.right, a, b, frame)


def _difference(a: Value, b: Value, frame: Frame) -> Value:
    if pt.is_date(a.type) and pt.is_date(b.type):
        days = pc.subtract(a.cast(pa.int32()).cast(pa.int64()), b.cast(pa.int32()).cast(pa.int64()))
        return pc.multiply(days, _DAY).cast(pa.duration("us"))
    zoned = any(pt.is_timestamp(kind) and kind.tz for kind in (a.type, b.type))
    moment = pa.timestamp("us", frame.zone if zoned else None)
    return pc.subtract_checked(cast(a, moment), cast(b, moment))


def _move(symbol: str, by: exp.Expr, moment: Value, step: Value, frame: Frame) -> Value:
    """Add to, or subtract from, a date or timestamp; a date moved by whole days (or a number of them) stays a date."""
    sign = 1 if symbol == "+" else -1
    if pt.is_date(moment.type) and (step.type in INT_DIGITS or pt.is_null(step.type)):
        days = pc.add_checked(
            moment.cast(pa.int32()), pc.multiply_checked(cast(step, pa.int32()), pa.scalar(sign, pa.int32()))
        )
        return days.cast(pa.date32())
    if not pt.is_duration(step.type):
        raise _unfit(symbol, moment, step)
    if pt.is_date(moment.type) and isinstance(by, exp.Interval) and str(by.unit).upper() in _DAYS:
        days = pc.divide(step.cast(pa.int64()), _DAY * sign).cast(pa.int32())
        return pc.add_checked(moment.cast(pa.int32()), days).cast(pa.date32())
    if pt.is_date(moment.type):
        moment = cast(moment, pa.timestamp("us", frame.zone))
    return (pc.add_checked if sign > 0 else pc.subtract_checked)(moment, step)


def _mul(node: exp.Mul, frame: Frame) -> Value:
    return _numbers("*", node, frame.value(node.left), frame.value(node.right))


def _div(node: exp.Div, frame: Frame) -> Value:
    return _numbers("/", node, frame.value(node.left), frame.value(node.right))


def _mod(node: exp.Mod, frame: Frame) -> Value:
    return _numbers("%", node, frame.value(node.left), frame.value(node.right))


def _int_div(node: exp.IntDiv, frame: Frame) -> Value:
    a, b = (cast(frame.value(part), pa.int64()) for part in (node.left, node.right))
    _refuse_zero(a, b)
    return pc.divide_checked(a, b)


def _neg(node: exp.Neg, frame: Frame) -> Value:
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return number_literal(f"-{inner.this}")
    return pc.negate_checked(_numeric(frame.value(inner)))


def _abs(node: exp.Abs, frame: Frame) -> Value:
    return pc.abs_checked(_numeric(frame.value(node.this)))


def _numeric(value: Value) -> Any:
    if is_text(value.type) or pt.is_null(value.type):
        return cast(value, pa.float64())
    if not (is_number(value.type) or pt.is_duration(value.type)):
        raise Unfit(
            f"takes a number, not {spark_name(value.type)}", "Numbers and intervals have a sign.", "CAST the operand."
        )
    return value


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Add: _add, exp.Sub: _sub, exp.Mul: _mul, exp.Div: _div, exp.Mod: _mod, exp.IntDiv: _int_div, exp.Neg: _neg, exp.Abs: _abs,
}  # fmt: skip
