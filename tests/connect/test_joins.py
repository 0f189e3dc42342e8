"""Joins on a Spark Connect session: static and streaming, of all sorts, with the answers of Spark itself."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import weft
from tests.spark.streams import Desk
from tests.spark.test_conditions import BETWEEN, DDL, LISTS, NESTED, NULLS, TRIED, compared
from weft.errors import SpecError, StateMismatch

START = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
TIMED = pa.schema({"id": pa.int64(), "x": pa.float64(), "ts": pa.timestamp("us", "UTC")})


def rows_of(connect: SparkSession) -> DataFrame:
    found = [
        (n, n % 3 if n % 7 else None, n / 2, f"ab{n % 4}", [n, n + 1], {"k": n}, (n, f"s{n}"),
         START + dt.timedelta(seconds=n), START.date() + dt.timedelta(days=n), n, n)
        for n in range(12)
    ]  # fmt: skip
    return connect.createDataFrame(found, DDL)


def timed(numbers: range, step: float = 1.0) -> pa.Table:
    rows = [{"id": n, "x": n * step % 7, "ts": START + dt.timedelta(seconds=n)} for n in numbers]
    return pa.Table.from_pylist(rows, TIMED)


def expected(left: pa.Table, right: pa.Table, seconds: int) -> Counter[tuple[int, int]]:
    pairs = Counter[tuple[int, int]]()
    for one in left.to_pylist():
        for two in right.to_pylist():
            if one["x"] > two["x"] and abs((one["ts"] - two["ts"]).total_seconds()) <= seconds:
                pairs[one["id"], two["id"]] += 1
    return pairs


def pairs_in(table: pa.Table, one: str = "id", two: str = "id_right") -> Counter[tuple[int, int]]:
    return Counter(zip(table.column(one).to_pylist(), table.column(two).to_pylist(), strict=True))


def test_conditions_decide_as_in_spark(connect: SparkSession) -> None:
    compared(rows_of(connect), [*BETWEEN[::9], *NULLS[::9], *LISTS[::9], *TRIED[::9], *NESTED[::9]])


@pytest.mark.long
@pytest.mark.parametrize(
    "conditions", [BETWEEN, NULLS, LISTS, TRIED, NESTED], ids=["between", "nulls", "lists", "tried", "nested"]
)
def test_every_condition_decides_as_in_spark(connect: SparkSession, conditions: list[str]) -> None:
    compared(rows_of(connect), conditions)


def test_columns_and_selections_decide_as_in_spark(connect: SparkSession) -> None:
    left, right = rows_of(connect).drop("ts"), rows_of(connect)
    asked = (left.x > right["x"]) & (F.col("l.a") == F.col("r.a")) & ~F.col("l.s").like("%3") | (left["id"] == F.lit(5))
    chosen: list[Any] = [F.col("l.id").alias("p"), "r.id AS q", "l.x + r.x AS total", right.s.alias("t"), "upper(l.s)"]
    ours = weft.join(left, right, on=asked, select=chosen, tasks=1)
    text = "(l.x > r.x AND l.a = r.a AND NOT l.s LIKE '%3') OR l.id = 5"
    theirs = left.alias("l").crossJoin(right.alias("r")).where(text)
    theirs = theirs.selectExpr("l.id AS p", "r.id AS q", "l.x + r.x AS total", "r.s AS t", "upper(l.s)")
    assert ours.columns == theirs.columns
    found, wanted = (Counter(map(repr, frame.collect())) for frame in (ours, theirs))
    assert wanted
    assert found == wanted


@pytest.mark.parametrize("how", ["left", "full", "left_semi", "left_anti"])
def test_kinds_of_static_joins(connect: SparkSession, how: str) -> None:
    left, right = rows_of(connect).select("id", "x", "s"), rows_of(connect).selectExpr("id AS k", "x AS y", "s AS t")
    on = "l.x < r.y AND l.s LIKE concat('%', substring(r.t, 3, 1))"
    found = weft.join(left, right, on=on, how=how, tasks=2)
    theirs = left.alias("l").join(right.alias("r"), F.expr(on), how)
    assert Counter(map(tuple, found.collect())) == Counter(map(tuple, theirs.collect()))


def test_streams_join_through_silence_and_restarts(desk: Desk) -> None:
    parts = [timed(range(20)), timed(range(20, 40)), timed(range(40, 60))]
    others = [timed(range(30), 1.5), timed(range(30, 60), 1.5)]

    def joined() -> DataFrame:
        left, right = desk.stream("left", parts[:2]), desk.stream("right", others[:1])
        return weft.join(
            left,
            right,
            on="l.x > r.x",
            window=weft.within("5 seconds", on="ts", delay="1 minute"),
            tasks=3,
            state=desk.state,
        )

    frame = joined()
    first = desk.run(frame)
    assert pairs_in(first) == expected(pa.concat_tables(parts[:2]), others[0], 5)
    desk.add("left", 2, parts[2])  # a batch in which the right stream is silent
    desk.run(frame)
    desk.add("right", 1, others[1])
    frame = joined()  # as a restarted program builds it
    assert pairs_in(desk.run(frame)) == expected(pa.concat_tables(parts), pa.concat_tables(others), 5)
    query = desk.start(frame)
    query.awaitTermination()
    changed = weft.join(
        desk.stream("left", parts), desk.stream("right", others), on="l.x >= r.x", state=desk.state, tasks=3,
        window=weft.within("5 seconds", on="ts", delay="1 minute"),
    )  # fmt: skip
    with pytest.raises(StateMismatch, match="condition"):
        desk.start(changed)


def test_chains_carry_the_watermark_and_reports(desk: Desk) -> None:
    tables = [timed(range(20)), timed(range(20, 200))]
    streams = [desk.stream(name, tables).withWatermark("ts", "10 seconds") for name in "abc"]
    near = weft.within("1 second", on="ts")
    first = weft.join(streams[0], streams[1], on="l.id = r.id", window=near, select=["l.*"], state=desk.state, tasks=2)
    assert first.schema["ts"].metadata["weft.lag"] > 0
    second = weft.join(
        first, streams[2], on="l.id = r.id", window=near, select=["l.ts", "l.id", "r.x"], state=desk.state, tasks=2
    )
    counted = second.groupBy(F.window("ts", "10 seconds").alias("w")).count().selectExpr("w.start", "count")
    found = desk.run(counted).to_pylist()
    assert sum(row["count"] for row in found) >= 100
    assert {row["count"] for row in found} == {10}


def test_self_natural_and_asof_joins(desk: Desk) -> None:
    window = weft.within("2 seconds", on="ts", delay="1 minute")
    stream = desk.stream("stream", [timed(range(10)), timed(range(10, 20))])
    near = weft.self_join(
        stream, on="abs(a.id - b.id) <= 1", unordered=True, window=window, select=["a.id AS p", "b.id AS q"],
        state=desk.state, name="near", tasks=2,
    )  # fmt: skip
    found = pairs_in(desk.run(near, "near"), "p", "q")
    assert {tuple(sorted(pair)) for pair in found} == {(n, n + 1) for n in range(19)}
    asof = weft.asof_join(
        stream, desk.stream("quotes", [timed(range(0, 20, 3))]), on="ts", tolerance="1 hour", delay="1 second", state=desk.state,
        select=["l.id", "r.id AS before"], name="asof", tasks=2,
    )  # fmt: skip
    before = pairs_in(desk.run(asof, "asof"), "id", "before")
    assert before
    assert set(before) <= {(n, n - n % 3) for n in range(20)}
    documents = desk.spark.createDataFrame(
        [(1, '{"u": 1, "v": 2}'), (2, '{"u": 1, "w": 3}')], "id long, document string"
    )
    united = weft.natural_join(documents, id="id", tasks=2).collect()
    assert [row["merged"] for row in united] == ['{"u":1,"v":2,"w":3}']


def test_explain_says_the_same_on_both_kinds_of_session(
    spark: SparkSession, connect: SparkSession, monkeypatch
) -> None:
    window = weft.within("1 minute", on="ts", delay="5 seconds")
    said = [str(weft.explain(rows_of(connect), rows_of(connect), on="abs(l.x - r.x) <= 0.5", window=window, tasks=4))]
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED")
    rows = spark.createDataFrame([], DDL)
    said.append(str(weft.explain(rows, rows, on="abs(l.x - r.x) <= 0.5", window=window, tasks=4)))
    assert said[0] == said[1]


def test_what_a_client_cannot_do_is_told(desk: Desk) -> None:
    stream = desk.stream("stream", [timed(range(3))])
    table = rows_of(desk.spark)
    window = weft.within("1 second", on="ts")
    with pytest.raises(SpecError, match="A stream with a table does not run on Spark Connect"):
        weft.join(stream, table, on="l.id = r.id")
    with pytest.raises(SpecError, match=r"state='weft-state' is relative"):
        weft.join(stream, stream.select("*"), on="l.x < r.x", window=window, state="weft-state")
    with pytest.raises(SpecError, match="a UDF without a name"):
        weft.join(table, table.select("*"), on=F.udf(lambda p, q: p == q, "boolean")(F.col("l.id"), F.col("r.id")))
    with pytest.raises(SpecError, match="has no column 'nope'"):
        weft.join(table, table, on="l.nope = r.id")
    with pytest.raises(SpecError, match="both are the same frame"):
        weft.join(table, table, on=table.id < table.x)
