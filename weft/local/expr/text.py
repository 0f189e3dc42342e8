"""Text to values and back, whole columns at a time. What cannot be read becomes NULL; `cast` decides if that is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from weft.local.expr import decimals
from weft.local.expr.frame import Unfit, Value

__all__ = ["floor_div", "parse", "show"]

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


def parse(value: Value, target: pa.DataType) -> Value:
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
        return _moment(value, target)
    raise Unfit(f"cannot read text as {target}")


def _only(value: Value, pattern: str) -> Value:
    return pc.if_else(pc.match_substring_regex(value, pattern), value, pa.scalar(None, value.type))


def _moment(value: Value, target: pa.DataType) -> Value:
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


def show(value: Value) -> Value:
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
