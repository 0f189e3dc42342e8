"""Arithmetic: `+ - * / %` and functions of numbers, in Spark's types and with Java's answers where C's differ.

What overflows or divides by zero fails; `pow(1, NaN)` and logarithms of what has none are Java's.
"""

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
from weft.local.expr.cast import cast, round_half_up
from weft.local.expr.frame import ExprFrame, Failed, Handler, Unfit, Value, elementwise, number_literal
from weft.local.expr.spark_types import INT_DIGITS, arithmetic, bounded, is_number, is_text, spark_name

__all__ = ["HANDLERS", "NAMED"]

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


def _add(node: exp.Add, frame: ExprFrame) -> Value:
    a, b = frame.value(node.left), frame.value(node.right)
    if (pt.is_temporal(b.type) and not pt.is_temporal(a.type)) or pt.is_duration(a.type):
        return _move("+", node.left, b, a, frame)
    return _move("+", node.right, a, b, frame) if pt.is_temporal(a.type) else _numbers("+", node, a, b)


def _sub(node: exp.Sub, frame: ExprFrame) -> Value:
    a, b = frame.value(node.left), frame.value(node.right)
    if not (pt.is_temporal(a.type) or pt.is_temporal(b.type)):
        return _numbers("-", node, a, b)
    dates = [pt.is_date(kind) or pt.is_timestamp(kind) for kind in (a.type, b.type)]
    if all(dates) or (any(dates) and (is_text(a.type) or is_text(b.type))):
        return _difference(a, b, frame)
    return _move("-", node.right, a, b, frame)


def _difference(a: Value, b: Value, frame: ExprFrame) -> Value:
    if pt.is_date(a.type) and pt.is_date(b.type):
        days = pc.subtract(a.cast(pa.int32()).cast(pa.int64()), b.cast(pa.int32()).cast(pa.int64()))
        return pc.multiply(days, _DAY).cast(pa.duration("us"))
    zoned = any(pt.is_timestamp(kind) and kind.tz for kind in (a.type, b.type))
    moment = pa.timestamp("us", frame.zone if zoned else None)
    return pc.subtract_checked(cast(a, moment), cast(b, moment))


def _move(symbol: str, by: exp.Expr, moment: Value, step: Value, frame: ExprFrame) -> Value:
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


def _mul(node: exp.Mul, frame: ExprFrame) -> Value:
    return _numbers("*", node, frame.value(node.left), frame.value(node.right))


def _div(node: exp.Div, frame: ExprFrame) -> Value:
    return _numbers("/", node, frame.value(node.left), frame.value(node.right))


def _mod(node: exp.Mod, frame: ExprFrame) -> Value:
    return _numbers("%", node, frame.value(node.left), frame.value(node.right))


def _int_div(node: exp.IntDiv, frame: ExprFrame) -> Value:
    a, b = (cast(frame.value(part), pa.int64()) for part in (node.left, node.right))
    _refuse_zero(a, b)
    return pc.divide_checked(a, b)


def _neg(node: exp.Neg, frame: ExprFrame) -> Value:
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return number_literal(f"-{inner.this}")
    return pc.negate_checked(_numeric(frame.value(inner)))


def _abs(node: exp.Abs, frame: ExprFrame) -> Value:
    return pc.abs_checked(_numeric(frame.value(node.this)))


def _numeric(value: Value) -> Any:
    if is_text(value.type) or pt.is_null(value.type):
        return cast(value, pa.float64())
    if not (is_number(value.type) or pt.is_duration(value.type)):
        raise Unfit(
            f"takes a number, not {spark_name(value.type)}", "Numbers and intervals have a sign.", "CAST the operand."
        )
    return value


def _double(function: Callable[..., Any]) -> Handler:
    """Make a handler of a NumPy function over doubles."""

    def handle(node: exp.Expr, frame: ExprFrame) -> Value:
        return elementwise(
            function, *(cast(frame.value(part), pa.float64()) for part in _arguments(node)), out=pa.float64()
        )

    return handle


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return [part for part in (node.args.get("this"), node.args.get("expression")) if part is not None]


def _pow(base: Any, exponent: Any) -> Any:
    unclear = np.isnan(exponent) | ((np.abs(base) == 1) & np.isinf(exponent))
    return np.where(unclear, np.nan, np.power(base, exponent))


