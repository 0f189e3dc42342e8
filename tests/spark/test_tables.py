"""A stream with a table, beside Spark's own stream-static join and beside joins of static frames."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import weft
from tests.spark.streams import Desk
from tests.spark.test_kinds import CONDITIONS, _rows
from weft.errors import SpecError, StateError
from weft.spark.state_place import StatePlace
from weft.spark.table.versions import Refresher
from weft.spec.shapes import Width
from weft.state import Segment, TableShelf, TableVersion

KINDS = ["inner", "left", "left_semi", "left_anti"]
ALL = {
    **CONDITIONS,
    "not between": "l.x NOT BETWEEN r.x AND r.y AND l.k = r.k",
    "interval and key": "l.x >= r.x AND l.x < r.y AND l.k = r.k",
    "interval of the stream": "r.x BETWEEN l.x AND l.y",
    "not equal": "l.k <> r.k AND l.x < r.x",
    "no index": "l.x + r.x > 3",
}


@pytest.fixture
def desk(spark, tmp_path):
    return Desk(spark, tmp_path)


def counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(str, row.values())) for row in table.to_pylist())


@pytest.mark.parametrize("how", KINDS)
def test_each_kind_and_condition_beside_spark(desk, how) -> None:
    """One query with all conditions: of a union each branch must find what Spark's own join of the same rows finds."""
    stream = desk.stream("rows", [_rows(1, 40), _rows(1, 0)])
    static = desk.spark.createDataFrame(_rows(2, 50))
    whole = desk.spark.read.parquet(str(desk.folder / "rows"))
    columns = ["l.id AS x", "r.id AS y"] if how in ("inner", "left") else ["l.id AS x"]
    found, expected = [], []
    for number, on in enumerate(ALL.values()):
        joined = weft.join(stream, static, on=on, how=how, select=columns, state=desk.state, name=f"c{number}")
        found.append(joined.withColumn("c", F.lit(number)))
        own = whole.alias("l").join(static.alias("r"), F.expr(on), how).selectExpr(*columns)
        expected.append(own.withColumn("c", F.lit(number)))
    written = desk.run(_union(found))
    assert counted(written) == counted(_union(expected).toArrow())


TYPES = {
    "time": "l.at BETWEEN r.at AND r.till",
    "text": "l.s >= r.s AND l.s < r.t",
    "decimal": "l.d BETWEEN r.d AND r.e AND l.k = r.k",
    "wide decimal": "CAST(l.d AS DECIMAL(30, 4)) = CAST(r.d AS DECIMAL(30, 4)) AND l.day <= r.day",
    "mixed": "l.k >= r.d AND l.k <= r.f",
    "several keys": "l.s = r.s AND l.day = r.day AND l.f NOT BETWEEN r.f AND r.d",
}


def _typed(frame):
    """Return keys of other types; texts of which many begin alike."""
    return frame.selectExpr(
        "id", "k", "x AS f", "repeat('prefix-', 2) || s AS s", "repeat('prefix-', 2) || chr(98 + id % 3) AS t",
        "timestamp_millis(1000 * id + 7 * k) AS at", "timestamp_millis(1000 * id + 9000) AS till",
        "CAST(y AS DECIMAL(9, 2)) AS d", "CAST(y + id % 2 AS DECIMAL(12, 1)) AS e",
        "date_add(DATE'2026-01-01', CAST(k AS INT)) AS day",
    )  # fmt: skip


@pytest.mark.parametrize("how", ["left", "left_anti"])
def test_keys_of_every_type_beside_spark(desk, how) -> None:
    stream, static = _typed(desk.stream("rows", [_rows(1, 40)])), _typed(desk.spark.createDataFrame(_rows(2, 50)))
    whole = _typed(desk.spark.read.parquet(str(desk.folder / "rows")))
    columns = (
        ["l.id AS x", "l.at", "l.d", "l.day", "r.s", "r.at AS u", "r.d AS v"] if how == "left" else ["l.id AS x", "l.t"]
    )
    found, expected = [], []
    for number, on in enumerate(TYPES.values()):
        joined = weft.join(stream, static, on=on, how=how, select=columns, state=desk.state, name=f"c{number}")
        found.append(joined.withColumn("c", F.lit(number)))
        own = whole.alias("l").join(static.alias("r"), F.expr(on), how).selectExpr(*columns)
        expected.append(own.withColumn("c", F.lit(number)))
    theirs = counted(_union(expected).toArrow())
    assert len({row[-1] for row in theirs}) == len(TYPES)
    assert counted(desk.run(_union(found))) == theirs


