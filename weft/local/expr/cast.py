"""CAST and TRY_CAST between the usual types, as Spark (ANSI) does it: what does not fit fails, or is NULL when tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr import decimals, text
from weft.local.expr.frame import Failed, Frame, Handler, Unfit, Value, as_array
from weft.local.expr.types import INT_DIGITS, from_sql, is_number, is_text, spark_name

__all__ = ["HANDLERS", "cast", "round_half_up"]

_SECOND = 1_000_000


def cast(value: Value, target: pa.DataType, *, attempt: bool = False) -> Value:
    """Return the value in another type; `attempt` gives NULL where a value does not fit."""
    if value.type == target:
        return value
    if pt.is_null(value.type):
        return value.cast(target)
    if isinstance(value, pa.Scalar):
        return cast(as_array(value), target, attempt=attempt)[0]
    if pt.is_floating(value.type) and pt.is_decimal(target):  # here Spark gives NULL even under ANSI
        value = pc.if_else(pc.is_finite(value), value, pa.scalar(None, value.type))
    before = value.null_count
    answer = _cast(value, target)
    if not attempt and answer.null_count > before:
        bad = value.filter(pc.and_(pc.is_valid(value), pc.is_null(answer)))[0].as_py()
        raise Failed(
            f"has a value that is no {spark_name(target)}: {bad!r}",
            "Spark (ANSI) fails here too.",
            "use TRY_CAST to get NULL instead.",
        )
    return answer


def _cast(value: Value, target: pa.DataType) -> Value:
    """Cast an array; values that do not fit become NULL."""
    source = value.type
    if is_text(source):
        return text.parse(value, target)
    if is_text(target):
        return text.show(value)
    if is_number(source) and is_number(target):
        return _number(value, target)
    if pt.is_boolean(source) and is_number(target):
        return _number(value.cast(pa.int8()), target)
    if is_number(source) and pt.is_boolean(target):
        return pc.not_equal(value, pa.scalar(0, pa.decimal128(1, 0) if pt.is_decimal(source) else source))
    if pt.is_temporal(source) or pt.is_temporal(target):
        return _temporal(value, target)
    raise _impossible(source, target)


def _impossible(source: pa.DataType, target: pa.DataType) -> Unfit:
    return Unfit(
        f"cannot turn {spark_name(source)} into {spark_name(target)}",
        "CAST is between numbers, text, BOOLEAN, DATE and TIMESTAMP.",
        "weft.join on Spark evaluates every Spark function.",
    )


def _number(value: Value, target: pa.DataType) -> Value:
    source = value.type
    if pt.is_decimal(target):
        if pt.is_floating(source):
            rounded = pc.if_else(pc.is_valid(value), pa.array(round_half_up(_doubles(value), target.scale)), None)
            inside = pc.less(pc.abs(rounded), 10.0 ** (target.precision - target.scale))
            return pc.if_else(inside, rounded, pa.scalar(None, pa.float64())).cast(target)
        if pt.is_decimal256(target):
            return decimals.widen(value).cast(target)
        return decimals.fit(value, target, null=True)
    if pt.is_floating(target):
        return (decimals.to_double(value) if pt.is_decimal(source) else value).cast(target, safe=False)
    low, high = _range(target)
    if pt.is_decimal(source):
        whole = pc.trunc(decimals.widen(value))
        limits = [pa.scalar(limit, pa.decimal256(19, 0)) for limit in (low, high)]
        inside = pc.and_(pc.greater_equal(whole, limits[0]), pc.less_equal(whole, limits[1]))
        return pc.if_else(inside, whole, pa.scalar(None, whole.type)).cast(pa.int64()).cast(target)
    if pt.is_floating(source):
        whole = pc.trunc(value.cast(pa.float64()))
        inside = pc.and_(
            pc.greater_equal(whole, float(low)), pc.less(whole, float(high + 1))
        )  # high + 1 is a power of two
    else:
        whole = value.cast(pa.int64())
        inside = pc.and_(pc.greater_equal(whole, low), pc.less_equal(whole, high))
    return pc.if_else(inside, whole, pa.scalar(None, whole.type)).cast(target)


def _range(kind: pa.DataType) -> tuple[int, int]:
    half = 1 << (kind.bit_width - 1)
    return -half, half - 1


def _doubles(value: Value) -> Any:
    return np.asarray(pc.fill_null(value, 0).cast(pa.float64()))


def round_half_up(values: Any, digits: int) -> Any:
    """Round doubles half up *as they are written*: 2.675 is 2.68, although the double is a little below it.

    With k the digits kept, (k + 0.5) / 10**digits is correctly rounded, so a number written as a tie equals it exactly.
    """
    size = np.abs(values)
    if digits >= 0:
        power = 10.0 ** min(digits, 22)
        kept = np.floor(size * power)
        rounded = np.where(size >= (kept + 0.5) / power, kept + 1, kept) / power
        rounded = np.where(size * power >= 2.0**52, size, rounded)
    else:
        power = 10.0 ** min(-digits, 308)
        kept = np.floor(size / power)
        rounded = np.where(size >= (kept + 0.5) * power, kept + 1, kept) * power
    return np.where(np.isfinite(values), np.copysign(rounded, values), values)


def _temporal(value: Value, target: pa.DataType) -> Value:
    source = value.type
    if pt.is_date(source) and pt.is_timestamp(target):
        return _to_zone(value.cast(pa.timestamp("us")), target)
    if pt.is_timestamp(source) and pt.is_date(target):
        return _local(value).cast(pa.date32(), safe=False)
    if pt.is_timestamp(source) and pt.is_timestamp(target):
        return _to_zone(value, target) if target.tz else _local(value)
    if pt.is_timestamp(source) and source.tz and is_number(target):
        micros = value.cast(pa.int64())
        if target in INT_DIGITS:
            return _number(text.floor_div(micros, _SECOND), target)
        return _number(pc.divide(micros.cast(pa.float64(), safe=False), float(_SECOND)), target)
    if source in INT_DIGITS and pt.is_timestamp(target):
        return pc.multiply_checked(value.cast(pa.int64()), _SECOND).cast(pa.timestamp("us")).cast(target)
    raise _impossible(source, target)


def _local(value: Value) -> Value:
    return pc.local_timestamp(value) if value.type.tz else value


def _to_zone(value: Value, target: pa.DataType) -> Value:
    if value.type.tz or not target.tz:
        return value.cast(target)
    return pc.assume_timezone(value, target.tz, ambiguous="earliest", nonexistent="latest")


def _cast_node(node: exp.Cast, frame: Frame) -> Value:
    target = from_sql(node.to, frame.zone)
    if target is None:
        raise Unfit(
            "casts to a type that is not computed locally", "CAST goes to numbers, text, BOOLEAN, DATE and TIMESTAMP."
        )
    return cast(frame.value(node.this), target, attempt=isinstance(node, exp.TryCast))


def _to_date(node: exp.TsOrDsToDate, frame: Frame) -> Value:
    if node.args.get("format") is not None:
        raise Unfit(
            "has a date format", "Dates are read as yyyy-MM-dd.", "weft.join on Spark evaluates every Spark function."
        )
    return cast(frame.value(node.this), pa.date32())


HANDLERS: dict[type[exp.Expr], Handler] = {exp.Cast: _cast_node, exp.TryCast: _cast_node, exp.TsOrDsToDate: _to_date}
