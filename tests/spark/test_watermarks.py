"""Event time on Spark: watermarks in, through chains of joins, and out to Spark's own stateful operators."""

from __future__ import annotations

import json
import logging
from collections import Counter
from datetime import datetime, timedelta, timezone

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Observation
from pyspark.sql import functions as F

import weft
from tests.spark.streams import Desk
from weft.errors import SpecError, WeftWarning
from weft.spark.observed import _total
from weft.spark.shuttle import COUNTS, NOTE, marked, note_of

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
FIRST = "l.k = r.k AND abs(l.x - r.x) <= 1"
SECOND = "l.x < r.x AND l.k = r.k"
BATCHES, ROWS = 8, 12


def _table(rng: np.random.Generator, batch: int) -> pa.Table:
    """Two seconds of a stream, in order."""
    at = np.sort(rng.integers(0, 2000, ROWS))
    times = [START + timedelta(seconds=2 * batch, milliseconds=int(ms)) for ms in at]
    return pa.table({
        "id": pa.array(np.arange(ROWS) + 100 * batch), "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        "x": pa.array(rng.integers(0, 6, ROWS)), "k": pa.array(rng.integers(0, 3, ROWS)),
    })  # fmt: skip


TABLES = {
    name: [_table(np.random.default_rng(seed), batch) for batch in range(BATCHES)] for seed, name in enumerate("abc")
}


@pytest.fixture
def desk(spark, tmp_path):
    return Desk(spark, tmp_path)


@pytest.fixture
def frames(desk):
    return {name: desk.stream(name, tables) for name, tables in TABLES.items()}


@pytest.fixture(scope="module")
def duck():
    """Return DuckDB with the three streams, and the pairs of the first join."""
    found = duckdb.connect()
    for name, tables in TABLES.items():
        found.register(name, pa.concat_tables(tables))
    found.execute(
        "CREATE TABLE pairs AS SELECT l.ts, r.ts AS rts, l.x, l.k, l.id AS i, r.id AS j FROM a l, b r "
        f"WHERE {FIRST} AND r.ts BETWEEN l.ts - INTERVAL 10 SECOND AND l.ts + INTERVAL 10 SECOND"
    )
    return found


def _first(frames, desk, name=None, select=("l.ts", "l.x", "l.k", "l.id AS i", "r.id AS j"), **window):
    options = {"on": "ts", "delay": "1 second", **window}
    return weft.join(
        frames["a"], frames["b"], on=FIRST, window=weft.within("10 seconds", **options), select=list(select), tasks=2,
        state=desk.state, name=name,
    )  # fmt: skip


def _windows(found: pa.Table) -> dict[datetime, int]:
    return {row["start"]: row["count"] for row in found.to_pylist()}


def _counted(frame, column="ts"):
    return frame.groupBy(F.window(column, "2 seconds")).count().select("window.start", "count")


def _expected_windows(duck, column="ts") -> dict[datetime, int]:
    return dict(
        duck.execute(f"SELECT time_bucket(INTERVAL 2 SECOND, {column}), count(*) FROM pairs GROUP BY 1").fetchall()
    )


def _chain_count(duck) -> int:
    return duck.execute(
        f"SELECT count(*) FROM pairs l, c r WHERE {SECOND} AND abs(epoch_us(l.ts) - epoch_us(r.ts)) <= 1000000"
    ).fetchone()[0]


def test_a_join_of_joins_loses_nothing(desk, frames, duck):
    first = _first(frames, desk)
    chained = weft.join(
        first, frames["c"], on=SECOND, window=weft.within("1 second", on="ts", right_delay="1 second"),
        select=["l.i", "r.id AS z"], tasks=2, state=desk.state,
    )  # fmt: skip
    assert desk.run(chained).num_rows == _chain_count(duck) > 0