def _union(frames):
    first, *others = frames
    for other in others:
        first = first.unionAll(other)
    return first


@pytest.mark.parametrize("how", ["inner", "right"])
def test_the_stream_on_the_right(desk, how) -> None:
    stream, static = desk.stream("rows", [_rows(1, 40)]), desk.spark.createDataFrame(_rows(2, 50))
    on = "r.x BETWEEN l.x AND l.y AND l.k <> r.k"
    joined = weft.join(static, stream, on=on, how=how, state=desk.state)
    whole = desk.spark.read.parquet(str(desk.folder / "rows"))
    own = static.alias("l").join(whole.alias("r"), F.expr(on), how)
    assert joined.columns == [*static.columns, *(f"{name}_right" for name in whole.columns)]
    assert counted(desk.run(joined)) == counted(own.toDF(*joined.columns).toArrow())


@pytest.mark.parametrize("how", KINDS)
def test_an_empty_table(desk, how) -> None:
    stream, static = desk.stream("rows", [_rows(1, 9)]), desk.spark.createDataFrame(_rows(2, 9)).where("id < 0")
    written = desk.run(weft.join(stream, static, on="l.x BETWEEN r.x AND r.y", how=how, state=desk.state))
    assert written.num_rows == (9 if how in ("left", "left_anti") else 0)


# Versions


Join = Callable[..., DataFrame]
BOTH: dict[str, tuple[Join, dict[str, Any]]] = {
    "join": (weft.join, {"on": "l.k = r.k"}),
    "asof_join": (weft.asof_join, {"on": ("id", "at"), "by": "k", "how": "inner"}),
}


class Recorded:
    """A query whose batches are recorded, and a table that can be replaced."""

    def __init__(self, desk: Desk, join: Join = weft.join, **options: Any) -> None:
        self.desk, self.table, self.join = desk, desk.folder / "table", join
        self.options = options or {"on": "l.k = r.k"}
        self.batches: dict[int, list[list[tuple[int, str]]]] = {}
        self.reported: list[int] = []
        self.second = False

    def write(self, word: str) -> None:
        """Replace the table."""
        aside = self.desk.folder / "aside"
        pq.write_table(pa.table({"k": [1, 2], "at": [0] * 2, "word": [word] * 2, "version": [len(word)] * 2}), aside)
        self.table.mkdir(exist_ok=True)
        aside.replace(self.table / "all.parquet")

    def start(self, rows, **options):
        spark = self.desk.spark
        table, asked = spark.read.parquet(str(self.table)), {**self.options, **options}
        joined = self.join(rows, table, select=["l.id", "r.word"], state=self.desk.state, **asked)
        if self.second:  # then a union numbers the partitions of the join anew
            joined = rows.selectExpr("id + 1000 AS id", "'none' AS word").unionAll(joined)

        def record(frame, batch: int) -> None:
            found = sorted((row["id"], row["word"]) for row in frame.collect())
            self.batches.setdefault(batch, []).append(found)

        checkpoint = str(self.desk.folder / "checkpoint")
        return joined.writeStream.foreachBatch(record).option("checkpointLocation", checkpoint)

    def run(self, rows) -> None:
        query = self.start(rows).trigger(availableNow=True).start()
        query.awaitTermination()
        self.reported += [
            p.observedMetrics["weft.table.pairs"]["pairs"] for p in query.recentProgress if p.numInputRows
        ]


def _uncommit(desk: Desk, batch: int) -> None:
    """Let a query have died before it committed a batch."""
    for name in (f"{batch}", f".{batch}.crc"):
        (desk.folder / "checkpoint" / "commits" / name).unlink(missing_ok=True)


def _keyed(number: int) -> pa.Table:
    return pa.table({"id": [10 * number, 10 * number + 1], "k": [1, 3]})


@pytest.mark.parametrize("join", BOTH)
def test_a_batch_that_runs_again_sees_the_same_version(desk, join) -> None:
    recorded = Recorded(desk, BOTH[join][0], **BOTH[join][1])
    recorded.write("old")
    rows = desk.stream("rows", [_keyed(0), _keyed(1)])
    recorded.run(rows)
    _uncommit(desk, 1)
    desk.add("rows", 2, _keyed(2))
    recorded.write("newer")
    recorded.run(rows)
    assert recorded.reported == [1, 1, 1, 1]
    assert recorded.batches == {0: [[(0, "old")]], 1: [[(10, "old")]] * 2, 2: [[(20, "newer")]]}


