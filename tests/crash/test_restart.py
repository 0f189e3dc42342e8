"""Restarts from the checkpoint with another number of tasks, and two queries over one state path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import weft
from tests.crash.driver import DELAY, NEAR, ON, SCHEMA
from tests.crash.scene import oracle, sink, write_input
from weft.observe import inspect_query, list_queries, read_batch
from weft.state import open_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.crash, pytest.mark.spark]

WEFT: Any = weft
EQUAL = "l.x % 50 = r.x % 50 AND abs(l.x - r.x) <= 2000"
Pairs = list[tuple[int, int]]


def _frames(spark: SparkSession, folder: Path) -> list[DataFrame]:
    return [
        spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / side))
        for side in ("left", "right")
    ]


def _pairs(
    spark: SparkSession, folder: Path, tasks: int, scheme: str, on: str = ON, state: Path | None = None,
    name: str | None = None,
) -> DataFrame:  # fmt: skip
    joined: DataFrame = WEFT.join(
        *_frames(spark, folder), on=on, window=weft.within(NEAR, on="ts", delay=DELAY), scheme=scheme, tasks=tasks,
        select=["l.id AS l", "r.id AS r"], state=str(state or folder / "state"), name=name,
    )  # fmt: skip
    return joined


def _start(pairs: DataFrame, folder: Path) -> StreamingQuery:
    writer = pairs.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    return writer.trigger(availableNow=True).start(str(folder / "out"))


def _finish(*queries: StreamingQuery) -> None:
    for query in queries:
        assert query.awaitTermination(150), "still running"


@pytest.mark.parametrize(
    ("scheme", "on", "tasks"),
    [("range", ON, (2, 4, 1)), ("hash", EQUAL, (3, 2, 5))],
    ids=lambda value: "" if isinstance(value, tuple) or " " in value else value,
)
def test_restart_with_another_number_of_tasks(
    scheme: str, on: str, tasks: Sequence[int], spark: SparkSession, tmp_path: Path
) -> None:
    """Some files, then more files and a restart from the same checkpoint, with more tasks or with fewer."""
    each = 2
    for run, number in enumerate(tasks):
        write_input(tmp_path, each, rows=120, first=run * each)
        _finish(_start(_pairs(spark, tmp_path, number, scheme, on), tmp_path))
    assert sink(tmp_path) == _expected(tmp_path, on)
    view = inspect_query(str(tmp_path / "state"))
    assert view.last_good == view.last_batch == each * len(tasks) - 1
    assert view.plan["tasks"] == tasks[-1]


def test_a_failed_batch_is_replayed_with_another_number_of_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """The sink fails after the join tasks have saved their state; the batch runs again with more tasks, then with fewer."""
    write_input(tmp_path, 7, rows=120)
    found: dict[int, Pairs] = {}
    failed: list[tuple[int, Pairs]] = []
    failing = {3, 5}

    def collect(frame: DataFrame, batch: int) -> None:
        rows = sorted((row["l"], row["r"]) for row in frame.collect())
        if batch in failing:
            failing.remove(batch)
            failed.append((batch, rows))
            raise OSError("the sink is full")
        found[batch] = rows

    from pyspark.errors import StreamingQueryException

    for tasks in (3, 5, 2):
        writer = _pairs(spark, tmp_path, tasks, "range").writeStream.foreachBatch(collect)
        query = writer.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        if failing:
            with pytest.raises(StreamingQueryException, match="the sink is full"):
                query.awaitTermination(150)
        else:
            _finish(query)
    assert sorted(pair for rows in found.values() for pair in rows) == oracle(tmp_path)
    assert [batch for batch, _ in failed] == [3, 5]
    for batch, rows in failed:  # the same pairs as before, by other tasks
        assert found[batch] == rows
    last = read_batch(open_folder(str(next((tmp_path / "state").iterdir()))), 6)
    assert last is not None and last.tasks == 2


def test_joins_of_one_query_with_a_state_path_each(spark: SparkSession, tmp_path: Path) -> None:
    """A plain stream, then two joins, in one union: the joins' partitions have other numbers than their tasks."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, drift in zip(folders, (300, 100), strict=True):
        write_input(folder, 3, rows=60, drift=drift)
    one, two = (_pairs(spark, folder, 2, scheme) for folder, scheme in zip(folders, ("range", "matrix"), strict=True))
    plain = _frames(spark, folders[0])[0].selectExpr("id AS l", "-1L AS r")
    _finish(_start(plain.union(one).union(two), tmp_path))
    expected = sorted([(number, -1) for number in range(180)] + oracle(folders[0]) + oracle(folders[1]))
    assert sink(tmp_path) == expected

    write_input(folders[1], 2, rows=60, first=3, drift=100)  # batches in which the other join has no rows at all
    one, two = (_pairs(spark, folder, 2, scheme) for folder, scheme in zip(folders, ("range", "matrix"), strict=True))
    _finish(_start(plain.union(one).union(two), tmp_path))
    write_input(folders[0], 2, rows=60, first=3, drift=300)
    _finish(_start(plain.union(one).union(two), tmp_path))
    expected = sorted([(number, -1) for number in range(300)] + oracle(folders[0]) + oracle(folders[1]))
    assert sink(tmp_path) == expected