def test_a_delay_that_would_lose_pairs_is_refused_with_the_one_to_write(desk, frames):
    with pytest.raises(SpecError) as refused:
        weft.join(
            _first(frames, desk), frames["c"], on=SECOND, window=weft.within("1 second", on="ts", delay="1 second"),
            state=desk.state,
        )  # fmt: skip
    assert str(refused.value).splitlines() == [
        "A delay of 1 second is too short for the left side.",
        "Its 'ts' comes from a Weft join and can be 21 seconds out of order; pairs would be lost.",
        "Hint: write left_delay='21 seconds', or leave it out: Weft knows the delay of the left side.",
    ]
    assert refused.value.argument == "window"


def test_the_result_says_how_far_out_of_order_it_is(desk, frames):
    facts = {
        f.name: f.metadata
        for f in _first(frames, desk, select=("l.ts", "r.ts AS rts", "l.x", "r.ts + interval 1 day AS next")).schema
    }
    assert facts["ts"] == {"weft.lag": 21_000_000, "spark.watermarkDelayMs": 21_001}
    assert facts["rts"] == {"weft.lag": 21_000_000}  # Spark takes one event time column per stream
    assert facts["x"] == facts["next"] == {}
    only_right = _first(frames, desk, select=("r.ts AS rts", "l.x")).schema["rts"].metadata
    assert only_right == {"weft.lag": 21_000_000, "spark.watermarkDelayMs": 21_001}


@pytest.mark.parametrize("how", ["by itself", "set anew, too short", "in front"])
def test_every_window_that_an_aggregation_closes_is_right(desk, frames, duck, how):
    if how == "in front":  # as everyone writes it who comes from Spark's own joins
        streams = {name: frame.withWatermark("ts", "1 second") for name, frame in frames.items()}
        joined = _first(streams, desk, delay=None)
    else:
        joined = _first(frames, desk)
    if how == "set anew, too short":
        with pytest.warns(WeftWarning, match="1 second is too short for 'ts': .* 21 seconds out of order"):
            joined = joined.withWatermark("ts", "1 second")
    found, expected = _windows(desk.run(_counted(joined))), _expected_windows(duck)
    assert len(found) >= 2
    assert all(expected[start] == count for start, count in found.items())


def test_the_other_time_column_gets_a_watermark_by_asking_for_it(desk, frames, duck):
    joined = weft.join(
        frames["a"], frames["b"], on=FIRST, window=weft.within("1 second", on="ts", delay="1 second"),
        select=["l.ts", "r.ts AS rts"], tasks=2, state=desk.state,
    )  # fmt: skip
    with pytest.warns(WeftWarning, match="0 seconds is too short for 'rts'"):
        timed = joined.withWatermark("rts", "0 seconds")
    found = _windows(desk.run(_counted(timed, "rts")))
    expected = dict(
        duck.execute(
            f"SELECT time_bucket(INTERVAL 2 SECOND, r.ts), count(*) FROM a l, b r WHERE {FIRST} "
            "AND abs(epoch_us(l.ts) - epoch_us(r.ts)) <= 1000000 GROUP BY 1"
        ).fetchall()
    )
    assert len(found) >= 3
    assert all(expected[start] == count for start, count in found.items())


def test_duplicates_are_dropped_behind_a_join(desk, frames, duck):
    found = desk.run(_first(frames, desk, select=("l.ts", "l.id AS i")).dropDuplicates(["i", "ts"]))
    assert found.num_rows == duck.execute("SELECT count(DISTINCT i) FROM pairs").fetchone()[0]


def test_sparks_own_join_stands_behind(desk, frames, duck):
    other = (
        frames["c"]
        .withWatermark("ts", "1 second")
        .select(F.col("ts").alias("cts"), F.col("k").alias("ck"), F.col("id").alias("z"))
    )
    near = F.expr("k = ck AND cts BETWEEN ts - interval 1 second AND ts + interval 1 second")
    found = desk.run(_first(frames, desk).join(other, near).select("i", "z"))
    expected = duck.execute(
        "SELECT count(*) FROM pairs l, c r WHERE l.k = r.k AND abs(epoch_us(l.ts) - epoch_us(r.ts)) <= 1000000"
    ).fetchone()[0]
    assert found.num_rows == expected > 0


