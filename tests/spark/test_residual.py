"""A residual in Python workers: of every pair it says what Spark says, or it is refused when the join is built."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.errors import SpecError
from weft.spark.analysis import analyze
from weft.spark.residual import PythonResidual, python_residual

DDL = (
    "id long, a int, b short, x double, f float, s string, p string, m decimal(10,2), w decimal(30,4), d date, ts timestamp, "
    "wall timestamp_ntz, yes boolean, st struct<u:int,v:string>, `a.b` int"
)
TEXTS = ["", "a", "ab", "AB", "é", "a%b", "x_y", " ab ", "zz\nq", "it's", "a\\b", None]
PATTERNS = ["a%", "%b", "_b", "%", "", "x\\_y", "%\\%%", "é", " %", "it's", "%b", None]
FLOATS = [0.0, -0.0, 0.5, 1.5, math.nan, math.inf, -math.inf, -1.0, 2.0, 3.0, 1e10, None]


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    start = dt.datetime(2024, 2, 28, 23, 59, 58, tzinfo=dt.timezone.utc)
    found = [
        (n, n % 3 if n % 7 else None, n % 4, FLOATS[n], FLOATS[-n - 1], TEXTS[n], PATTERNS[n],
         Decimal(n).scaleb(-1) if n % 5 else None, Decimal("12345678901234567890123456.7890") + n % 2,
         None if n == 3 else start.date() + dt.timedelta(days=n % 4), None if n == 4 else start + dt.timedelta(seconds=n % 5),
         start.replace(tzinfo=None) + dt.timedelta(hours=n % 5), None if n == 6 else n % 2 == 0,
         None if n == 5 else (n % 3, TEXTS[n]), n % 3)
        for n in range(12)
    ]  # fmt: skip
    return spark.createDataFrame(found, DDL).coalesce(1)


EXACT = [
    "l.s = r.s", "l.s <> r.s", "l.s < r.p", "l.s <=> r.s", "l.s LIKE r.p", "l.s NOT LIKE r.p", "l.s LIKE 'a%' AND r.s LIKE '%b'",
    "l.s LIKE '%\\\\%%' OR r.id = 2", "l.s LIKE 'x#_y' ESCAPE '#' AND r.id < 3", "l.s = r.s OR l.a = r.a",
    "l.s = 'it\\'s' OR r.a = 1",
    "CASE WHEN l.a = 1 THEN r.a = 1 WHEN l.a IS NULL THEN r.x > 1 ELSE l.id = r.id END",
    "CASE l.a WHEN 1 THEN r.a ELSE 0 END = 1",
    "if(l.a > r.a, l.yes, r.yes)", "coalesce(l.a, r.a, 7) = 1", "nullif(l.a, r.a) = 1", "nvl(l.a, 0) = nvl(r.a, 0)",
    "l.a IN (r.a, 1, NULL)", "l.a NOT IN (r.a, 1)", "l.s IN (r.s, 'ab')", "(l.a IS NULL) = (r.a IS NOT NULL)",
    "l.x NOT BETWEEN r.x AND r.x + 1", "l.x BETWEEN r.x AND r.f", "l.x <> r.x", "l.x = r.f", "l.x >= r.f", "l.f + 0.1 < r.x",
    "greatest(l.x, r.x) < 3", "least(l.a, r.a) = 0", "isnan(l.x) OR r.x > l.x", "abs(l.a - r.b) > 1", "-l.a = r.a - 1",
    "l.a + r.b = 3", "l.a * r.m > 0.5", "l.a % 2 = r.b % 2", "l.b / 2 = r.m", "l.m + r.m = 0.30", "l.m - r.w < 0", "l.w = r.w",
    "l.m > r.a", "l.m = r.x", "CAST(l.m AS int) = r.a", "CAST(l.a AS string) = r.s", "CAST(l.m AS string) = r.s",
    "l.d = r.d", "l.d + 1 = r.d", "date_add(l.d, r.a) > r.d", "date_sub(l.d, 1) = r.d", "datediff(l.d, r.d) = 1", "l.d < r.ts",
    "l.d = DATE '2024-02-29' OR r.d = l.d", "l.ts = r.ts", "l.ts > r.ts + INTERVAL 2 SECOND", "l.ts - r.ts > INTERVAL 1 SECOND",
    "l.ts <= TIMESTAMP '2024-02-29 00:00:00' AND l.a <> r.a", "l.wall = r.wall", "l.wall < r.ts", "hour(l.ts) = r.a",
    "year(l.d) = year(r.ts) AND month(l.d) <> month(r.d)", "second(l.ts) = r.a", "dayofweek(l.d) = r.id", "l.yes = r.yes",
    "l.yes OR r.yes", "NOT (l.yes AND r.yes)", "l.yes AND NULL OR r.yes", "startswith(l.s, r.s)", "endswith(l.s, r.s)",
    "contains(l.s, r.s)", "length(l.s) = r.a", "substring(l.s, 1, 1) = substring(r.s, 1, 1)", "substr(l.s, -1) = r.s",
    "trim(l.s) = r.s", "l.s || r.s = 'abab'", "concat(l.s, '%') = r.p", "l.st.v = r.st.v", "l.st.u = r.a", "l.`a.b` = r.a",
    "l.a = 1L OR r.x = 1.5D OR r.f = 0.5F OR l.b = 2S", "l.m = 0.10BD OR r.id = -1", "l.x = double('NaN') AND r.id = 1",
]  # fmt: skip


def residuals_of(rows: DataFrame, *conditions: str) -> list[PythonResidual]:
    """Return each condition as a residual of its own: an OR is served by no index."""
    never = "l.id < 0 AND r.id < 0"
    analyzed = analyze(rows, rows, " AND ".join(f"(({on}) OR ({never}))" for on in conditions), None, "_2", ("l", "r"))
    found = [python_residual(replace(analyzed, rest=(node,))) for node in analyzed.rest]
    return [made for made in found if made is not None]


def test_every_pair_is_decided_as_by_spark(rows: DataFrame) -> None:
    crossed = rows.alias("l").crossJoin(rows.alias("r")).orderBy("l.id", "r.id")
    columns = [F.coalesce(F.expr(on), F.lit(False)).alias(f"c{number}") for number, on in enumerate(EXACT)]
    expected = crossed.select(*columns).toArrow()
    plain = rows.orderBy("id").toArrow()
    count = plain.num_rows
    left = plain.take(pa.array(np.repeat(np.arange(count), count))).rename_columns(
        [f"l{n}" for n in range(len(plain.columns))]
    )
    right = plain.take(pa.array(np.tile(np.arange(count), count))).rename_columns(
        [f"r{n}" for n in range(len(plain.columns))]
    )
    made = pickle.loads(pickle.dumps(residuals_of(rows, *EXACT)))  # as it travels to the workers
    for number, (on, residual) in enumerate(zip(EXACT, made, strict=True)):
        assert residual(left, right).tolist() == expected.column(number).to_pylist(), on


@pytest.mark.parametrize(
    ("on", "why"),
    [
        ("l.s RLIKE r.s", "rlike cannot be evaluated in Python exactly as in Spark"),
        ("lower(l.s) = lower(r.s)", "lower cannot be evaluated in Python exactly as in Spark"),
        ("sin(l.x) > r.x", "SIN cannot be evaluated in Python exactly as in Spark"),
        ("l.s COLLATE UTF8_LCASE = r.s COLLATE UTF8_LCASE", "it has a collation"),
        ("try_cast(l.s AS int) = r.a", "it gives NULL or wraps around where Spark in ANSI mode raises an error"),
        ("try_add(l.a, r.a) = 1", "it gives NULL or wraps around where Spark in ANSI mode raises an error"),
        ("CAST(l.x AS string) = r.s", "cannot be written as text locally"),
        ("double_it(l.a) = r.a", "a UDF cannot be evaluated in Python exactly as in Spark"),
    ],
)
def test_what_python_cannot_decide_as_spark_does_is_refused(rows: DataFrame, on: str, why: str) -> None:
    rows.sparkSession.udf.register("double_it", lambda a: None if a is None else 2 * a, "int")
    with pytest.raises(SpecError, match="is not supported in this kind of join") as refused:
        residuals_of(rows, on)
    assert why in str(refused.value)
    assert "if only one side is involved, compute it as a column of that side first" in str(refused.value)


def test_what_depends_on_the_session_is_refused(spark: SparkSession, rows: DataFrame) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    with pytest.raises(SpecError, match="days in the time zone Europe/Berlin are not always 24 hours long"):
        residuals_of(rows, "l.ts > r.ts + INTERVAL 1 DAY")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    with pytest.raises(SpecError, match="Spark in ANSI mode raises"):
        residuals_of(rows, "l.a + r.a = 1")
    assert residuals_of(rows, "l.s = r.s OR l.a = r.m")  # nothing here depends on it


def test_a_condition_without_a_residual_needs_nothing(rows: DataFrame) -> None:
    assert python_residual(analyze(rows, rows, "l.a < r.a", None, "_right", ("l", "r"))) is None