def test_another_condition_does_not_go_by_the_pins_of_the_last_one(desk) -> None:
    recorded = Recorded(desk)
    recorded.write("old")
    rows = desk.stream("rows", [_keyed(0)])
    recorded.run(rows)
    _uncommit(desk, 0)
    recorded.write("newer")
    query = recorded.start(rows, how="left").trigger(availableNow=True).start()
    query.awaitTermination()
    assert recorded.batches == {0: [[(0, "old")], [(0, "newer"), (1, None)]]}


def _until(holds: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("join", "refresh", "second"),
    [
        ("join", "1 second", False),
        ("join", "1 second", True),
        ("join", "VERSION", False),
        ("asof_join", "version", False),
    ],
)
def test_a_table_is_read_again(desk, join, refresh, second) -> None:
    recorded = Recorded(desk, BOTH[join][0], **BOTH[join][1])
    recorded.second = second
    recorded.write("old")
    rows = desk.stream("rows", [_keyed(0)])
    query = recorded.start(rows, refresh=refresh).trigger(processingTime="200 milliseconds").start()
    words = lambda: [rows[0][0][1] for _, rows in sorted(recorded.batches.items())]
    _until(lambda: words() == ["old"])
    recorded.write("newer")
    number = 0

    def arrived() -> bool:
        nonlocal number
        number += 1
        desk.add("rows", number, _keyed(number))
        _until(lambda: len(words()) > number)
        return words()[-1] == "newer"

    _until(arrived)
    query.stop()
    found = words()
    assert found == ["old"] * found.count("old") + ["newer"] * found.count("newer")


def test_a_table_that_is_gone_is_not_empty(desk, caplog) -> None:
    recorded = Recorded(desk)
    recorded.write("old")
    rows = desk.stream("rows", [_keyed(0)])
    query = (
        recorded.start(rows, how="left", refresh="300 milliseconds").trigger(processingTime="100 milliseconds").start()
    )
    _until(lambda: len(recorded.batches) == 1)
    (recorded.table / "all.parquet").unlink()
    _until(lambda: "it has no files in" in caplog.text)
    recorded.table.rmdir()
    _until(lambda: "does not exist" in caplog.text)
    desk.add("rows", 1, _keyed(1))
    _until(lambda: len(recorded.batches) == 2)
    query.stop()
    assert recorded.batches[1] == [[(10, "old"), (11, None)]]


class _Sick:
    """A table that cannot be read every second time, and its query."""

    every, column, id = None, "version", "q"

    def __init__(self, where: Any) -> None:
        self.where, self.reads = where, 0

    @property
    def lastProgress(self) -> dict[str, int]:  # noqa: N802 (PySpark's own names)
        return {"batchId": self.reads}

    def mark(self, *, again: bool) -> int:
        assert again
        return 7

    def read(self, start: str, number: int) -> TableVersion:
        self.reads += 1
        if self.reads % 2:
            raise OSError("no such host")
        return TableVersion(start, Segment(f"{number}-0.arrow", 1, 1, "0" * 16, 0, Width(0)))


def test_a_table_that_cannot_be_read_now_is_read_later(tmp_path) -> None:
    sick: Any = _Sick(StatePlace(str(tmp_path), 3))
    refresher = Refresher(sick, sick, TableVersion("s", Segment("0-0.arrow", 1, 1, "0" * 16, 0, Width(0))), 6)
    with pytest.raises(OSError, match="no such host"):
        refresher.look()
    assert TableShelf(str(tmp_path)).newest("s") is None
    refresher.look()  # what has changed is still to be read
    assert TableShelf(str(tmp_path)).newest("s") == refresher.version and refresher.version.number == 1
    refresher.look()
    assert sick.reads == 2, "nothing has changed since"


def test_old_versions_are_deleted(desk) -> None:
    recorded = Recorded(desk)
    rows = desk.stream("rows", [_keyed(0)])
    for number in range(9):  # three batches are kept, and looked for in every fourth
        recorded.write(f"word {number}")
        recorded.run(rows)
        desk.add("rows", number + 1, _keyed(number + 1))
    tables = desk.folder / "state" / "tables"
    starts = [path for path in tables.iterdir() if list(path.glob("*.arrow"))]
    (pins,) = [path for path in tables.iterdir() if path not in starts]
    assert sorted(int(path.stem) for path in pins.glob("*.json")) == [5, 6, 7, 8]
    assert len(starts) == 4
    assert [recorded.batches[number][0][0][1] for number in range(9)] == [f"word {number}" for number in range(9)]


