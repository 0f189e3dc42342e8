"""Types: which Arrow type stands for which Spark type, and what two of them have in common (ANSI coercion)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt
from sqlglot import exp

__all__ = [
    "INT_DIGITS", "arithmetic", "bounded", "common", "decimal_of", "from_sql", "is_number", "is_text", "normal", "spark_name",
]  # fmt: skip

INT_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
"""Integer types, narrow first, and the digits of the decimal that holds each."""

_NAMES = {
    pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT", pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN", pa.string(): "STRING", pa.binary(): "BINARY", pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP_NTZ", pa.null(): "VOID", pa.duration("us"): "INTERVAL",
}  # fmt: skip
_UNSIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
_SQL = {
    "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(), "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "TEXT": pa.string(), "VARCHAR": pa.string(), "CHAR": pa.string(),
    "BINARY": pa.binary(), "DATE": pa.date32(), "TIMESTAMPNTZ": pa.timestamp("us"),
}  # fmt: skip
_TIMESTAMPS = {"TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ"}


def normal(kind: pa.DataType, zone: str) -> pa.DataType:
    """Return the type in which a column is computed: the Spark type that holds every value of `kind`.

    What no operator takes (nested types) stays as it is. All zoned timestamps are read in one zone, as in a Spark session.
    """
    if pt.is_dictionary(kind):
        return normal(kind.value_type, zone)
    if is_text(kind):
        return pa.string()
    if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind) or pt.is_binary_view(kind):
        return pa.binary()
    if pt.is_timestamp(kind):
        return pa.timestamp("us", zone if kind.tz else None)
    if pt.is_duration(kind):
        return pa.duration("us")
    if pt.is_date(kind):
        return pa.date32()
    if pt.is_decimal(kind) and kind.precision <= 38:
        return pa.decimal128(kind.precision, max(kind.scale, 0))
    return pa.float32() if pt.is_float16(kind) else _UNSIGNED.get(kind, kind)


def is_text(kind: pa.DataType) -> bool:
    """Tell whether values are text."""
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    """Tell whether arithmetic is defined."""
    return bool(kind in INT_DIGITS or pt.is_floating(kind) or pt.is_decimal(kind))


def decimal_of(kind: pa.DataType) -> tuple[int, int]:
    """Return precision and scale of a decimal, or of the decimal that holds an integer type."""
    return (kind.precision, kind.scale) if pt.is_decimal(kind) else (INT_DIGITS[kind], 0)


def bounded(precision: int, scale: int) -> pa.DataType:
    """Return a decimal type of at most 38 digits; beyond that Spark gives up fraction digits, but keeps 6."""
    if precision > 38:
        scale = max(38 - (precision - scale), min(scale, 6))
    return pa.decimal128(min(precision, 38), scale)


def common(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return the type in which Spark (ANSI) compares the two, or None if it refuses.

    Two decimals whose union needs more than 38 digits meet in a 256-bit one, so nothing is rounded.

    >>> common(pa.int32(), pa.float32())
    DataType(double)
    """
    if a == b or pt.is_null(b):
        return a
    if pt.is_null(a):
        return b
    if is_text(a) or is_text(b):
        return _with_text(b if is_text(a) else a)
    if is_number(a) and is_number(b):
        return _numbers(a, b)
    if pt.is_temporal(a) and pt.is_temporal(b) and not (pt.is_duration(a) or pt.is_duration(b)):
        zoned = [kind for kind in (a, b) if pt.is_timestamp(kind) and kind.tz]
        return zoned[0] if zoned else pa.timestamp("us")
    return None


def arithmetic(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return the type in which `+ - * %` are computed, except that decimals keep their own: see `decimals`."""
    if (pt.is_null(a) and pt.is_null(b)) or (is_text(a) and is_text(b)):
        return pa.float64()
    both = common(a, b)
    return both if both is not None and is_number(both) else None


def _with_text(kind: pa.DataType) -> pa.DataType | None:
    if kind in INT_DIGITS:
        return pa.int64()
    if is_number(kind):
        return pa.float64()
    simple = pt.is_boolean(kind) or pt.is_binary(kind) or pt.is_date(kind) or pt.is_timestamp(kind)
    return kind if simple else None


def _numbers(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    if a in INT_DIGITS and b in INT_DIGITS:
        return max(a, b, key=INT_DIGITS.__getitem__)
    if pt.is_floating(a) or pt.is_floating(b):
        return pa.float64()
    (p1, s1), (p2, s2) = decimal_of(a), decimal_of(b)
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def from_sql(kind: exp.DataType, zone: str) -> pa.DataType | None:
    """Return the Arrow type of a type in a CAST, None for those that are not computed locally."""
    name = str(kind.this.value) if isinstance(kind.this, exp.DType) else str(kind.this)
    if name in _TIMESTAMPS:
        return pa.timestamp("us", zone)
    if name == "DECIMAL":
        return _decimal([str(part.name) for part in kind.expressions] or ["10"])
    return _SQL.get(name)


def _decimal(digits: list[str]) -> pa.DataType | None:
    """Return DECIMAL(precision, scale), None where these are no numbers or not Spark's: at most 38, and no scale beyond."""
    if len(digits) > 2 or not all(part.isdecimal() for part in digits):
        return None
    precision, scale = ([int(part) for part in digits] + [0])[:2]
    return pa.decimal128(precision, scale) if 1 <= precision <= 38 and scale <= precision else None


def spark_name(kind: pa.DataType) -> str:
    """Return the name of a type as Spark writes it.

    >>> spark_name(pa.decimal128(12, 2))
    'DECIMAL(12, 2)'
    """
    if pt.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pt.is_timestamp(kind) and kind.tz:
        return "TIMESTAMP"
    return _NAMES.get(kind, str(kind).upper())
