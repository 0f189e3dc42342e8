"""Expressions over Arrow tables: what each gives, what each refuses, and that Spark says the same."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import SpecError, UnknownColumn, WeftError
from weft.local.expr import Compiled, compile_expression
from weft.spec.parse import parse, resolve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN, INF = math.nan, math.inf
UTC = dt.timezone.utc
DAY = dt.date(2024, 2, 29)

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5, 6], pa.int64()),
        "i": pa.array([7, -7, 0, None, 2147483646, 3], pa.int32()),
        "j": pa.array([3, 3, -2, 5, None, 3], pa.int32()),
        "t": pa.array([1, -1, 100, None, 0, 27], pa.int8()),
        "x": pa.array([1.5, NAN, -0.0, INF, None, 2.675], pa.float64()),
        "y": pa.array([1.5, NAN, 0.0, -INF, 2.5, None], pa.float64()),
        "f": pa.array([0.1, NAN, -0.0, INF, None, 16777216.0], pa.float32()),
        "p": pa.array(
            [Decimal("1.05"), Decimal("-2.50"), Decimal("0.00"), None, Decimal("99999999.99"), Decimal("3.14")],
            pa.decimal128(10, 2),
        ),
        "q": pa.array(
            [Decimal("3.000"), Decimal("0.125"), Decimal("-1.500"), Decimal("7.000"), None, Decimal("0.333")],
            pa.decimal128(8, 3),
        ),
        "s": pa.array(["abc", "a_c", "", None, " Straße ", "a\nc"], pa.string()),
        "n": pa.array(["12", " 7 ", "-3", None, "0", "+5"], pa.string()),
        "d": pa.array([DAY, dt.date(1969, 12, 31), dt.date(2024, 1, 1), None, dt.date(1900, 1, 1), DAY], pa.date32()),
        "ts": pa.array(
            [
                dt.datetime(2024, 2, 29, 12, 30, 45, 123456, UTC),
                dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
                dt.datetime(2024, 1, 1, tzinfo=UTC),
                None,
                dt.datetime(1900, 1, 1, 1, tzinfo=UTC),
                dt.datetime(2024, 3, 1, tzinfo=UTC),
            ],
            pa.timestamp("us", "UTC"),
        ),
        "b": pa.array([True, False, None, True, False, None], pa.bool_()),
        "o": pa.array([{"k": 1, "Name": "u"}, None, {"k": None, "Name": "v"}, None, {"k": 5, "Name": None}, None]),
    }
)

SAME_AS_SPARK = [
    "l.i + l.j", "l.i - 5", "l.i * 2L", "l.i / l.j", "l.i % 3", "-l.i", "l.t + l.j", "l.t * l.j", "l.x % 2",
    "l.i DIV 2",
    "l.x + l.y", "l.x - l.f", "l.f * 2", "l.f + l.f", "l.i + l.f", "l.p + l.q", "l.p - l.q", "l.p * l.q", "l.p * 3",
    "l.p / 3",
    "l.p / 7.25", "l.p % 0.4", "l.p + l.i", "l.p + l.x", "l.p * 1.005", "l.id * 1.05", "l.n + 1", "l.n * 1.5D",
    "l.x = l.y", "l.x <> l.y", "l.x < l.y", "l.x <= l.y", "l.x > l.y", "l.x >= l.y", "l.x <=> l.y", "l.x > l.f",
    "l.x = l.i",
    "l.p = l.q", "l.p > l.i", "l.p < 1.1", "l.f = 0.1", "l.f < 0.1", "l.f = 16777217", "l.p = 3.14D", "l.p < l.x",
    "l.n > 5",
    "l.n = 7.0", "l.d < l.ts", "l.d = '2024-02-29'", "l.ts > '2024-01-01 00:00:00'",
    "l.ts < TIMESTAMP'2024-02-29 12:30:46'",
    "l.d >= DATE'2024-01-01'", "l.s < 'b'", "l.b = TRUE", "l.b AND l.i > 0", "l.b OR l.i > 0", "NOT l.b", "l.b IS NULL",
    "l.b IS NOT NULL", "l.b IS TRUE", "l.i IS DISTINCT FROM l.j", "l.i IN (7, 0, NULL)", "l.i NOT IN (7, 8)",
    "l.x IN (1.5, 2)",
    "l.i BETWEEN -7 AND 3", "l.x BETWEEN l.y AND 5", "l.s LIKE 'a%'", "l.s LIKE 'a_c'", "l.s LIKE 'a\\\\_c'",
    "l.s ILIKE 'A%C'",
    "l.s NOT LIKE '%b%'", "l.s LIKE 'a#_c' ESCAPE '#'", "l.s LIKE l.s", "l.s RLIKE '^a.c$'", "l.s RLIKE l.s",
    "CASE WHEN l.i > 0 THEN 'p' WHEN l.i < 0 THEN 'n' END", "CASE l.i WHEN 7 THEN 1.5 WHEN 0 THEN l.p ELSE l.id END",
    "IF(l.i = 0, 0, 1 / l.i)", "CASE WHEN l.j = 3 THEN l.j % 3 ELSE l.j END", "l.i <> 0 AND 10 / l.i > 1",
    "l.i = 0 OR 10 / l.i > 1",
    "COALESCE(l.i, l.j, 0)", "COALESCE(l.x, l.p)", "NULLIF(l.i, 7)", "nvl(l.s, 'none')", "isnull(l.i)", "isnan(l.x)",
    "CAST(l.i AS STRING)", "CAST(l.p AS STRING)", "CAST(l.d AS STRING)",
    "CAST(l.ts AS STRING)", "CAST(l.b AS STRING)", "CAST(l.n AS INT)", "CAST(l.n AS DOUBLE)",
    "CAST(l.n AS DECIMAL(6, 2))",
    "TRY_CAST(l.s AS INT)", "TRY_CAST(l.x AS INT)", "TRY_CAST(l.i AS TINYINT)", "TRY_CAST(l.p AS INT)",
    "CAST(l.p AS DOUBLE)",
    "CAST(l.p AS DECIMAL(12, 1))", "CAST(l.i AS DECIMAL(12, 1))", "TRY_CAST(l.i AS DECIMAL(4, 2))",
    "TRY_CAST(l.x AS DECIMAL(6, 2))",
    "CAST(l.f AS DOUBLE)", "CAST(l.i AS FLOAT)", "CAST(l.b AS INT)", "CAST(l.i AS BOOLEAN)", "CAST(l.ts AS DATE)",
    "CAST(l.d AS TIMESTAMP)", "CAST(l.ts AS BIGINT)", "CAST(l.id AS TIMESTAMP)", "TRY_CAST('2024-02-30' AS DATE)",
    "CAST('2024-2-9' AS DATE)", "CAST('2024-02-29T10:00:00+02:00' AS TIMESTAMP)",
    "CAST('2024-02-29 10:20' AS TIMESTAMP)",
    "abs(l.i)", "abs(l.x)", "abs(l.p)", "ceil(l.j / 2)", "floor(l.j / 2)", "ceil(-l.q)", "ceil(l.p)", "floor(l.p)",
    "ceil(l.i)", "round(l.x, 2)",
    "round(l.x)", "round(l.p, 1)", "round(l.j, -1)", "round(l.q)", "round(l.p, -1)", "sqrt(l.x)", "pow(l.x, 2)",
    "pow(l.x, l.y)",
    "power(1, l.x)", "ln(l.x)", "log(2, l.i)", "log10(l.x)", "exp(l.i / 1000000000)", "sign(l.x)", "sign(l.i)",
    "sign(l.p)",
    "greatest(l.x, l.y)", "least(l.x, l.y, 1)", "greatest(l.i, l.p)", "hypot(l.x, l.y)", "sin(l.i)", "cos(l.x)",
    "radians(l.x)", "degrees(l.i)", "atan2(l.x, l.y)", "asin(l.x)",
    "length(l.s)", "upper(l.s)", "lower(l.s)", "trim(l.s)", "ltrim(l.s)", "rtrim(l.s)", "trim('a' FROM l.s)",
    "substr(l.s, 2)",
    "substring(l.s, 2, 1)", "substring(l.s, -2, 1)", "substring(l.s, 0, 2)", "substring(l.s, -9, 8)",
    "substring(l.s, l.j, 2)",
    "substring(l.s, 1, l.j)", "concat(l.s, '-', l.i)", "l.s || l.n", "startswith(l.s, 'a')", "endswith(l.s, 'c')",
    "contains(l.s, '_')", "startswith(l.s, l.s)", "contains(l.n, l.n)",
    "year(l.d)", "month(l.ts)", "day(l.d)", "quarter(l.d)", "dayofweek(l.d)", "hour(l.ts)", "minute(l.ts)",
    "second(l.ts)",
    "datediff(l.d, DATE'2024-01-01')", "datediff(l.ts, l.d)", "date_add(l.d, 3)", "date_sub(l.d, l.j)", "l.d + 1",
    "l.d - 1",
    "l.d + INTERVAL 2 DAYS", "l.d - INTERVAL '1' DAY", "l.d + INTERVAL 2 HOURS", "l.ts + INTERVAL 90 SECONDS",
    "l.ts - INTERVAL '1.5' SECOND", "l.ts - l.d", "l.d - DATE'2024-01-01'", "abs(l.ts - l.d) <= INTERVAL 13 HOURS",
    "abs(l.d - DATE'2024-01-01') < INTERVAL 60 DAYS", "l.ts - l.ts < INTERVAL 1 DAY 2 HOURS",
    "unix_timestamp(l.ts)", "unix_seconds(l.ts)", "unix_millis(l.ts)", "unix_micros(l.ts)", "timestamp_seconds(l.id)",
    "l.o.k", "l.o.name", "l.o.k + 1", "1e3", "1.05", "0.05", "10", "3000000000", "-2147483648", "NULL",
    "l.i = NULL", "NULL + 1",
    "'a\\'b'", "TRUE AND NULL", "FALSE AND NULL",
]  # fmt: skip


def compiled(text: str, schema: pa.Schema = TABLE.schema) -> Compiled:
    tree = resolve(parse(text, ("l", "r")), ("l", "r"), schema.names, [])
    return compile_expression(tree, {"l": schema})


def evaluate(text: str, table: pa.Table = TABLE) -> list[Any]:
    result = compiled(text, table.schema).evaluate({"l": table})
    assert result.type == compiled(text, table.schema).type, "the type is known beforehand"
    assert len(result) == len(table)
    values: list[Any] = result.to_pylist()
    return values


def row(**values: Any) -> pa.Table:
    return pa.table({name: [value] for name, value in values.items()})


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("l.i + l.i", WeftError, "l.i + l.i overflows"),
        ("l.t + l.t", WeftError, "l.t + l.t overflows"),
        ("round(l.i, -1)", WeftError, "overflows"),
        ("round(l.x, l.i)", SpecError, "is not constant"),
        ("substring(l.s)", SpecError, "has no position"),
        ("CAST(l.i AS DECIMAL(39, 2))", SpecError, "not supported locally"),
        ("CAST(l.i AS DECIMAL(2, 3))", SpecError, "not supported locally"),
        ("INTERVAL '2147483648' DAYS", SpecError, "is too long"),
        ("ceil(l.x)", WeftError, "overflows"),
        ("l.i / (l.j - 3)", WeftError, "divides by zero"),
        ("l.x % 0", WeftError, "divides by zero"),
        ("l.p / l.i", WeftError, "divides by zero"),
        ("CAST(l.s AS INT)", WeftError, "not a valid INT: 'abc'"),
        ("CAST(l.x AS INT)", WeftError, "not a valid INT: nan"),
        ("CAST(l.i AS SMALLINT)", WeftError, "2147483646"),
        ("CAST(l.p AS DECIMAL(4, 2))", WeftError, "not a valid DECIMAL"),
        ("l.s > 5", WeftError, "not a valid BIGINT: 'abc'"),
        ("l.s LIKE 'a\\\\'", WeftError, "invalid pattern"),
        ("l.s RLIKE '(?=a)'", WeftError, "not supported locally"),
        ("levenshtein(l.s, l.n) < 2", SpecError, "LEVENSHTEIN is not supported locally"),
        ("xxhash64(l.s) = 1", SpecError, "XXHASH64"),
        ("l.d = 5", SpecError, "DATE with INT"),
        ("l.b > 5", SpecError, "BOOLEAN with INT"),
        ("l.i AND l.b", SpecError, "takes conditions, not INT"),
        ("l.d * 2", SpecError, "not defined: DATE * INT"),
        ("l.o.zz", UnknownColumn, "It has: k, Name"),
        ("l.i.zz", SpecError, "not a struct field"),
        ("l.d + INTERVAL 1 MONTH", SpecError, "Units are"),
        ("CAST(l.x AS STRING)", SpecError, "written as text"),
        ("CAST(l.o AS STRING)", SpecError, "written as text"),
        ("l.o = l.o", SpecError, "cannot be compared"),
    ],
)
def test_what_is_refused(text: str, error: type[WeftError], words: str) -> None:
    with pytest.raises(error, match="Hint: ") as caught:
        evaluate(text)
    assert words in str(caught.value)
    assert isinstance(caught.value, SpecError) == issubclass(error, SpecError)


def test_unsupported_says_what_is_supported_and_where_the_rest_is() -> None:
    with pytest.raises(SpecError) as caught:
        compiled("soundex(l.s)")
    assert "HYPOT" in str(caught.value)
    assert "weft.join on Spark evaluates every Spark function" in str(caught.value)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_any_arrow_text_is_text(kind: pa.DataType) -> None:
    table = pa.table({"s": pa.array(["ab", None, "c"]).cast(kind)})
    assert evaluate("l.s LIKE 'a%'", table) == [True, None, False]


@pytest.mark.parametrize("kind", [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()])
def test_unsigned_integers_are_numbers(kind: pa.DataType) -> None:
    table = pa.table({"u": pa.array([200, 3, None], kind)})
    assert evaluate("l.u - 250 < 0", table) == [True, True, None]


def test_timestamps_without_a_zone() -> None:
    table = row(a=dt.datetime(2024, 1, 1, 12, tzinfo=UTC).replace(tzinfo=None), d=dt.date(2024, 1, 1))
    assert evaluate("l.a > l.d", table) == [True]
    assert evaluate("l.a - l.d", table) == [dt.timedelta(hours=12)]
    assert evaluate("l.a = TIMESTAMP'2024-01-01 12:00:00'", table) == [True]


def test_fields_are_those_of_the_zone_of_the_data() -> None:
    late = pa.array([dt.datetime(2024, 1, 1, 23, 30, tzinfo=UTC)], pa.timestamp("us", "Europe/Rome"))
    table = pa.table({"ts": late})
    assert evaluate("hour(l.ts)", table) == [0]
    assert evaluate("CAST(l.ts AS DATE)", table) == [dt.date(2024, 1, 2)]
    assert evaluate("l.ts = TIMESTAMP'2024-01-02 00:30:00'", table) == [True]


def test_chunks_and_no_rows() -> None:
    chunked = pa.concat_tables([TABLE.slice(0, 2), TABLE.slice(2, 4)])
    assert evaluate("l.i % 4", chunked) == evaluate("l.i % 4")
    for text in SAME_AS_SPARK:
        assert evaluate(text, TABLE.slice(0, 0)) == []


def test_nested_columns_pass_through() -> None:
    table = pa.table({"a": [[1, 2], None]})
    assert evaluate("l.a", table) == [[1, 2], None]
    assert evaluate("l.a IS NULL", table) == [False, True]


def test_a_mask_takes_null_for_no() -> None:
    assert compiled("l.b").mask({"l": TABLE}).tolist() == [True, False, False, True, False, False]


def test_pairs_are_two_tables_of_one_length() -> None:
    tree = resolve(parse("l.a + r.a > 3", ("l", "r")), ("l", "r"), ["a"], ["a"])
    tables = {"l": pa.table({"a": [1, 2]}), "r": pa.table({"a": [2, 2]})}
    result = compile_expression(tree, {alias: table.schema for alias, table in tables.items()}).evaluate(tables)
    assert result.to_pylist() == [False, True]


FLOATS = st.sampled_from([NAN, -INF, -1.0, -0.0, 0.0, 1.0, INF, None])


def place(value: float) -> tuple[int, float]:
    return (1, 0.0) if math.isnan(value) else (0, value + 0.0)


@given(st.lists(st.tuples(FLOATS, FLOATS), max_size=6))
def test_floats_are_ordered_with_nan_last(pairs: list[tuple[float | None, float | None]]) -> None:
    table = pa.table({name: pa.array([pair[k] for pair in pairs], pa.float64()) for k, name in enumerate("xy")})
    known = [None if a is None or b is None else (place(a), place(b)) for a, b in pairs]
    assert evaluate("l.x < l.y", table) == [None if p is None else p[0] < p[1] for p in known]
    assert evaluate("l.x <= l.y", table) == [None if p is None else p[0] <= p[1] for p in known]
    assert evaluate("l.x = l.y", table) == [None if p is None else p[0] == p[1] for p in known]
    assert evaluate("l.x <> l.y", table) == [None if p is None else p[0] != p[1] for p in known]


BOOLS = st.sampled_from([True, False, None])


@given(st.lists(st.tuples(BOOLS, BOOLS), max_size=6))
def test_logic_has_three_values(pairs: list[tuple[bool | None, bool | None]]) -> None:
    table = pa.table({name: pa.array([pair[k] for pair in pairs], pa.bool_()) for k, name in enumerate("ab")})
    both = [False if False in pair else None if None in pair else True for pair in pairs]
    either = [True if True in pair else None if None in pair else False for pair in pairs]
    assert evaluate("l.a AND l.b", table) == both
    assert evaluate("l.a OR l.b", table) == either


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        both_nan = math.isnan(ours) and math.isnan(theirs)
        return both_nan or ours == theirs or math.isclose(ours, theirs, rel_tol=4e-16, abs_tol=0)
    return type(ours) is type(theirs) and ours == theirs


@pytest.mark.spark
def test_spark_says_the_same(spark: SparkSession) -> None:
    frame = spark.createDataFrame(TABLE).alias("l").repartition(1).sortWithinPartitions("id").cache()
    wrong = []
    for start in range(0, len(SAME_AS_SPARK), 40):
        texts = SAME_AS_SPARK[start : start + 40]
        theirs = frame.selectExpr(*(f"{text} AS c{index}" for index, text in enumerate(texts))).toArrow()
        for text, column in zip(texts, theirs.columns, strict=True):
            kind, ours = compiled(text).type, evaluate(text)
            if kind != column.type or not all(map(same, ours, column.to_pylist())):
                wrong.append(f"{text}: {kind} {ours} but Spark {column.type} {column.to_pylist()}")
    assert not wrong, "\n".join(wrong)