def test_two_joins_of_one_query_need_names(desk) -> None:
    rows, static = desk.stream("rows", [_keyed(0)]), desk.spark.createDataFrame([(1, "a")], "k long, word string")
    one, two = (weft.join(rows, static, on="l.k = r.k", how=how, state=desk.state) for how in ("inner", "left"))
    with pytest.raises(StateError, match=r"Two joins of one query keep their tables in .*\n.*\nHint: give them names"):
        desk.run(one.unionAll(two))


# Time


START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def _timed(batch: int) -> pa.Table:
    times = [START + timedelta(seconds=10 * batch + second) for second in range(10)]
    return pa.table({"ts": pa.array(times, pa.timestamp("us", tz="UTC")), "k": [second % 3 for second in range(10)]})


@pytest.mark.parametrize("select", [None, ["l.ts", "upper(r.word) AS word", "l.k"]])
def test_an_aggregation_behind_a_table_goes_by_the_watermark_in_front(desk, select) -> None:
    rows = desk.stream("rows", [_timed(batch) for batch in range(4)]).withWatermark("ts", "2 seconds")
    static = desk.spark.createDataFrame([(1, "a"), (2, "b")], "k long, word string")
    joined = weft.join(rows, static, on="l.k = r.k", select=select, state=desk.state)
    counts = desk.run(joined.groupBy(F.window("ts", "10 seconds"), "word").count())
    found = {(row["window"]["start"], row["word"].lower()): row["count"] for row in counts.to_pylist()}
    assert {at.astimezone(timezone.utc) for at, _ in found} == {
        START + timedelta(seconds=10 * batch) for batch in range(3)
    }
    assert set(found.values()) == {3}


def test_a_join_of_streams_behind_a_table(desk) -> None:
    """The watermark of the stream is the delay of the join behind the table."""
    rows = desk.stream("rows", [_timed(batch) for batch in range(4)]).withWatermark("ts", "2 seconds")
    other = desk.stream("other", [_timed(batch) for batch in range(4)]).withWatermark("ts", "2 seconds")
    static = desk.spark.createDataFrame([(1, "a"), (2, "b")], "k long, word string")
    looked_up = weft.join(rows, static, on="l.k = r.k", select=["l.*", "r.word"], state=desk.state)
    window = weft.within("1 second", on="ts")
    assert "2 seconds" in str(weft.explain(looked_up, other, on="l.k <= r.k", window=window))
    joined = weft.join(looked_up, other, on="l.k <= r.k", window=window, state=desk.state, tasks=2)
    written = desk.run(joined)
    seconds = [(second, second % 3) for second in range(10)]
    in_batch = [(10 * batch + second, k) for batch in range(4) for second, k in seconds]
    expected = sum(abs(s - t) <= 1 and k in (1, 2) and k <= j for s, k in in_batch for t, j in in_batch)
    assert written.num_rows == expected


def test_a_table_behind_a_table(desk) -> None:
    rows = desk.stream("rows", [_keyed(0)])
    static = desk.spark.createDataFrame([(1, 5.0), (3, 7.0)], "k long, x double")
    ranges = desk.spark.createDataFrame([(4.0, 6.0, "low"), (6.5, 8.0, "high")], "lo double, hi double, word string")
    one = weft.join(rows, static, on="l.k = r.k", select=["l.id", "r.x"], state=desk.state)
    two = weft.join(one, ranges, on="l.x BETWEEN r.lo AND r.hi", select=["l.id", "r.word"], state=desk.state)
    assert counted(desk.run(two)) == Counter({("0", "low"): 1, ("1", "high"): 1})


# What is refused, and what is said


@pytest.fixture
def both(desk):
    return desk.stream("rows", [_rows(1, 5)]), desk.spark.createDataFrame(_rows(2, 5))