def test_sparks_own_aggregation_stands_in_front(desk, frames, duck):
    counts = (
        frames["a"].withWatermark("ts", "1 second").groupBy(F.window("ts", "2 seconds"), "k").count()
        .select(F.window_time("window").alias("ts"), "k", "count")
    )  # fmt: skip
    joined = weft.join(
        counts, frames["b"], on="l.k = r.k AND l.count > r.x", window=weft.within("1 second", on="ts", right_delay="4 seconds"),
        select=["l.ts", "l.k", "r.id"], tasks=2, state=desk.state,
    )  # fmt: skip
    assert (
        "spark.watermarkDelayMs" not in joined.schema["ts"].metadata
    )  # Spark takes one watermark on the way, and has it
    found = desk.run(joined)
    newest = max(table.column("ts").to_pylist()[-1] for table in TABLES["a"]) - timedelta(seconds=1)
    expected = duck.execute(
        "SELECT count(*) FROM (SELECT time_bucket(INTERVAL 2 SECOND, ts) + INTERVAL 2 SECOND AS w, k, count(*) AS n FROM a "
        "GROUP BY 1, 2) l, b r WHERE l.k = r.k AND l.n > r.x AND abs(epoch_us(l.w) - 1 - epoch_us(r.ts)) <= 1000000 "
        "AND l.w <= ?", [newest],
    ).fetchone()[0]  # fmt: skip
    assert found.num_rows == expected > 0


def test_a_watermark_in_front_of_a_join_of_sparks_is_not_taken_for_its_result(desk, frames):
    other = frames["b"].withWatermark("ts", "1 second").selectExpr("ts AS bts", "k AS bk")
    near = F.expr("k = bk AND bts BETWEEN ts - interval 5 seconds AND ts + interval 5 seconds")
    joined = frames["a"].withWatermark("ts", "1 second").join(other, near)
    with pytest.raises(
        SpecError, match="has a watermark of 1 second, but comes through one of Spark's own stream-stream joins"
    ):
        weft.join(
            joined,
            frames["c"],
            on="l.k = r.k",
            window=weft.within("1 second", on="ts", right_delay="1 second"),
            state=desk.state,
        )


def test_behind_a_join_of_sparks_with_the_delay_it_needs(desk, frames, duck):
    other = (
        frames["b"]
        .withWatermark("ts", "1 second")
        .select(F.col("ts").alias("bts"), F.col("k").alias("bk"), F.col("id").alias("j"))
    )
    near = F.expr("k = bk AND bts BETWEEN ts - interval 5 seconds AND ts + interval 5 seconds")
    joined = frames["a"].withWatermark("ts", "1 second").join(other, near)
    window = weft.within("1 second", on="ts", left_delay="11 seconds", right_delay="1 second")
    chained = weft.join(
        joined, frames["c"], on=SECOND, window=window, select=["l.j", "r.id AS z"], tasks=2, state=desk.state
    )
    expected = duck.execute(
        "SELECT count(*) FROM a l, b m, c r WHERE l.k = m.k AND abs(epoch_us(l.ts) - epoch_us(m.ts)) <= 5000000 "
        "AND l.x < r.x AND l.k = r.k AND abs(epoch_us(l.ts) - epoch_us(r.ts)) <= 1000000"
    ).fetchone()[0]
    assert desk.run(chained).num_rows == expected > 0


def test_three_deep_with_a_natural_join_among_them(desk, frames, duck):
    documents = {
        name: frames[name].select("id", "ts", F.to_json(F.struct("k")).alias("document")) for name in ("a", "b")
    }
    natural = weft.natural_join(
        documents["a"], documents["b"], id="id", window=weft.within("3 seconds", on="ts", delay="1 second"), tasks=2,
        state=desk.state,
    )  # fmt: skip
    assert natural.schema["left_time"].metadata == {"weft.lag": 7_000_000, "spark.watermarkDelayMs": 7_001}
    second = weft.join(
        natural, frames["c"], on="l.left_id < r.id", tasks=2, state=desk.state,
        window=weft.within("2 seconds", left="right_time", right="ts", right_delay="1 second"),
        select=["l.left_time AS ts", "l.left_id", "l.right_id", "r.id AS z"],
    )  # fmt: skip
    # A time that is not the window's: nothing is known of its order, and the result says so.
    assert second.schema["ts"].metadata == {"weft.lag": -1}
    expected = duck.execute(
        "SELECT count(*) FROM a l, b m, c r WHERE l.k = m.k AND abs(epoch_us(l.ts) - epoch_us(m.ts)) <= 3000000 "
        "AND l.id < r.id AND abs(epoch_us(m.ts) - epoch_us(r.ts)) <= 2000000"
    ).fetchone()[0]
    assert desk.run(second).num_rows == expected > 0


