"""Two small tables with a column of every type, and the values on which types like to disagree."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

__all__ = ["KINDS", "LEFT", "RIGHT", "crossed"]

_NAN, _INF = math.nan, math.inf
_DAY = dt.date(1970, 1, 1)


def _moments(*seconds: float | None) -> list[dt.datetime | None]:
    start = dt.datetime(2024, 2, 28, 23, 59, 58)  # noqa: DTZ001  naive on purpose
    return [None if s is None else start + dt.timedelta(seconds=s) for s in seconds]


def _decimals(*texts: str | None) -> list[Decimal | None]:
    return [None if text is None else Decimal(text) for text in texts]


_COLUMNS: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "i": (pa.int32(), [0, 1, 2, 3, -1, None, 7], [0, 2, 2, None, 4, -1, 9]),
    "j": (pa.int64(), [2**63 - 1, -(2**63), 0, 1, None, 2**53 + 1, -1], [2**63 - 1, 0, 1, None, -(2**63), 2**53, 3]),
    "t": (pa.int8(), [127, -128, 0, 1, None, 5, -1], [0, 127, -128, None, 1, 2, 3]),
    "h": (pa.int16(), [32767, 0, -1, None, 1, 2, 3], [0, 1, -32768, None, 2, 4, 5]),
    "u": (pa.uint64(), [0, 2**64 - 1, 1, None, 5, 2**63, 2], [1, 2, 2**64 - 1, None, 0, 3, 2**63]),
    "x": (pa.float64(), [0.0, -0.0, _NAN, _INF, 1.5, None, 2.0], [-0.0, _NAN, -_INF, _INF, None, 1.5, 1e308]),
    "f": (pa.float32(), [0.1, -0.0, _NAN, _INF, 1.5, None, 3.0], [0.1, 0.0, _NAN, None, -_INF, 1.5, 2.0]),
    "s": (pa.string(), ["a", "ab", "", "A%", None, "é", "12"], ["ab", "a", "", "_b", "é", None, "longer than eight bytes"]),
    "n": (pa.string(), ["1", "2.5", "-3", " 4 ", "1e2", None, "0"], ["1", "2", "x", None, "100", "-3.0", ""]),
    "g": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "a", None, "", "é", "b"], ["b", "a", None, "c", "", "a", "é"]),
    "m": (pa.large_string(), ["a", "b", None, "", "é", "ab", "c"], ["a", None, "b", "", "é", "x", "ab"]),
    "y": (pa.binary(), [b"", b"\xff", b"a", None, b"ab", b"\x00", b"b"], [b"a", b"\xff\xfe", b"", None, b"b", b"\x00", b"ab"]),
    "d": (pa.date32(), [_DAY, dt.date(2024, 2, 29), None, dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2024, 3, 1), _DAY],
          [_DAY, dt.date(2024, 2, 28), dt.date(2024, 2, 29), None, dt.date(1969, 12, 31), dt.date(2024, 3, 1), _DAY]),
    "e": (pa.date64(), [_DAY, dt.date(2024, 2, 29), None, _DAY, None, dt.date(2000, 1, 1), _DAY],
          [_DAY, None, dt.date(2024, 2, 29), _DAY, dt.date(2000, 1, 1), _DAY, _DAY]),
    "ts": (pa.timestamp("us"), _moments(0, 1, 1.5, None, 86400, -5, 2), _moments(0, 2, None, 1.5, 86400.5, 3600, 1)),
    "tz": (pa.timestamp("us", "UTC"), _moments(0, 1, 1.5, None, 86400, -5, 2), _moments(0, 2, None, 1.5, 86399, 3600, 1)),
    "tn": (pa.timestamp("ns"), _moments(0, 1, 1.5, None, 86400, -5, 2), _moments(0, 2, None, 1.5, 86399, 3600, 1)),
    "p": (pa.decimal128(10, 2), _decimals("1.00", "2.50", None, "-3.25", "0", "99999999.99", "4"),
          _decimals("1", "2.5", "0.01", None, "-3.25", "99999999.99", "5")),
    "w": (pa.decimal128(38, 10), _decimals("1", "2.5", None, "9999999999999999999999999999.9999999999", "0", "-1", "4"),
          _decimals("1", None, "2.5000000001", "0", "-1", "-9999999999999999999999999999", "4")),
    "b": (pa.bool_(), [True, False, None, True, False, True, False], [False, True, True, None, False, True, True]),
    "o": (pa.struct({"k": pa.int32(), "s": pa.string()}),
          [{"k": 1, "s": "a"}, None, {"k": None, "s": ""}, {"k": 2, "s": "b"}, {"k": 3, "s": None}, {"k": 0, "s": "é"}, None],
          [{"k": 1, "s": "b"}, {"k": 2, "s": "a"}, None, {"k": 3, "s": ""}, {"k": None, "s": None}, {"k": 0, "s": "c"}, None]),
    "a": (pa.list_(pa.int32()), [[1], [], None, [1, 2], [None], [3], [1]], [[1], [2], None, [], [1, 2], [3], [None]]),
    "q": (pa.duration("us"), [dt.timedelta(seconds=s) if s is not None else None for s in (0, 1, 2, None, -1, 90, 5)],
          [dt.timedelta(seconds=s) if s is not None else None for s in (1, 0, None, 2, 90, -5, 5)]),
    "z": (pa.null(), [None] * 7, [None] * 7),
    "c": (pa.time64("us"), [dt.time(1), dt.time(2), None, dt.time(23), dt.time(0), dt.time(5), dt.time(1)],
          [dt.time(1), None, dt.time(2), dt.time(23), dt.time(0), dt.time(5), dt.time(1)]),
}  # fmt: skip

KINDS: dict[str, tuple[str, ...]] = {
    "number": ("i", "j", "t", "h", "u", "x", "f", "p", "w", "k"), "text": ("s", "n", "g", "m"),
    "time": ("d", "e", "ts", "tz", "tn"), "truth": ("b",), "other": ("y", "o", "a", "q", "z", "c"),
}  # fmt: skip
"""Columns by what one does with them."""


def _table(side: int) -> pa.Table:
    columns = {name: pa.array(entry[1 + side], entry[0]) for name, entry in _COLUMNS.items()}
    return pa.table({"k": pa.array(range(7), pa.int64()), **columns})


LEFT, RIGHT = _table(0), _table(1)


def crossed() -> dict[str, pa.Table]:
    """Return every pair of rows: the nested loop, as two tables of equal length."""
    size = LEFT.num_rows * RIGHT.num_rows
    return {
        "l": LEFT.take(pa.array([n // RIGHT.num_rows for n in range(size)])),
        "r": RIGHT.take(pa.array([n % RIGHT.num_rows for n in range(size)])),
    }
