"""Weft between topics of a real broker: both sides and the sink, and what happens to topics while a query runs."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

import weft
from tests.kafka.broker import Broker
from tests.kafka.topics import Topics, as_json

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

SCHEMA = "id long, ts timestamp, x long"
EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)
NEAR = 5
"""Seconds, and distance of `x`, within which two rows make a pair."""

Rows = list[dict[str, Any]]


def rows(first: int, count: int, factor: int) -> Rows:
    """Return rows a second apart; `x` jumps."""
    return [
        {"id": i, "ts": (EPOCH + timedelta(seconds=i)).isoformat(), "x": i * factor % 50}
        for i in range(first, first + count)
    ]  # fmt: skip


def oracle(left: Iterable[dict[str, Any]], right: Iterable[dict[str, Any]]) -> Counter[tuple[int, int]]:
    """Return the pairs that a nested loop finds."""
    right = list(right)
    return Counter(
        (one["id"], two["id"]) for one in left for two in right
        if abs(one["x"] - two["x"]) <= NEAR and abs(one["id"] - two["id"]) <= NEAR
    )  # fmt: skip


@dataclass
class Lane:
    """A join of two topics into a third, in a folder of its own."""

    topics: Topics
    folder: Path
    left: str
    right: str
    out: str
    sent: dict[str, Rows]

    def send(self, topic: str, some: Rows, partition: int | None = None) -> None:
        self.topics.send(topic, some, partition)
        self.sent[topic] += some

    def joined(self, delay: str = "1 minute", **options: str) -> DataFrame:
        sides = [self.topics.stream(topic, SCHEMA, **options) for topic in (self.left, self.right)]
        return weft.join(
            *sides, on=f"abs(l.x - r.x) <= {NEAR}", window=weft.within(f"{NEAR} seconds", on="ts", delay=delay),
            select=["l.id AS l", "r.id AS r"], tasks=2, pair_id="pair", state=str(self.folder / "state"),
        )  # fmt: skip

    def start(self, joined: DataFrame | None = None, **trigger: Any) -> StreamingQuery:
        records = as_json(self.joined() if joined is None else joined, "pair", ["l", "r"])
        writer = records.writeStream.format("kafka").option("kafka.bootstrap.servers", self.topics.address)
        writer = writer.option("topic", self.out).option("checkpointLocation", str(self.folder / "checkpoint"))
        return writer.trigger(**(trigger or {"availableNow": True})).start()

    def run(self, joined: DataFrame | None = None) -> StreamingQuery:
        query = self.start(joined)
        query.awaitTermination()
        return query

    def found(self) -> Counter[tuple[int, int]]:
        return Counter((row["l"], row["r"]) for row in self.topics.rows(self.out))

    def expected(self) -> Counter[tuple[int, int]]:
        return oracle(self.sent[self.left], self.sent[self.right])


@pytest.fixture
def lane(kafka: Topics, tmp_path: Path) -> Lane:
    left, right, out = (kafka.create(name) for name in ("left", "right", "pairs"))
    return Lane(kafka, tmp_path, left, right, out, sent={left: [], right: []})


def until(condition: Callable[[], bool], query: StreamingQuery, seconds: float = 90) -> None:
    """Wait for something that a query brings about."""
    end = time.monotonic() + seconds
    while not condition():
        assert query.isActive, query.exception()
        assert time.monotonic() < end, query.lastProgress
        time.sleep(0.1)


def read(query: StreamingQuery) -> int:
    """Return how many rows a query has read."""
    return sum(int(json.loads(progress.json)["numInputRows"]) for progress in query.recentProgress)


def test_topics_that_grow_fall_silent_and_lose_their_broker(lane: Lane, broker: Broker) -> None:
    """One query lives through all of it."""
    lane.send(lane.left, rows(0, 60, 7))
    lane.send(lane.right, rows(0, 60, 11))
    # New partitions are found when the client asks again, by default after five minutes.
    query = lane.start(lane.joined(**{"kafka.metadata.max.age.ms": "300"}), processingTime="0 seconds")
    until(lambda: read(query) == 120, query)

    for topic in (lane.left, lane.right):
        lane.topics.grow(topic, 3)
    lane.send(lane.left, rows(60, 40, 7), partition=2)  # by now the last partition has rows, the others are silent
    lane.send(lane.right, rows(60, 40, 11), partition=2)
    until(lambda: read(query) == 200, query)

    broker.kill()
    broker.start()
    lane.send(lane.left, rows(100, 30, 7))  # the right topic has fallen silent
    until(lambda: read(query) == 230, query)
    lane.send(lane.right, rows(100, 30, 11))
    until(lambda: read(query) == 260, query)
    query.processAllAvailable()
    query.stop()
    assert lane.found() == lane.expected()
    assert sum(lane.expected().values()) > 50


def test_a_batch_that_runs_again_is_in_the_topic_twice_and_its_keys_say_so(lane: Lane) -> None:
    """Spark's Kafka sink is at-least-once: what was sent before the commit is sent again, under the same keys."""
    for first in (0, 50):
        lane.send(lane.left, rows(first, 50, 7))
        lane.send(lane.right, rows(first, 50, 11))
        lane.run()
    once = lane.topics.rows(lane.out)
    assert Counter((row["l"], row["r"]) for row in once) == lane.expected()
    last = max((lane.folder / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()  # what a kill between sink and commit leaves
    (last.parent / f".{last.name}.crc").unlink()
    lane.run()
    again = lane.topics.rows(lane.out)
    keys = Counter(row["_key"] for row in again)
    assert len(once) < len(again) < 2 * len(once), "the last batch alone runs again"
    assert max(keys.values()) == 2 and len(keys) == len(once)
    assert Counter({(row["_key"]): (row["l"], row["r"]) for row in again}.values()) == lane.expected()


def test_offsets_that_are_gone_end_the_query_or_are_told(lane: Lane) -> None:
    """Records that the broker deleted before they were read: an error, and by request a query that goes on without them."""
    lane.send(lane.left, rows(0, 20, 7), partition=0)
    lane.send(lane.right, rows(0, 20, 11), partition=0)
    lane.run()
    lane.topics.send(lane.left, rows(20, 20, 7), partition=0)  # nobody will read the first half of them
    lane.topics.forget(lane.left, 0, 30)
    lane.sent[lane.left] += rows(30, 10, 7)
    lane.send(lane.right, rows(20, 20, 11), partition=0)
    with pytest.raises(StreamingQueryException, match=r"data may have been lost|Partition|offset"):
        lane.run()
    lane.run(lane.joined(failOnDataLoss="false"))
    assert lane.found() == lane.expected()


def test_a_backfill_whose_partitions_are_hours_apart_is_told(lane: Lane, caplog: pytest.LogCaptureFixture) -> None:
    """Partitions are read side by side, so with a small delay the newest of them makes all others late."""
    hours = [rows(3_600 * hour, 60, 7) for hour in range(4)]
    for topic in (lane.left, lane.right):
        lane.topics.grow(topic, 4)
        for partition, some in enumerate(hours):
            lane.send(topic, some, partition)
    with caplog.at_level(logging.WARNING, logger="weft"):
        lane.run(lane.joined(delay="10 seconds", maxOffsetsPerTrigger="80"))
    warned = [record.getMessage() for record in caplog.records if "late" in record.getMessage()]
    assert warned, "rows were dropped without a word"
    assert "most of what it read" in warned[0] and "_delay=" in warned[0]
    assert sum(lane.found().values()) < sum(lane.expected().values())