def test_a_timestamp_without_zone_carries_its_bound_for_chains(desk, frames):
    streams = {name: frame.withColumn("ts", F.col("ts").cast("timestamp_ntz")) for name, frame in frames.items()}
    assert _first(streams, desk).schema["ts"].metadata == {"weft.lag": 21_000_000}


def test_a_result_without_bound_says_so(desk, frames):
    joined = _first(frames, desk, delay=None)
    assert joined.schema["ts"].metadata == {"weft.lag": -1}
    with pytest.warns(WeftWarning, match="does not know how far out of order 'ts' is"):
        joined.withWatermark("ts", "1 second")
    with pytest.warns(WeftWarning, match="does not know how far out of order 'ts' of the left side is"):
        weft.join(
            joined, frames["c"], on=SECOND, window=weft.within("1 second", on="ts", delay="9 seconds"), state=desk.state
        )


def test_progress_tells_what_the_join_did(desk, frames, duck):
    joined = _first(frames, desk, "first")
    query = desk.start(joined)
    query.awaitTermination()
    reports = [json.loads(progress.json)["observedMetrics"] for progress in query.recentProgress]
    assert [report["weft.first"]["left_rows"] for report in reports] == [ROWS] * BATCHES
    assert (
        sum(report["weft.first.pairs"]["pairs"] for report in reports)
        == duck.execute("SELECT count(*) FROM pairs").fetchone()[0]
    )
    held = [report["weft.first"]["state_rows"] for report in reports]
    assert held[:3] == [0, 2 * ROWS, 4 * ROWS]
    assert reports[1]["weft.first"]["state_bytes"] > 0
    assert {report["weft.first"]["left_late"] for report in reports} == {0}


def test_late_rows_are_told_once_with_the_delay_that_keeps_them(desk, caplog):
    def at(seconds: float, number: int) -> pa.Table:
        return pa.table(
            {"id": [number], "ts": pa.array([START + timedelta(seconds=seconds)], pa.timestamp("us", tz="UTC"))}
        )

    left = desk.stream("left", [at(s, n) for n, s in enumerate((10, 20, 2, 3))])
    right = desk.stream("right", [at(s, n) for n, s in enumerate((10, 20, 21, 22))])
    joined = weft.join(
        left,
        right,
        on="l.id <= r.id",
        window=weft.within("1 second", on="ts", delay="5 seconds"),
        state=desk.state,
        tasks=2,
    )
    with caplog.at_level(logging.WARNING, "weft"):
        query = desk.start(joined)
        query.awaitTermination()
        reports = [json.loads(progress.json)["observedMetrics"]["weft"] for progress in query.recentProgress]
        for _ in range(50):  # listeners hear of a batch a moment later
            if caplog.records:
                break
            query.exception()
    assert [report["left_late"] for report in reports] == [0, 0, 1, 1]
    assert [report["left_behind"] for report in reports] == [0, 0, 18_000_000, 17_000_000]
    (told,) = [record.getMessage() for record in caplog.records if record.name == "weft"]
    assert told.startswith(
        "Batch 2 dropped late rows: 1 row of the left side (left_delay='18 seconds' would have kept them)."
    )


def test_a_multiple_watermark_policy_of_max_gets_no_watermark_from_weft(desk, frames):
    desk.spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", "max")
    assert _first(frames, desk).schema["ts"].metadata == {"weft.lag": 21_000_000}


