"""Every type as a key, and every type as payload: static joins against Spark's own cross join."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

import weft

DAY = (
    date(1969, 12, 31),
    date(1970, 1, 1),
    date(2024, 2, 29),
    date(2024, 3, 1),
    date(9999, 12, 31),
    date(1, 1, 1),
    None,
)
AT = tuple(
    None if text is None else datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    for text in ("1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "2024-02-29 12:00:00.000001",
                 "2024-02-29 12:00:05", "2024-02-29 12:00:05.000001", "1900-01-01 00:00:00", None)
)  # fmt: skip
FLOATS = (0.0, -0.0, 0.1, 1.5, math.nan, math.inf, -math.inf, 3.4e38, -1.0, None)
TEXTS = ("", "a", "A", "é", "zz", "日本", "\U0001f600", "prefix-8a", "prefix-8b", "prefix-8", "prefix-", "a\0b", None)
COLUMNS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "b": ("byte", (-128, -1, 0, 1, 2, 127, None)),
    "h": ("short", (-32768, -1, 0, 1, 2, 32767, None)),
    "i": ("int", (-(2**31), -1, 0, 1, 2, 2**31 - 1, None)),
    "n": ("long", (-(2**63), -1, 0, 1, 2, 2**53 + 1, 2**63 - 1, None)),
    "f": ("float", FLOATS),
    "d": ("double", (*FLOATS[:-1], 1e300, 5e-324, 0.1 + 0.2, None)),
    "m": ("decimal(10,2)", (*map(Decimal, ("-1.00", "0.00", "0.10", "1.50", "99999999.99", "2.01")), None)),
    "w": ("decimal(30,4)", (*map(Decimal, ("-1", "0", "0.1000", "1.5", "12345678901234567890123456.7890")),
                            Decimal("12345678901234567890123456.7891"), Decimal("-12345678901234567890123456.7891"), None)),
    "day": ("date", DAY),
    "at": ("timestamp", AT),
    "wall": ("timestamp_ntz", tuple(None if at is None else at.replace(tzinfo=None) for at in AT)),
    "yes": ("boolean", (True, False, None)),
    "s": ("string", TEXTS),
    "raw": ("binary", tuple(None if text is None else bytearray(text.encode()) for text in TEXTS)),
}  # fmt: skip
ROWS = max(len(values) for _, values in COLUMNS.values())


@pytest.fixture(scope="module")
def _made():
    return {}


@pytest.fixture
def wide(spark, _made):
    """Return a frame with a column per type, twice as long as the longest list of values, in two partitions."""
    if "wide" not in _made:
        rows = [
            (number, *(values[number % len(values)] for _, values in COLUMNS.values()),
             *(values[(number * 5 + number // 4) % len(values)] for _, values in COLUMNS.values()))
            for number in range(2 * ROWS)
        ]  # fmt: skip
        names = [f"{name} {kind}" for name, (kind, _) in COLUMNS.items()]
        again = [f"{name}2 {kind}" for name, (kind, _) in COLUMNS.items()]
        _made["wide"] = spark.createDataFrame(rows, "id long, " + ", ".join(names + again)).coalesce(1).cache()
    return _made["wide"]


def compared(frame: DataFrame, conditions: list[str], **options: Any) -> None:
    """Compare all conditions in one Spark job each way: a union of joins, tagged by their number."""
    ours, theirs = [], []
    for number, on in enumerate(conditions):
        joined = weft.join(frame, frame, on=on, select=["l.id AS x", "r.id AS y"], tasks=2, **options)
        ours.append(joined.withColumn("c", F.lit(number)))
        crossed = frame.alias("l").crossJoin(frame.alias("r")).where(on)
        theirs.append(crossed.selectExpr("l.id AS x", "r.id AS y", f"{number} AS c"))
    found, expected = (_counted(parts, len(conditions)) for parts in (ours, theirs))
    for number, on in enumerate(conditions):
        assert expected[number], f"nothing satisfies {on}"
        assert found[number] == expected[number], on


def _counted(parts: list[DataFrame], number: int) -> list[Counter[tuple[int, int]]]:
    union = parts[0]
    for part in parts[1:]:
        union = union.unionAll(part)
    counts: list[Counter[tuple[int, int]]] = [Counter() for _ in range(number)]
    for row in union.toArrow().to_pylist():
        counts[row["c"]][row["x"], row["y"]] += 1
    return counts


@pytest.mark.parametrize("op", ["=", "<", ">=", "!="])
def test_every_type_compares_as_in_spark(wide, op):
    compared(wide, [f"l.{name} {op} r.{name}2" for name in COLUMNS])


MIXED = [
    "l.b = r.n2", "l.h < r.i2", "l.i >= r.d2", "l.n = r.d2", "l.n < r.f2", "l.i = r.m2", "l.m >= r.w2", "l.m < r.d2",
    "l.w = r.n2", "l.f = r.d2", "l.f < r.m2", "l.day <= r.at2", "l.wall > r.day2", "l.b != r.m2",
]  # fmt: skip


def test_mixed_types_compare_as_in_spark(wide):
    compared(wide, MIXED)


BANDS = [
    *(f"abs(l.{c} - r.{c}2) <= 2 AND l.{c} BETWEEN -9 AND 9 AND r.{c}2 BETWEEN -9 AND 9" for c in "bhin"),  # no overflow
    "abs(l.f - r.f2) <= 1.5", "abs(l.d - r.d2) <= 0.2", "abs(l.d - r.d2) < 1.4", "r.d2 - l.d >= 1", "l.d - r.d2 < 0",
    "abs(l.d - r.d2) <= double('infinity')", "abs(l.d - r.d2) <= double('NaN')",
    "abs(l.m - r.m2) <= 1.4", "abs(l.m - r.m2) < 1.41", "abs(l.w - r.w2) <= 0.1", "l.m - r.m2 >= 0.1",
    "abs(l.i - r.m2) <= 1.5", "CAST(l.m - r.m2 AS INT) <= 0",
    "abs(datediff(l.day, r.day2)) <= 1", "datediff(r.day2, l.day) > 1",
    "abs(l.at - r.at2) <= INTERVAL '5' SECOND", "l.at - r.at2 < INTERVAL '1' DAY",
    "abs(l.wall - r.wall2) <= INTERVAL '5.000001' SECOND",
    "l.at BETWEEN r.at2 - INTERVAL '6' SECOND AND r.at2", "l.s BETWEEN r.s2 AND concat(r.s2, 'z')",
    "l.day BETWEEN r.day2 AND r.at2",
]  # fmt: skip


def test_bands_are_those_of_spark(wide):
    compared(wide, BANDS)


@pytest.mark.parametrize("scheme", ["range", "matrix"])
def test_wide_and_open_bands_by_scheme(wide, scheme):
    within = "AND l.b BETWEEN -2 AND 2 AND r.b2 BETWEEN -2 AND 2"
    conditions = [
        "abs(l.d - r.d2) <= 0.2",
        f"l.b - r.b2 <= 1 {within}",
        f"l.b - r.b2 > 1 {within}",
        "l.w < r.w2",
        "l.s >= r.s2",
    ]
    compared(wide, conditions, scheme=weft.schemes.Range(enough=1) if scheme == "range" else "matrix")


def test_conjunctions_of_types(wide):
    compared(wide, [
        "l.s = r.s2 AND l.i < r.i2", "l.m = r.m2 AND l.day = r.day2", "l.w <= r.w2 AND l.w >= r.w2",
        "l.f = r.f2 AND l.f <> r.f2 OR l.i < r.i2", "l.yes = r.yes2 AND l.s < r.s2 AND l.d != r.d2",
    ])  # fmt: skip


def test_time_bands_hold_in_another_zone(spark, wide):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    compared(wide, ["abs(l.at - r.at2) <= INTERVAL '5' SECOND", "l.at < r.at2", "l.day <= r.at2"])


def test_payload_of_any_type_comes_through_unchanged(spark):
    schema = (
        "id long, st struct<a:int,b:struct<c:string,d:array<double>>>, arr array<struct<x:int,y:string>>, "
        "map map<string,array<int>>, bin binary, dec decimal(38,10), ts timestamp, ntz timestamp_ntz, day date, nothing void, "
        "dt interval day to second, ym interval year to month, f float, bytes array<binary>, empty struct<>"
    )
    schema = schema.replace(", empty struct<>", "").replace(", ym interval year to month", "")
    noon = datetime(2024, 2, 29, 12, 0, 0, 1, timezone.utc)
    full = (
        1, Row(a=1, b=Row(c="é", d=[1.0, math.inf, None])), [Row(x=1, y="a"), Row(x=None, y=None)], {"k": [1, 2], "": []},
        bytearray(b"\0\xff"), Decimal("1234567890123456789012345678.0123456789"), noon, noon.replace(tzinfo=None),
        DAY[2], None, timedelta(seconds=5, microseconds=-1), 1.5, [bytearray(b"x"), None],
    )  # fmt: skip
    frame = spark.createDataFrame([full, (2, *[None] * 12), (3, *full[1:])], schema).cache()
    joined = weft.join(frame, frame, on="l.id < r.id", suffix="_r", tasks=2)
    expected = frame.alias("l").join(frame.alias("r"), F.expr("l.id < r.id")).toDF(*joined.columns)
    assert [field.dataType for field in joined.schema] == [field.dataType for field in expected.schema]
    key = lambda row: (row["id"], row["id_r"])
    assert sorted(joined.collect(), key=key) == sorted(expected.collect(), key=key)


def test_a_date_beside_a_timestamp_is_midnight_in_the_session_zone(spark):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    days = spark.sql("SELECT id, date_add(DATE'2024-03-29', CAST(id AS INT)) AS day FROM range(5)")
    hours = spark.sql("SELECT id, timestamp_seconds(1711670400 + id * 3600) AS ts FROM range(120)")
    window = weft.within(before="2 hours", after="3 hours", left="day", right="ts")
    joined = weft.join(days, hours, on="l.id <= r.id", window=window, select=["l.id AS x", "r.id AS y"])
    near = "r.ts BETWEEN CAST(l.day AS TIMESTAMP) - INTERVAL 2 HOURS AND CAST(l.day AS TIMESTAMP) + INTERVAL 3 HOURS"
    expected = days.alias("l").join(hours.alias("r"), F.expr(f"l.id <= r.id AND {near}")).selectExpr("l.id", "r.id")
    assert sorted(joined.collect()) == sorted(expected.collect())
    assert joined.count() > 20


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_band_on_whole_numbers_is_decided_by_arithmetic(spark, ansi):
    """Spark raises where the difference overflows (ANSI), or wraps around: documented in the guide, the only departure."""
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    for kind, least in (("tinyint", -(2**7)), ("smallint", -(2**15)), ("int", -(2**31)), ("bigint", -(2**63))):
        frame = spark.sql(f"SELECT CAST(x AS {kind}) AS x FROM VALUES (0), (3), ({least}) AS t(x)")
        found = weft.join(frame, frame, on="abs(l.x - r.x) <= 5", select=["l.x", "r.x AS y"], tasks=2).collect()
        near = {(0, 0), (0, 3), (3, 0), (3, 3), (least, least)}
        assert sorted((row.x, row.y) for row in found) == sorted(near)
        spark_says = frame.alias("l").crossJoin(frame.alias("r")).where("abs(l.x - r.x) <= 5")
        if ansi == "true":
            with pytest.raises(ArithmeticException, match="OVERFLOW"):
                spark_says.collect()
        else:
            assert {tuple(row) for row in spark_says.collect()} == near | {(0, least), (least, 0)}


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_keys_and_residual_conditions_follow_sparks_mode(spark, ansi):
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    frame = spark.sql("SELECT CAST(x AS INT) AS x FROM VALUES (1), (2147483647) AS t(x)")
    for on in ("l.x + 1 < r.x", "l.x + 1 < r.x OR l.x < 0"):
        joined = weft.join(frame, frame, on=on, select=["l.x", "r.x AS y"], tasks=2)
        expected = frame.alias("l").crossJoin(frame.alias("r")).where(on)
        if ansi == "true":
            for each in (joined, expected):
                with pytest.raises(ArithmeticException, match="OVERFLOW"):
                    each.collect()
        else:
            assert sorted(map(tuple, joined.collect())) == sorted(map(tuple, expected.collect()))