def test_joins_of_one_query_over_one_state_path(spark: SparkSession, tmp_path: Path) -> None:
    """Same condition and schemas, so the same fingerprint: only a name tells their states apart."""
    from pyspark.errors import StreamingQueryException

    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, drift in zip(folders, (300, 100), strict=True):
        write_input(folder, 3, rows=60, drift=drift)
    one, two = (_pairs(spark, folder, 2, "matrix", state=tmp_path / "state") for folder in folders)
    with pytest.raises(StreamingQueryException, match="Two joins of one query keep their state in"):
        _finish(_start(one.union(two), tmp_path / "nameless"))
    one, two = (
        _pairs(spark, folder, 2, "matrix", state=tmp_path / "state", name=name)
        for folder, name in zip(folders, ("one", "two"), strict=True)
    )
    _finish(_start(one.union(two), tmp_path))
    assert sink(tmp_path) == sorted(oracle(folders[0]) + oracle(folders[1]))


def test_two_queries_over_one_state_path(spark: SparkSession, tmp_path: Path) -> None:
    """At once, the same input, another condition each, one state path; then one again, alone."""
    folders = [tmp_path / "one", tmp_path / "two", tmp_path / "three"]
    conditions = [(ON, "range"), (EQUAL, "hash"), (ON, "matrix")]
    for folder in folders:
        write_input(folder, 4, rows=120)
    queries = [
        _start(_pairs(spark, folder, 2, scheme, on, state=tmp_path / "state"), folder)
        for folder, (on, scheme) in zip(folders, conditions, strict=True)
    ]
    _finish(*queries)
    for folder, (on, _) in zip(folders, conditions, strict=True):
        assert sink(folder) == _expected(folder, on)
    lines = list_queries(str(tmp_path / "state"))
    assert sorted(line.query for line in lines) == sorted(query.id for query in queries)
    assert {line.batch for line in lines} == {3}

    write_input(folders[0], 2, rows=120, first=4)
    _finish(_start(_pairs(spark, folders[0], 3, "range", state=tmp_path / "state"), folders[0]))
    assert sink(folders[0]) == oracle(folders[0])
    assert {line.batch for line in list_queries(str(tmp_path / "state"))} == {3, 5}


def _expected(folder: Path, on: str) -> Pairs:
    with duckdb.connect() as connection:
        return connection.sql(f"""
            select l.id as l, r.id as r from '{folder}/left/*.parquet' l, '{folder}/right/*.parquet' r
            where {on} and r.ts between l.ts - interval '{NEAR}' and l.ts + interval '{NEAR}' order by all
        """).fetchall()