def test_explain_tells_what_is_late_and_how_far_out_of_order_the_result_is(frames):
    left, right = frames["a"].withWatermark("ts", "1 second"), frames["b"].withWatermark("ts", "3 seconds")
    parts = weft.explain(
        left,
        right,
        on="abs(l.ts - r.ts) <= interval 3 seconds AND l.x + 0.5 < r.x",
        window=weft.within("10 seconds", on="ts"),
    ).to_dict()
    assert parts["join"] == "abs(l.ts - r.ts) <= interval 3 seconds AND l.x + 0.5 < r.x"
    assert parts["window"].endswith("delay 1 second for l and 3 seconds for r")
    assert parts["order"] == "in the result, l.ts can be up to 23 seconds out of order, r.ts up to 21 seconds"
    assert "-3 seconds <= l.ts - r.ts <= 3 seconds" in parts["checked"]
    assert "CAST" not in str(parts)


def test_pairs_of_empty_batches_and_silent_sides(desk):
    """A task knows its number whatever stands behind the join, and however empty the batch is."""
    empty = TABLES["a"][0].slice(0, 0)
    tables = {
        "left": [TABLES["a"][0], empty, TABLES["a"][2], empty, TABLES["a"][4]],
        "right": [TABLES["b"][0], empty, empty, empty, TABLES["b"][4]],
    }
    streams = {name: desk.stream(name, parts) for name, parts in tables.items()}
    window = weft.within("20 seconds", on="ts", delay="1 second")
    joined = weft.join(
        streams["left"],
        streams["right"],
        on="l.k = r.k",
        window=window,
        select=["l.id AS x", "r.id AS y"],
        tasks=3,
        state=desk.state,
    )
    left, right = (pa.concat_tables(tables[side]).to_pylist() for side in ("left", "right"))
    expected = Counter((one["id"], two["id"]) for one in left for two in right if one["k"] == two["k"])
    for number, frame in enumerate((joined.coalesce(1), joined.coalesce(2), joined.unionAll(joined), joined)):
        found = desk.run(frame, f"out{number}")
        times = 2 if number == 2 else 1
        pairs = Counter(zip(found.column("x").to_pylist(), found.column("y").to_pylist(), strict=True))
        assert pairs == Counter({pair: times * n for pair, n in expected.items()})


def test_a_time_column_may_have_any_name(desk, frames):
    """Also that of a column of Weft's own messages."""
    streams = {name: frame.withColumnRenamed("ts", "time") for name, frame in frames.items()}
    joined = _first(streams, desk, on="time", select=("l.time", "l.k", "l.x"))
    with pytest.warns(WeftWarning, match="1 second is too short for 'time'"):
        assert joined.withWatermark("time", "1 second").schema["time"].metadata["spark.watermarkDelayMs"] == 21_001
    assert joined.withWatermark("time", "1 minute").schema["time"].metadata["spark.watermarkDelayMs"] == 60_000


def test_a_note_that_comes_twice_counts_once(spark):
    """As it does where a lost executor makes Spark route a partition again."""
    notes = [
        note_of(left_rows=marked(0, 3), left_late=marked(0, 1), left_behind=9), note_of(right_rows=marked(0, 2)),
        note_of(left_rows=marked(7, 3), left_late=marked(7, 0), left_behind=0),  # another partition with as many rows
    ]  # fmt: skip
    made = pa.Table.from_pylist([{"note": note} for note in [*notes, *notes, None]], pa.schema({"note": NOTE}))
    seen = Observation("weft")
    observed = [F.expr(_total(count)).alias(count) for count in COUNTS]
    spark.createDataFrame(made).observe(seen, *observed).count()
    zeros = {count: None if count.startswith(("state", "migrations")) else 0 for count in COUNTS}
    expected = {**zeros, "left_rows": 6, "left_late": 1, "left_behind": 9, "right_rows": 2}
    assert seen.get == expected


def _one(seconds: float, k: int) -> pa.Table:
    times = pa.array([START + timedelta(seconds=seconds)], pa.timestamp("us", tz="UTC"))
    return pa.table({"id": [0], "ts": times, "x": [0], "k": [k]})