_NO_SHUFFLE = (
    "The stream is not shuffled: each of Spark's tasks looks its rows up in the whole table, through one index."
)
_NEVER = "A row of r can match in any later batch, so an unmatched one could never be emitted."
REFUSED: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "window": (
        {"window": weft.unbounded()},
        "A stream with a table has no window.",
        "The table has no clock: every row of the stream is compared with the whole table.",
        "omit window=; to compare times, write it in on=, such as 'l.ts BETWEEN r.valid_from AND r.valid_to'.",
    ),
    "right": (
        {"how": "right"},
        "how='right' does not work with a table on the right.",
        f"{_NEVER} Valid here: inner, left, left_semi, left_anti.",
        "use how='left', or 'inner'.",
    ),
    "full": (
        {"how": "full"},
        "how='full' does not work with a table on the right.",
        f"{_NEVER} Valid here: inner, left, left_semi, left_anti.",
        "use how='left', or 'inner'.",
    ),
    "scheme": (
        {"scheme": "hash"},
        "scheme='hash' does not apply to a stream with a table.",
        _NO_SHUFFLE,
        "omit scheme=.",
    ),
    "index": ({"index": "hash"}, "index='hash' does not apply to a stream with a table.", _NO_SHUFFLE, "omit index=."),
    "tasks": ({"tasks": 3}, "tasks=3 does not apply to a stream with a table.", _NO_SHUFFLE, "omit tasks=."),
    **{
        str(refresh): (
            {"refresh": refresh},
            f"refresh={refresh!r} is neither a length of time nor a column of the table.",
            (
                "It says how often the table is read again, or names a column whose greatest value changes with each version; "
                "the table has: id, k, x, y, s."
            ),
            "write refresh='1 hour', or name a column.",
        )
        for refresh in ("hourly", 5, "0 seconds")
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_table_does_not_do_is_refused(desk, both, case) -> None:
    options, what, there_is, hint = REFUSED[case]
    with pytest.raises(SpecError) as refused:
        weft.join(*both, **{"on": "l.k = r.k", "state": desk.state, **options})
    assert str(refused.value).splitlines() == [what, there_is, f"Hint: {hint}"]
    with pytest.raises(SpecError, match=re.escape(what)):
        weft.explain(*both, **{"on": "l.k = r.k", **options})


def test_what_python_cannot_evaluate_is_refused_where_rows_of_the_stream_are_emitted(desk, both) -> None:
    on = "l.k = r.k AND rlike(concat(l.s, r.s), 'a+')"
    assert weft.join(*both, on=on, state=desk.state).isStreaming
    with pytest.raises(SpecError, match="is not supported in this kind of join"):
        weft.join(*both, on=on, how="left", state=desk.state)


def test_kinds_that_would_return_rows_of_a_table_on_the_left_are_refused(desk, both) -> None:
    stream, table = both
    with pytest.raises(SpecError) as refused:
        weft.join(table, stream, on="l.k = r.k", how="left_anti", state=desk.state)
    assert str(refused.value).splitlines() == [
        "how='left_anti' does not work with a table on the left.",
        "It returns rows of l, and each of them can match in any later batch. Valid here: inner, right.",
        "Hint: put the stream on the left: weft.join(stream, table, how='left_anti').",
    ]


def test_refresh_without_a_table_is_refused(both) -> None:
    with pytest.raises(SpecError) as refused:
        weft.join(both[1], both[1].alias("o"), on="l.k = r.k", refresh="1 hour")
    assert str(refused.value).splitlines() == [
        "refresh='1 hour' needs a stream and a table.",
        "Here both sides are static.",
        "Hint: omit refresh=.",
    ]


def test_a_table_without_a_state_path_is_refused(both) -> None:
    with pytest.raises(
        SpecError, match="Weft writes the table there, as an index that all tasks map, one folder per query"
    ):
        weft.join(*both, on="l.k = r.k")


def test_a_table_that_is_too_large_is_refused_when_the_query_starts(desk, both) -> None:
    desk.spark.conf.set("spark.weft.table.maxBytes", "100")
    with pytest.raises(SpecError) as refused:
        desk.start(weft.join(*both, on="l.k = r.k", state=desk.state))
    what, there_is, hint = str(refused.value).splitlines()[:3]
    assert what.startswith("The table is too large: its first 5 rows take ") and what.endswith(" bytes as an index.")
    assert there_is == "spark.weft.table.maxBytes allows 100."
    assert hint.startswith("Hint: select fewer columns (select=) or filter it before the join; or read it as a stream")
    assert not list((desk.folder / "state").glob("tables/*/*.arrow"))
    desk.spark.conf.set("spark.weft.table.maxBytes", "much")
    with pytest.raises(SpecError, match=r"maxBytes is 'much'.\nIt is the maximum size .*\nHint: write '8g'"):
        weft.join(*both, on="l.k = r.k", state=desk.state)


@pytest.mark.parametrize("how", ["inner", "left_anti"])
def test_explain(desk, golden, how) -> None:
    rows = desk.spark.readStream.schema("ip long, sensor long, reading double").parquet(str(desk.folder))
    ranges = desk.spark.createDataFrame([], "first long, last long, country string")
    limits = desk.spark.createDataFrame([], "sensor long, low double, high double")
    if how == "inner":
        said = weft.explain(rows, ranges, on="l.ip BETWEEN r.first AND r.last", refresh="1 hour")
    else:
        on = "l.sensor = r.sensor AND l.reading NOT BETWEEN r.low AND r.high AND l.reading > 0"
        said = weft.explain(rows, limits, on=on, how=how)
    golden(f"explain-table-{how}.txt", str(said))
