"""Functions of numbers, with Java's answers where C's differ (`pow(1, NaN)`, logarithms of what has none)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr import decimals
from weft.local.expr.cast import cast, round_half_up
from weft.local.expr.frame import Failed, Frame, Handler, Unfit, Value, elementwise
from weft.local.expr.types import INT_DIGITS, bounded

__all__ = ["HANDLERS", "NAMED"]


def _double(function: Callable[..., Any]) -> Handler:
    """Make a handler of a NumPy function over doubles."""

    def handle(node: exp.Expr, frame: Frame) -> Value:
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


def _log(node: exp.Ln | exp.Log, frame: Frame) -> Value:
    """Return a logarithm; NULL (not NaN) where there is none, as in Spark."""
    parts = [cast(frame.value(part), pa.float64()) for part in _arguments(node)]
    nothing = pa.scalar(None, pa.float64())
    positive = [pc.if_else(pc.less_equal(part, 0.0), nothing, part) for part in parts]  # NaN is not <= 0 and stays
    if len(parts) == 1:
        return elementwise(np.log, *positive, out=pa.float64())
    if isinstance(node.this, exp.Literal) and str(node.this.this) == "10":
        return elementwise(np.log10, positive[1], out=pa.float64())
    return elementwise(lambda base, value: np.log(value) / np.log(base), *positive, out=pa.float64())


def _whole(node: exp.Ceil | exp.Floor, frame: Frame) -> Value:
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


def _round(node: exp.Round, frame: Frame) -> Value:
    value, given = frame.value(node.this), node.args.get("decimals")
    digits = 0 if given is None else frame.value(given).as_py()
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
    exp.Sqrt: _double(np.sqrt), exp.Exp: _double(np.exp), exp.Sign: _double(np.sign), exp.Pow: _double(_pow),
    exp.Sin: _double(np.sin), exp.Cos: _double(np.cos), exp.Tan: _double(np.tan), exp.Asin: _double(np.arcsin),
    exp.Acos: _double(np.arccos), exp.Atan: _double(np.arctan), exp.Atan2: _double(np.arctan2),
    exp.Radians: _double(np.radians), exp.Degrees: _double(np.degrees), exp.Cbrt: _double(np.cbrt),
    exp.Pi: lambda _node, _frame: pa.scalar(float(np.pi)), exp.Ln: _log, exp.Log: _log, exp.Ceil: _whole,
    exp.Floor: _whole, exp.Round: _round,
    exp.IsNan: lambda node, frame: pc.fill_null(pc.is_nan(cast(frame.value(node.this), pa.float64())), False),
}  # fmt: skip

NAMED: dict[str, Handler] = {"hypot": _double(np.hypot)}
