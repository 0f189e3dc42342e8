"""A stream with the nearest rows of a table, beside the as-of join of static frames; versions are tested in `test_tables`."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import weft
from tests.spark.streams import Desk
from tests.spark.test_asof import START, _rows
from weft.errors import SpecError

SELECT = ["l.id AS x", "r.id AS y"]
CASES: dict[str, dict[str, Any]] = {
    "backward": {"on": "ts", "by": "K"},
    "no key": {"on": "ts", "strict": True, "how": "inner"},
    "text": {"on": "ts", "by": {"s": "S"}, "how": "inner"},
    "several keys": {"on": "ts", "by": ["k", "s"], "direction": "forward"},
    "nearest": {"on": "ts", "by": "k", "direction": "nearest", "tolerance": "1 second"},
    "doubles": {"on": "x", "by": "k", "direction": "nearest", "tolerance": 0.5, "strict": True},
    "whole numbers": {"on": ("v", "id"), "direction": "forward"},
    "dates": {"on": "day", "by": "s", "tolerance": "1 day"},
    "day and time": {"on": ("day", "ts"), "direction": "forward", "tolerance": "3 seconds"},
    "where": {"on": "ts", "by": "k", "where": "l.v >= r.v AND l.s || r.s <> 'a' AND l.x > 0.5"},
    "where alone": {"on": "ts", "where": "l.v = r.v AND l.v > 1", "direction": "nearest", "how": "inner"},
}


@pytest.fixture
def desk(spark, tmp_path):
    return Desk(spark, tmp_path)


def _dated(frame):
    return frame.withColumn("day", F.expr("date_add(to_date(ts), CAST(v AS INT))"))


def _counted(found: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in found.to_pylist())


def test_every_case_beside_static_frames(desk) -> None:
    """One query with all cases: a union, of which each branch must find what the join of static frames finds."""
    stream = _dated(desk.stream("rows", [_rows(1, batch, rows) for batch, rows in ((0, 40), (1, 0), (2, 25), (3, 1))]))
    whole = _dated(desk.spark.read.parquet(str(desk.folder / "rows")))
    table = _dated(desk.spark.createDataFrame(_rows(2, 1, 60)))
    found, expected = [], []
    for case, options in CASES.items():
        asked = {"ties": "id", "select": SELECT, **options}
        found.append(weft.asof_join(stream, table, state=desk.state, name=case.replace(" ", "-"), **asked))
        expected.append(weft.asof_join(whole, table, tasks=1, **asked))
        found[-1], expected[-1] = (frame.withColumn("case", F.lit(case)) for frame in (found[-1], expected[-1]))
    first, *others = found
    for other in others:
        first = first.unionAll(other)
    written = _counted(desk.run(first))
    assert {case for _, y, case in written if y is not None} == set(CASES)
    assert written == sum((_counted(frame.toArrow()) for frame in expected), Counter())


def test_columns_and_an_empty_table(desk) -> None:
    stream, table = desk.stream("rows", [_rows(1, 0, 5)]), desk.spark.createDataFrame(_rows(2, 0, 5))
    joined = weft.asof_join(stream, table.where("id < 0"), on="ts", by="s", state=desk.state)
    assert joined.columns == [*stream.columns, "id_right", "ts_right", "k_right", "x_right", "v_right"]
    written = desk.run(joined)
    assert written.num_rows == 5
    assert written["id_right"].null_count == 5


def test_of_equal_rows_the_last_that_was_read_is_taken(desk) -> None:
    rows = pa.table({"t": [1, 2, 3]})
    table = desk.spark.createDataFrame(pa.table({"t": [2, 1, 2, 2], "n": [1, 2, 3, 4]})).coalesce(1)
    back = weft.asof_join(desk.stream("rows", [rows]), table, on="t", state=desk.state, select=["l.t", "r.n"])
    assert _counted(desk.run(back)) == Counter([(1, 2), (2, 4), (3, 4)])


def _timed(batch: int) -> pa.Table:
    times = [START + timedelta(seconds=10 * batch + second) for second in range(10)]
    return pa.table({"ts": pa.array(times, pa.timestamp("us", tz="UTC")), "k": [second % 3 for second in range(10)]})


@pytest.mark.parametrize("select", [None, ["l.ts", "upper(r.word) AS word", "l.k"]])
def test_an_aggregation_behind_goes_by_the_watermark_in_front(desk, select) -> None:
    rows = desk.stream("rows", [_timed(batch) for batch in range(4)]).withWatermark("ts", "2 seconds")
    words = [(START, 1, "a"), (START, 2, "b"), (START + timedelta(seconds=10), 1, "c")]
    table = desk.spark.createDataFrame(words, "ts timestamp, k long, word string")
    joined = weft.asof_join(rows, table, on="ts", by="k", how="inner", select=select, state=desk.state)
    counts = desk.run(joined.groupBy(F.window("ts", "10 seconds"), "word").count()).to_pylist()
    found = {(row["window"]["start"].astimezone(timezone.utc), row["word"].lower()): row["count"] for row in counts}
    at = [START + timedelta(seconds=10 * batch) for batch in range(3)]
    assert found == {(at[0], "a"): 3, **{(time, "b"): 3 for time in at}, **{(time, "c"): 3 for time in at[1:]}}


def test_a_table_behind_a_table(desk) -> None:
    """Each of both needs no name: one stands on the other."""
    rows = desk.stream("rows", [_timed(0)])
    prices = desk.spark.createDataFrame([(START, 1, 10.0), (START, 2, 20.0)], "ts timestamp, k long, price double")
    levels = desk.spark.createDataFrame([(5.0, "low"), (15.0, "high")], "price double, level string")
    priced = weft.asof_join(rows, prices, on="ts", by="k", how="inner", select=["l.*", "r.price"], state=desk.state)
    joined = weft.asof_join(priced, levels, on="price", select=["l.k", "r.level"], state=desk.state)
    assert _counted(desk.run(joined)) == Counter({(1, "low"): 3, (2, "high"): 3})


# What is refused, and what is said


REFUSED: dict[str, tuple[dict[str, Any], str, str, str]] = {
    **{
        name: (
            {name: "1 second"},
            "A stream with a table has no delay.",
            "The table is complete when a batch begins, so every row of the stream is emitted with its batch: nothing waits.",
            "omit delay=, left_delay= and right_delay=.",
        )
        for name in ("delay", "left_delay", "right_delay")
    },
    "tasks": (
        {"tasks": 3},
        "tasks=3 does not apply to a stream with a table.",
        "The stream is not shuffled: each of Spark's tasks looks its rows up in the whole table, through one index.",
        "omit tasks=.",
    ),
    "refresh": (
        {"refresh": "hourly"},
        "refresh='hourly' is neither a length of time nor a column of the table.",
        (
            "It says how often the table is read again, or names a column whose greatest value changes with each version; "
            "the table has: id, ts, k, s, x, v."
        ),
        "write refresh='1 hour', or name a column.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_apply_is_refused(desk, case) -> None:
    stream, table = desk.stream("rows", [_rows(1, 0, 5)]), desk.spark.createDataFrame(_rows(2, 0, 5))
    options, what, there_is, hint = REFUSED[case]
    for asks in (weft.asof_join, weft.explain_asof_join):
        with pytest.raises(SpecError) as refused:
            asks(stream, table, on="ts", **options)
        assert str(refused.value) == f"{what}\n{there_is}\nHint: {hint}"
        assert refused.value.argument == ("delay" if "delay" in case else case)


def test_a_table_on_the_left_is_refused(desk) -> None:
    stream, table = desk.stream("rows", [_rows(1, 0, 5)]), desk.spark.createDataFrame(_rows(2, 0, 5))
    with pytest.raises(SpecError) as refused:
        weft.asof_join(table, stream, on="ts")
    assert str(refused.value) == (
        "The left side is a table and the right side a stream.\n"
        "Each left row is given one right row; for a row of the table, a nearer one could arrive in any later batch.\n"
        "Hint: put the stream on the left: weft.asof_join(stream, table, on=...); or read the table as a stream too, with delay=."
    )
    with pytest.raises(SpecError, match=r"needs a state path.\nWeft writes the table there, as an index"):
        weft.asof_join(stream, table, on="ts")


def test_explain(desk, golden) -> None:
    trades = desk.spark.readStream.schema("ts timestamp, symbol string, price double").parquet(str(desk.folder))
    prices = desk.spark.createDataFrame([], "ts timestamp, symbol string, venue string, ask double, version long")
    asked: tuple[dict[str, Any], ...] = (
        {"by": "symbol", "refresh": "1 hour"},
        {
            "direction": "nearest",
            "tolerance": "2 seconds",
            "ties": "version",
            "where": "l.price >= r.ask",
            "how": "inner",
        },
        {"by": {"symbol": "symbol", "price": "ask"}, "direction": "forward", "refresh": "version"},
    )
    told = [f"{options}\n{weft.explain_asof_join(trades, prices, on='ts', **options)}\n" for options in asked]
    golden("explain-asof-table.txt", "\n".join(told))
