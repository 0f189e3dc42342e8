"""CAST and TRY_CAST between the usual types, as Spark (ANSI) does it: what does not fit fails, or is NULL when tried.

Text is read and written whole columns at a time; what cannot be read is NULL first, and `cast` decides if that is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr import decimals
from weft.local.expr.frame import ExprFrame, Failed, Handler, Unfit, Value, as_array
from weft.local.expr.spark_types import INT_DIGITS, from_sql, is_number, is_text, spark_name

__all__ = ["HANDLERS", "cast", "floor_div", "round_half_up"]

_SECOND = 1_000_000
_INTEGER = r"^[+-]?[0-9]{1,38}$"
_FLOAT = r"(?i)^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?[df]?$"
_DECIMAL = r"^[+-]?([0-9]{1,38}(\.[0-9]{0,37})?|\.[0-9]{1,37})([eE][+-]?[0-9]{1,2})?$"
_WORDS = {
    "inf": "inf",
    "+inf": "inf",
    "infinity": "inf",
    "+infinity": "inf",
    "-inf": "-inf",
    "-infinity": "-inf",
    "nan": "nan",
}
_TIME = (
    r"^(?P<y>[0-9]{4})(?:-(?P<m>[0-9]{1,2})(?:-(?P<d>[0-9]{1,2})"
    r"(?:[T ](?:(?P<H>[0-9]{1,2})(?::(?P<M>[0-9]{1,2})(?::(?P<S>[0-9]{1,2})(?:\.(?P<f>[0-9]{1,9}))?)?)?"
    r" ?(?P<z>Z|UTC|[+-][0-9]{1,2}:?[0-9]{2})?)?)?)?)?$"
)
_TRUE, _FALSE = ["t", "true", "y", "yes", "1"], ["f", "false", "n", "no", "0"]
_BLANKS = "".join(map(chr, range(33)))


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
            f"has a value that is not a valid {spark_name(target)}: {bad!r}",
            "Spark (ANSI) fails here too.",
            "use TRY_CAST to get NULL instead.",
        )
    return answer


def _cast(value: Value, target: pa.DataType) -> Value:
    """Cast an array; values that do not fit become NULL."""
    source = value.type
    if is_text(source):
        return parse_text(value, target)
    if is_text(target):
        return show_as_text(value)
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
            return _number(floor_div(micros, _SECOND), target)
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


def _cast_node(node: exp.Cast, frame: ExprFrame) -> Value:
    target = from_sql(node.to, frame.zone)
    if target is None:
        raise Unfit(
            "casts to a type that is not supported locally",
            "CAST goes to numbers, DECIMALs of at most 38 digits, text, BOOLEAN, DATE and TIMESTAMP.",
            "weft.join on Spark evaluates every Spark function.",
        )
    return cast(frame.value(node.this), target, attempt=isinstance(node, exp.TryCast))


def _to_date(node: exp.TsOrDsToDate, frame: ExprFrame) -> Value:
    if node.args.get("format") is not None:
        raise Unfit(
            "has a date format", "Dates are read as yyyy-MM-dd.", "weft.join on Spark evaluates every Spark function."
        )
    return cast(frame.value(node.this), pa.date32())


HANDLERS: dict[type[exp.Expr], Handler] = {exp.Cast: _cast_node, exp.TryCast: _cast_node, exp.TsOrDsToDate: _to_date}


def parse_text(value: Value, target: pa.DataType) -> Value:
    """Read text as `target`."""
    if pt.is_binary(target):
        return value.cast(target)
    value = pc.utf8_trim(value, _BLANKS)
    if pt.is_boolean(target):
        lower = pc.utf8_lower(value)
        known = pc.is_in(lower, pa.array(_TRUE + _FALSE))
        return pc.if_else(known, pc.is_in(lower, pa.array(_TRUE)), pa.scalar(None, pa.bool_()))
    if pt.is_integer(target):
        number = _only(value, _INTEGER).cast(pa.decimal256(38, 0))
        half = 1 << (target.bit_width - 1)
        limits = [pa.scalar(limit, pa.decimal256(19, 0)) for limit in (-half, half - 1)]
        inside = pc.and_(pc.greater_equal(number, limits[0]), pc.less_equal(number, limits[1]))
        return pc.if_else(inside, number, pa.scalar(None, number.type)).cast(pa.int64()).cast(target)
    if pt.is_floating(target):
        words = pc.index_in(pc.utf8_lower(value), pa.array(list(_WORDS)))
        named = pa.array(list(_WORDS.values())).take(words)
        digits = pc.utf8_rtrim(_only(value, _FLOAT), "dDfF")
        return pc.coalesce(named, digits).cast(pa.float64()).cast(target)
    if pt.is_decimal(target):
        return decimals.fit(_only(value, _DECIMAL).cast(pa.decimal256(76, 37)), target, null=True)
    if pt.is_date(target) or pt.is_timestamp(target):
        return _read_time(value, target)
    raise Unfit(f"cannot read text as {target}")


def _only(value: Value, pattern: str) -> Value:
    return pc.if_else(pc.match_substring_regex(value, pattern), value, pa.scalar(None, value.type))


def _read_time(value: Value, target: pa.DataType) -> Value:
    """Read dates and timestamps by one pattern, all fields at once; February 30 is NULL."""
    fields = pc.extract_regex(value, _TIME)
    valid = np.asarray(pc.is_valid(fields))

    def number(name: str, default: str = "0") -> Any:
        part = pc.struct_field(fields, name)
        given = pc.and_(pc.fill_null(pc.not_equal(part, ""), False), pa.array(valid))
        return np.asarray(pc.if_else(given, part, default).cast(pa.int64()))

    year, month, day = number("y"), number("m", "1"), number("d", "1")
    first = (year - 1970).astype("M8[Y]").astype("M8[M]") + np.clip(month - 1, 0, 11)
    days = first.astype("M8[D]") + np.maximum(day - 1, 0)
    valid = valid & (month >= 1) & (month <= 12) & (day >= 1) & (days.astype("M8[M]") == first)
    if pt.is_date(target):
        return pa.array(days, mask=~valid).cast(pa.date32())
    hour, minute, second = number("H"), number("M"), number("S")
    fraction = pc.utf8_slice_codeunits(pc.utf8_rpad(pc.fill_null(pc.struct_field(fields, "f"), ""), 6, "0"), 0, 6)
    micros = np.asarray(pc.if_else(pa.array(valid), fraction, "0").cast(pa.int64()))
    valid = valid & (hour < 24) & (minute < 60) & (second < 60)
    clock = ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros
    local = pa.array(days.astype("M8[us]") + clock, mask=~valid)
    if not target.tz:
        return local
    zone = pc.fill_null(pc.struct_field(fields, "z"), "")
    if not pc.any(pc.not_equal(zone, "")).as_py():
        return pc.assume_timezone(local, target.tz, ambiguous="earliest", nonexistent="latest")
    here = pc.assume_timezone(local, target.tz, ambiguous="earliest", nonexistent="latest")
    return pc.if_else(pc.equal(zone, ""), here, _shifted(local, zone).cast(target))


def _shifted(local: Value, zone: Value) -> Value:
    """Take the offset (`+02:00`, `Z`) off a local time."""
    parts = pc.extract_regex(zone, r"^(?P<s>[+-])(?P<h>[0-9]{1,2}):?(?P<m>[0-9]{2})$")
    hours = pc.fill_null(pc.struct_field(parts, "h").cast(pa.int64()), 0)
    minutes = pc.add(pc.multiply(hours, 60), pc.fill_null(pc.struct_field(parts, "m").cast(pa.int64()), 0))
    sign = pc.if_else(pc.equal(pc.struct_field(parts, "s"), "-"), -1, 1)
    offset = pc.fill_null(pc.multiply(pc.multiply(sign, minutes), 60_000_000), 0).cast(pa.duration("us"))
    return pc.subtract(local, offset).cast(pa.timestamp("us", "UTC"))


def show_as_text(value: Value) -> Value:
    """Write values as Spark does."""
    kind = value.type
    if pt.is_timestamp(kind):
        local = pc.local_timestamp(value) if kind.tz else value
        whole = pc.replace_substring_regex(local.cast(pa.string()), r"(\.[0-9]*?)0+$", r"\1")
        return pc.replace_substring_regex(whole, r"\.$", "")
    if pt.is_floating(kind) or pt.is_nested(kind) or pt.is_duration(kind):
        raise Unfit(
            "cannot be written as text locally",
            "Integers, decimals, BOOLEAN, DATE and TIMESTAMP can.",
            "CAST it to DECIMAL first, or use weft.join on Spark.",
        )
    return value.cast(pa.string())


def floor_div(value: Value, by: int) -> Value:
    """Divide integers, rounding down (Arrow rounds towards zero)."""
    quotient = pc.divide(value, by)
    down = pc.and_(pc.less(value, 0), pc.not_equal(pc.multiply(quotient, by), value))
    return pc.subtract(quotient, down.cast(pa.int64()))
