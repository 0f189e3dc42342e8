"""What comes out is a plain stream: watermark and aggregation, a static join, foreachBatch, two sinks, availableNow."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import weft
from tests.spark.streams import Desk, pairs_of, tables
from weft.errors import WeftWarning
from weft_lab import oracle
from weft_lab.oracle import Batch, Compare

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
SCHEMA = pa.schema({"id": pa.int64(), "x": pa.int64(), "ts": pa.timestamp("us", tz="UTC")})
WINDOW = weft.within("20 seconds", on="ts", delay="30 seconds")


def _rows(batch: int, side: int) -> list[dict]:
    return [
        {
            "id": side * 1000 + batch * 100 + n,
            "x": (n * 7 + batch * 3 + side) % 10,
            "ts": START + timedelta(seconds=batch * 20 + n),
        }
        for n in range(20)
    ]


BATCHES = [Batch([_rows(number, 1)], [_rows(number, 2)]) for number in range(4)]
EXPECTED = oracle.joined(BATCHES, [Compare("x", ">", "x")], WINDOW)


@pytest.fixture
def desk(spark, tmp_path):
    return Desk(spark, tmp_path)


@pytest.fixture
def joined(desk):
    left, right = (desk.stream(side, tables(BATCHES, side, SCHEMA)) for side in ("left", "right"))
    select = ["l.id AS x", "r.id AS y", "greatest(l.ts, r.ts) AS ts"]
    return weft.join(left, right, on="l.x > r.x", window=WINDOW, select=select, tasks=2, state=desk.state)


def test_a_watermark_and_a_windowed_aggregation_follow(desk, joined):
    with pytest.warns(WeftWarning, match="does not know how far out of order 'ts' is"):  # it is computed
        timed = joined.withWatermark("ts", "25 seconds")
    counted = timed.groupBy(F.window("ts", "10 seconds")).count()
    found = desk.run(counted.select("window.start", "count"))
    newest = max(max(one["ts"], two["ts"]) for one, two in EXPECTED.pairs)
    expected: Counter[datetime] = Counter()
    for one, two in EXPECTED.pairs:
        at = max(one["ts"], two["ts"])
        expected[START + (at - START) // timedelta(seconds=10) * timedelta(seconds=10)] += 1
    closed = {at: n for at, n in expected.items() if at + timedelta(seconds=10) <= newest - timedelta(seconds=25)}
    got = {row["start"]: row["count"] for row in found.to_pylist()}
    assert len(closed) >= 3
    assert got == closed


def test_a_join_with_a_static_frame_follows(desk, joined):
    names = desk.spark.createDataFrame(
        [(number, f"row {number}") for number in range(1000, 1500, 2)], "id long, name string"
    )
    found = desk.run(joined.join(names, joined.x == names.id).select("x", "y", "name"))
    expected = Counter({pair: n for pair, n in pairs_of(EXPECTED).items() if pair[0] % 2 == 0})
    assert pairs_of(found) == expected
    assert {row["name"] for row in found.to_pylist()} == {f"row {one}" for one, _ in expected}


def test_foreach_batch_sees_every_pair_once(desk, joined):
    seen: Counter[tuple[int, int]] = Counter()
    numbers = []

    def note(frame, number):
        seen.update(pairs_of(frame.toArrow()))
        numbers.append(number)

    place = str(desk.folder / "checkpoint")
    joined.writeStream.foreachBatch(note).option("checkpointLocation", place).trigger(
        availableNow=True
    ).start().awaitTermination()
    assert seen == pairs_of(EXPECTED)
    assert numbers == [0, 1, 2, 3]


def test_two_sinks_at_once_have_a_state_each(desk, joined):
    queries = [desk.start(joined, "one"), desk.start(joined, "two")]
    for query in queries:
        query.awaitTermination()
    for name in ("one", "two"):
        assert pairs_of(desk.read(name, joined)) == pairs_of(EXPECTED)
    folders = {path.name for path in (desk.folder / "state").iterdir()}
    assert folders == {query.id for query in queries}


def test_available_now_goes_on_where_it_stopped(desk, joined):
    for number in (2, 3):
        for side in ("left", "right"):
            (desk.folder / side / f"{number:03}.parquet").rename(desk.folder / f"later-{side}-{number}")
    first = pairs_of(desk.run(joined))
    assert 0 < sum(first.values()) < len(EXPECTED.pairs)
    assert pairs_of(desk.run(joined)) == first  # nothing new
    for number in (2, 3):
        for side in ("left", "right"):
            (desk.folder / f"later-{side}-{number}").rename(desk.folder / side / f"{number:03}.parquet")
    assert pairs_of(desk.run(joined)) == pairs_of(EXPECTED)
    assert len(list((desk.folder / "state").iterdir())) == 1


def test_joined_streams_can_be_joined_again(desk, joined):
    right = desk.stream("third", tables(BATCHES, "right", SCHEMA))
    again = weft.join(
        joined, right, on="l.y = r.id", window=weft.unbounded(), select=["l.x", "r.id AS y"], tasks=2,
        state=(desk.folder / "state2").as_uri(),
    )  # fmt: skip
    assert pairs_of(desk.run(again)) == pairs_of(EXPECTED)
