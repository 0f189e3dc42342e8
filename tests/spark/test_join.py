"""Joins of streams on Spark: a table of cases, each cut into batches and compared with the oracle or with Spark itself."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

import weft
from tests.spark.streams import Desk, pairs_of, tables
from weft.spec import Window
from weft_lab import oracle
from weft_lab.oracle import Batch, Compare, Row

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
SCHEMA = pa.schema({
    "id": pa.int64(), "k": pa.int32(), "x": pa.int64(), "y": pa.float64(), "s": pa.string(),
    "ts": pa.timestamp("us", tz="UTC"), "o": pa.float64(),
})  # fmt: skip


@pytest.fixture
def desk(spark, tmp_path):
    return Desk(spark, tmp_path)


def rows(count: int, seed: int, number: int) -> list[Row]:
    """Make the rows of one batch: small domains, NULL and NaN, time stamps out of order, some of them late."""
    draw = random.Random(seed * 1000 + number)
    made: list[Row] = []
    for position in range(count):
        back = draw.choice((0, 0, 1, 2, 3, 5, 9, 14))
        made.append({
            "id": seed * 10_000 + number * 1_000 + position,
            "k": draw.choice((1, 2, 3, 4, None)),
            "x": draw.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, None)),
            "y": draw.choice((0.0, -0.0, 1.5, 2.5, 3.0, math.nan, math.inf, -1.0, None)),
            "s": draw.choice(("apple", "apricot", "banana", "blé", "common-prefix-a", "common-prefix-b", None)),
            "ts": draw.choice((START + timedelta(seconds=number * 6 + position // 4 - back),) * 20 + (None,)),
            "o": draw.choice((0.0, 1.0, 2.0, math.nan, None)),
        })  # fmt: skip
    return made


SIZES = ((25, 20), (0, 18), (30, 1), (12, 25))
TWO = [Batch([rows(left, 1, n)], [rows(right, 2, n)]) for n, (left, right) in enumerate(SIZES)]
ONE = [Batch([rows(left, 3, n)]) for n, left in enumerate((25, 1, 0, 30))]


@dataclass(frozen=True)
class Case:
    """A join of the streams above."""

    on: str
    theta: tuple[Compare, ...]
    window: Window = field(default_factory=weft.unbounded)
    options: dict[str, Any] = field(default_factory=dict)
    residual: Callable[[Row, Row], bool] | None = None
    left_only: Callable[[Row], bool] | None = None


def like(left: Row, right: Row) -> bool:
    return left["s"] is not None and right["s"] is not None and left["s"].startswith(right["s"][:1])


CASES = {
    "inequality, full history": Case("l.x > r.x", (Compare("x", ">", "x"),), options={"tasks": 3}),
    "two inequalities within time": Case(
        "l.x > r.x AND l.y < r.y", (Compare("x", ">", "x"), Compare("y", "<", "y")),
        weft.within("4 seconds", on="ts"), {"scheme": "matrix", "tasks": 4},
    ),
    "asymmetric time with delay": Case(
        "l.x <= r.x", (Compare("x", "<=", "x"),),
        weft.within(before="3 seconds", after="1 second", on="ts", delay="4 seconds"), {"scheme": "split", "tasks": 2},
    ),
    "band, by range": Case(
        "abs(l.x - r.x) <= 1", (Compare("x", "band", "x", -1, 1),), weft.within("5 seconds", on="ts", delay="6 seconds"),
        {"scheme": weft.schemes.Range(enough=1, imbalance=1.0), "tasks": 3},
    ),
    "equality, tumbling": Case(
        "l.k = r.k", (Compare("k", "=", "k"),), weft.tumbling("5 seconds", on="ts", delay="2 seconds"),
        {"scheme": "hash", "tasks": 3},
    ),
    "equality and inequality, last rows": Case(
        "l.k = r.k AND l.y >= r.y", (Compare("k", "=", "k"), Compare("y", ">=", "y")), weft.last(12, order="o"),
        {"scheme": "hash", "index": "hash", "tasks": 2},
    ),
    "last rows in order of time, one side filtered": Case(
        "l.x != r.x AND l.k > 1", (Compare("x", "!=", "x"),), weft.last(7, order="ts"), {"scheme": "broadcast", "tasks": 3},
        left_only=lambda row: row["k"] is not None and row["k"] > 1,
    ),
    "tumbling rows": Case(
        "l.y <= r.y", (Compare("y", "<=", "y"),), weft.tumbling_rows(10), {"scheme": "matrix", "tasks": 2, "index": "scan"}
    ),
    "interval": Case(
        "l.x BETWEEN r.k AND r.x", (Compare("x", ">=", "k"), Compare("x", "<=", "x")), options={"tasks": 3},
    ),
    "text": Case(
        "l.s >= r.s AND l.k = r.k", (Compare("s", ">=", "s"), Compare("k", "=", "k")), options={"tasks": 2},
    ),
    "LIKE": Case(
        "l.s LIKE concat(substr(r.s, 1, 1), '%') AND l.x < r.x", (Compare("x", "<", "x"),), options={"tasks": 2},
        residual=like,
    ),
}  # fmt: skip


@pytest.mark.parametrize("names", [list(CASES)[0::2], list(CASES)[1::2]], ids=["one half", "the other"])
def test_streams_join_as_the_oracle_says(desk, names):
    left, right = (desk.stream(side, tables(TWO, side, SCHEMA)) for side in ("left", "right"))
    joins = {
        name: weft.join(
            left, right, on=case.on, window=case.window, select=["l.id AS x", "r.id AS y"], state=desk.state_of(name),
            **case.options,
        )
        for name, case in CASES.items() if name in names
    }  # fmt: skip
    assert all(joined.isStreaming for joined in joins.values())
    for name, found in desk.run_together(joins).items():
        case = CASES[name]
        expected = oracle.joined(TWO, case.theta, case.window, left_only=case.left_only, residual=case.residual)
        assert len(expected.pairs) > 10, name
        assert pairs_of(found) == pairs_of(expected), name
        assert desk.batches(name) == len(TWO), name
        assert desk.late(name) == expected.late, name


SELF: dict[str, tuple[bool, str, tuple[Compare, ...], Window]] = {
    "ordered, time": (
        False,
        "a.x > b.x",
        (Compare("x", ">", "x"),),
        weft.within("6 seconds", on="ts", delay="5 seconds"),
    ),
    "unordered, band": (True, "abs(a.x - b.x) <= 2", (Compare("x", "band", "x", -2, 2),), weft.unbounded()),
    "unordered, last rows, two columns": (True, "a.x > b.k", (Compare("x", ">", "k"),), weft.last(15, order="ts")),
}


def test_a_stream_joins_itself(desk):
    stream = desk.stream("one", tables(ONE, "left", SCHEMA))
    joins = {
        name: weft.self_join(
            stream, on=on, window=window, unordered=unordered, tasks=3, select=["a.id AS x", "b.id AS y"],
            state=desk.state_of(name),
        )
        for name, (unordered, on, _, window) in SELF.items()
    }  # fmt: skip
    for name, found in desk.run_together(joins).items():
        unordered, _, theta, window = SELF[name]
        expected = oracle.self_joined(ONE, theta, window, unordered=unordered)
        assert len(expected.pairs) > 10, name
        assert pairs_of(found) == pairs_of(expected), name
        assert desk.late(name) == expected.late, name


def test_late_rows_are_dropped_and_counted(desk):
    window = weft.within("2 seconds", on="ts", delay="1 second")
    expected = oracle.joined(TWO, [Compare("x", "<", "x")], window)
    assert expected.late["left"] > 3 and expected.late["right"] > 3
    left, right = (desk.stream(side, tables(TWO, side, SCHEMA)) for side in ("left", "right"))
    joined = weft.join(left, right, on="l.x < r.x", window=window, select=["l.id AS x", "r.id AS y"], state=desk.state)
    assert pairs_of(desk.run(joined)) == pairs_of(expected)
    assert desk.late() == expected.late


# Compared with Spark's own answer on the same rows, static: what Columns, UDFs and expressions mean is Spark's to say.


def bound(left: DataFrame, right: DataFrame) -> Column:
    return (left.x > right.k) & (left.y <= right.y)


def aliased(left: DataFrame, right: DataFrame) -> Column:
    return (F.col("l.x") + 1 >= F.col("r.x")) & (F.col("r.k") != F.col("l.k")) & (F.col("r.x") > 2)


def with_udf(left: DataFrame, right: DataFrame) -> Column:
    near = F.udf(lambda x, y: None if x is None or y is None else abs(x - y) <= 2, BooleanType())
    return near(left.x, right.x) & (left.k == right.k)


def either(left: DataFrame, right: DataFrame) -> Column:
    return (left.k == right.k) | (left.x < right.x - 5)


COLUMNS: dict[str, Callable[[DataFrame, DataFrame], Column | str]] = {
    "columns of the frames": bound,
    "columns by alias": aliased,
    "a Python UDF": with_udf,
    "a disjunction, which no index serves": either,
    "key expressions": lambda left, right: "l.y * 1.05 < r.y + 1 AND upper(l.s) = upper(r.s)",
    "one side of a difference": lambda left, right: "l.x - r.x >= 2 AND r.y - l.y > 1",
    "a cast of the difference": lambda left, right: (
        "CAST(l.y - r.y AS INT) <= 0 AND l.k = r.k AND l.y < 10 AND l.y > -10 AND r.y > -10 AND r.y < 10"
    ),
    "null-safe equality": lambda left, right: "l.k <=> r.k AND l.x < r.x",
}


def test_conditions_mean_what_they_mean_in_spark(desk):
    left, right = (desk.stream(side, tables(TWO, side, SCHEMA)) for side in ("left", "right"))
    joins = {
        name: weft.join(
            left, right, on=on(left, right), window=weft.unbounded(), select=["l.id AS x", "r.id AS y"], tasks=2,
            state=desk.state_of(name),
        )
        for name, on in COLUMNS.items()
    }  # fmt: skip
    found = desk.run_together(joins)
    one, two = (desk.spark.read.parquet(str(desk.folder / side)) for side in ("left", "right"))
    for name, condition in COLUMNS.items():
        on = condition(one, two)
        crossed = one.alias("l").join(two.alias("r"), F.expr(on) if isinstance(on, str) else on)
        expected = pairs_of(crossed.select("l.id", "r.id").toDF("x", "y").toArrow())
        assert len(expected) > 10, name
        assert pairs_of(found[name]) == expected, name


def test_all_columns_come_through_and_collisions_get_the_suffix(desk):
    left, right = (desk.stream(side, tables(TWO[:2], side, SCHEMA)) for side in ("left", "right"))
    right = right.withColumnRenamed("s", "text")
    joined = weft.join(
        left, right, on="l.k = r.k AND l.x < r.x", window=weft.unbounded(), suffix="_r", state=desk.state
    )
    assert joined.columns == [
        "id", "k", "x", "y", "s", "ts", "o", "id_r", "k_r", "x_r", "y_r", "text", "ts_r", "o_r",
    ]  # fmt: skip
    found = desk.run(joined)
    known = {row["id"]: row for batch in TWO for part in (*batch.left, *batch.right) for row in part}
    assert found.num_rows > 10
    for row in found.to_pylist():
        one, two = known[row["id"]], known[row["id_r"]]
        assert [row[name] for name in ("k", "x", "s", "ts")] == [one[name] for name in ("k", "x", "s", "ts")]
        assert [row[name] for name in ("k_r", "x_r", "text", "ts_r")] == [two[name] for name in ("k", "x", "s", "ts")]


def test_select_computes_expressions_of_the_pair(desk):
    left, right = (desk.stream(side, tables(TWO[:1], side, SCHEMA)) for side in ("left", "right"))
    joined = weft.join(
        left, right, on="l.x > r.x", window=weft.unbounded(), state=desk.state,
        select=["l.id", "r.id AS other", "l.x - r.x AS apart", F.upper("r.s").alias("loud")],
    )  # fmt: skip
    assert joined.columns == ["id", "other", "apart", "loud"]
    found = desk.run(joined)
    assert found.num_rows > 10
    assert min(found.column("apart").to_pylist()) >= 1
    assert {text for text in found.column("loud").to_pylist() if text} <= {
        "APPLE", "APRICOT", "BANANA", "BLÉ", "COMMON-PREFIX-A", "COMMON-PREFIX-B"
    }  # fmt: skip


# DuckDB as the second oracle, on larger runs.

BAND = "l.v BETWEEN r.v - 3 AND r.v + 3 AND abs(l.t - r.t) <= 200"  # the first part as DuckDB's range join wants it


def large(seed: int, count: int = 200_000) -> pa.Table:
    draw = np.random.default_rng(seed)
    order = np.arange(count) + draw.integers(-50, 50, count)
    return pa.table({"id": np.arange(count), "v": draw.integers(0, 20_000, count), "t": np.maximum(order, 0)})


def confirmed(left: pa.Table, right: pa.Table) -> tuple[int, int]:
    import duckdb

    with duckdb.connect() as db:
        db.register("lt", left)
        db.register("rt", right)
        found = db.execute(f"SELECT count(*), sum((l.id * 31 + r.id * 17) % 1000003) FROM lt l, rt r WHERE {BAND}")
        ((count, digest),) = found.fetchall()
    return int(count), int(digest)


def _digest(frame: DataFrame) -> tuple[int, int]:
    row = frame.selectExpr("count(*)", "sum((x * 31 + y * 17) % 1000003)").first()
    assert row is not None
    return row[0], row[1]


def test_duckdb_confirms_a_large_static_join(desk):
    left, right = large(1), large(2)
    expected = confirmed(left, right)
    assert expected[0] > 20_000
    one, two = (desk.spark.createDataFrame(table) for table in (left, right))
    joined = weft.join(
        one, two, on="abs(l.v - r.v) <= 3", window=weft.within(200, on="t"), select=["l.id AS x", "r.id AS y"]
    )
    assert _digest(joined) == expected


def test_duckdb_confirms_a_large_streaming_join(desk):
    left, right = large(3), large(4)
    expected = confirmed(left, right)
    assert expected[0] > 20_000
    streams = [
        desk.stream(name, [table.slice(start, 50_000) for start in range(0, 200_000, 50_000)])
        for name, table in (("left", left), ("right", right))
    ]
    window = weft.within(200, on="t", delay=100)
    joined = weft.join(
        *streams, on="abs(l.v - r.v) <= 3", window=window, select=["l.id AS x", "r.id AS y"], state=desk.state
    )
    desk.run(joined)
    assert _digest(desk.spark.read.parquet(str(desk.folder / "out"))) == expected
    assert desk.late() == {"left": 0, "right": 0}


@pytest.mark.parametrize("name", ["a.b", "a`b", "ä", "two words", "_weft1", "task", "c0"])
def test_columns_of_any_name_and_sides_of_one_partition(spark, name: str) -> None:
    """A union runs two single partitions as one, and PySpark looks columns up by name."""
    left = spark.range(0, 40, 1, 1).selectExpr("id", "id % 7 AS x").withColumn(name, F.col("id") * 2)
    right = spark.range(0, 40, 1, 1).selectExpr("id", "id % 5 AS x").withColumn(name, F.col("id") * 3)
    quoted = "`" + name.replace("`", "``") + "`"
    joined = weft.join(left, right, on=f"abs(l.x - r.x) <= 1 AND l.{quoted} < r.{quoted}", tasks=3)
    found = Counter((row["id"], row[name], row["id_right"], row[f"{name}_right"]) for row in joined.collect())
    wanted = Counter(
        (i, 2 * i, j, 3 * j) for i in range(40) for j in range(40) if abs(i % 7 - j % 5) <= 1 and 2 * i < 3 * j
    )
    assert found == wanted