@pytest.mark.parametrize("behind", ["grouped by the time itself", "without duplicates"])
def test_a_row_that_is_exactly_at_the_bound_is_not_late(desk, behind):
    """Spark takes a time that equals the watermark for late: the watermark stays a millisecond behind the bound."""
    left = desk.stream("a", [pa.concat_tables([_one(89, 1), _one(100, 2)]), _one(100, 9), _one(100, 9), _one(100, 9)])
    right = desk.stream("b", [_one(100, 2), _one(100, 8), _one(99, 1), _one(100, 8)])
    joined = weft.join(
        left, right, on="l.k = r.k", window=weft.within("10 seconds", on="ts", delay="1 second"),
        select=["l.ts", "l.k"], tasks=2, state=desk.state,
    )  # fmt: skip
    if behind == "without duplicates":
        assert sorted(desk.run(joined.dropDuplicates(["ts", "k"])).column("k").to_pylist()) == [1, 2]
        return
    query = (
        joined.groupBy("ts").count().writeStream.format("memory").queryName("tight").outputMode("update")
        .option("checkpointLocation", str(desk.folder / "checkpoint")).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    assert desk.spark.table("tight").count() == 2


def test_the_time_column_may_be_named_in_any_way(desk, frames):
    joined = _first(frames, desk)
    for named, frame in (("`ts`", joined), ("j.ts", joined.alias("j"))):
        with pytest.warns(WeftWarning, match="1 second is too short"):
            assert frame.withWatermark(named, "1 second").schema["ts"].metadata["spark.watermarkDelayMs"] == 21_001


def test_what_files_say_of_a_join_that_wrote_them_is_not_believed(desk, frames):
    joined = _first(frames, desk)
    desk.spark.createDataFrame([], joined.schema).write.parquet(str(desk.folder / "out"))
    again = desk.spark.readStream.schema(joined.schema).parquet(str(desk.folder / "out"))
    assert "weft.lag" in again.schema["ts"].metadata
    parts = weft.explain(
        again, frames["c"], on="l.k = r.k", window=weft.within("1 second", on="ts", right_delay="1 second")
    )
    assert parts.to_dict()["state"].startswith("grows without bound: the left side has no delay")
    mapped = joined.mapInArrow(lambda batches: batches, joined.schema)
    parts = weft.explain(
        mapped, frames["c"], on="l.k = r.k", window=weft.within("1 second", on="ts", right_delay="1 second")
    )
    assert parts.to_dict()["state"].startswith("grows without bound")


def test_of_a_time_that_is_computed_nothing_is_known(desk, frames):
    joined = _first(frames, desk, select=("greatest(l.ts, r.ts) AS ts", "l.k", "l.x"))
    with pytest.warns(WeftWarning, match="does not know how far out of order 'ts' is"):
        joined.withWatermark("ts", "0 seconds")
    with pytest.warns(WeftWarning, match="does not know how far out of order 'ts' of the left side is"):
        weft.join(
            joined, frames["c"], on=SECOND, window=weft.within("1 second", on="ts", delay="0 seconds"), state=desk.state
        )


def test_a_time_that_is_selected_twice_is_one_event_time(desk, frames):
    facts = _first(frames, desk, select=("l.ts", "l.ts AS again", "l.k")).schema
    assert "spark.watermarkDelayMs" in facts["ts"].metadata
    assert facts["again"].metadata == {"weft.lag": 21_000_000}


def test_days_come_back_as_they_were(spark, tmp_path):
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    left = spark.sql("SELECT 1 AS id, '{\"k\": 1}' AS document, date'2024-03-02' AS d")
    right = spark.sql("SELECT 2 AS id, '{\"k\": 1}' AS document, timestamp'2024-03-02 01:00:00' AS d")
    for other, expected in ((right, ("2024-03-02", "2024-03-02 01:00:00")), (left, ("2024-03-02", "2024-03-02"))):
        joined = weft.natural_join(left, other, id="id", window=weft.within("1 day", on="d"))
        (row,) = joined.selectExpr("string(left_time)", "string(right_time)").collect()
        assert tuple(row) == expected