def _log(node: exp.Ln | exp.Log, frame: ExprFrame) -> Value:
    """Return a logarithm; NULL (not NaN) where there is none, as in Spark."""
    parts = [cast(frame.value(part), pa.float64()) for part in _arguments(node)]
    nothing = pa.scalar(None, pa.float64())
    positive = [pc.if_else(pc.less_equal(part, 0.0), nothing, part) for part in parts]  # NaN is not <= 0 and stays
    if len(parts) == 1:
        return elementwise(np.log, *positive, out=pa.float64())
    if isinstance(node.this, exp.Literal) and str(node.this.this) == "10":
        return elementwise(np.log10, positive[1], out=pa.float64())
    return elementwise(lambda base, value: np.log(value) / np.log(base), *positive, out=pa.float64())


def _whole(node: exp.Ceil | exp.Floor, frame: ExprFrame) -> Value:
    """Round up or down to BIGINT (NaN is 0, as in Java) or DECIMAL."""
    up = isinstance(node, exp.Ceil)
    if node.args.get("decimals") is not None:
        raise Unfit("rounds to a given digit", "CEIL and FLOOR round to whole numbers.", "use ROUND(x, digits).")
    value = frame.value(node.this)
    if value.type in INT_DIGITS:
        return cast(value, pa.int64())
    if pt.is_decimal(value.type):
        precision, scale = value.type.precision, value.type.scale
        wide = decimals.widen(value, room=1)
        return (pc.ceil if up else pc.floor)(wide).cast(bounded(precision - scale + 1, 0))
    return elementwise(lambda x: _to_long(np.ceil(x) if up else np.floor(x)), cast(value, pa.float64()), out=pa.int64())


def _to_long(values: Any) -> Any:
    if np.any(np.abs(values) >= 2.0**63):
        raise Failed("overflows", "Spark (ANSI) fails here too.", "CAST the operand to DECIMAL.")
    return np.where(np.isnan(values), 0.0, values).astype(np.int64)


def _round(node: exp.Round, frame: ExprFrame) -> Value:
    value, given = frame.value(node.this), node.args.get("decimals")
    chosen = pa.scalar(0) if given is None else frame.value(given)
    digits = chosen.as_py() if isinstance(chosen, pa.Scalar) else None
    if not isinstance(digits, int):
        raise Unfit(
            "rounds to a digit that is not constant",
            "The second argument of ROUND is a whole number.",
            "write ROUND(x, 2).",
        )
    kind = value.type
    if pt.is_decimal(kind):
        whole, scale = kind.precision - kind.scale + 1, min(max(digits, 0), kind.scale)
        target = bounded(max(whole, 1 - digits) if digits < 0 else whole + scale, scale)
        wide = decimals.widen(value, room=max(1, 1 - digits))
        return decimals.fit(pc.round(wide, digits, "half_towards_infinity"), target)
    if kind in INT_DIGITS:
        return value if digits >= 0 else pc.round(value, digits, "half_towards_infinity").cast(kind)
    out = kind if pt.is_floating(kind) else pa.float64()
    return elementwise(lambda x: round_half_up(x, digits), cast(value, pa.float64()), out=pa.float64()).cast(out)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Add: _add, exp.Sub: _sub, exp.Mul: _mul, exp.Div: _div, exp.Mod: _mod, exp.IntDiv: _int_div, exp.Neg: _neg, exp.Abs: _abs,
    exp.Sqrt: _double(np.sqrt), exp.Exp: _double(np.exp), exp.Sign: _double(np.sign), exp.Pow: _double(_pow),
    exp.Sin: _double(np.sin), exp.Cos: _double(np.cos), exp.Tan: _double(np.tan), exp.Asin: _double(np.arcsin),
    exp.Acos: _double(np.arccos), exp.Atan: _double(np.arctan), exp.Atan2: _double(np.arctan2),
    exp.Radians: _double(np.radians), exp.Degrees: _double(np.degrees), exp.Cbrt: _double(np.cbrt),
    exp.Pi: lambda _node, _frame: pa.scalar(float(np.pi)), exp.Ln: _log, exp.Log: _log, exp.Ceil: _whole,
    exp.Floor: _whole, exp.Round: _round,
    exp.IsNan: lambda node, frame: pc.fill_null(pc.is_nan(cast(frame.value(node.this), pa.float64())), False),
}  # fmt: skip

NAMED: dict[str, Handler] = {"hypot": _double(np.hypot)}
