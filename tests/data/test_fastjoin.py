"""The equi queries of the real data sets under FastJoin, on the local runtime, in several batches: the stated counts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import weft
from weft.local import Join
from weft.routing import FastJoin
from weft.spec import Window
from weft.state import MemoryStore

pytestmark = pytest.mark.data

DAY = "ts >= '2023-03-15' and ts < '2023-03-16'"
FEBRUARY = "ts >= '2013-02-01' and ts < '2013-03-01'"


@dataclass(frozen=True)
class Query:
    """One query of the data folder's README."""

    count: int
    left: str
    right: str  # "" for a self join
    on: str
    window: Window
    batches: int = 8
    migrates: bool = False


QUERIES = {
    "taxi B": Query(
        3_339, f"select * from '{{}}/taxi_green/trips.parquet' where {DAY}",
        f"select * from '{{}}/taxi_green/trips.parquet' where {DAY}",
        "l.pu_loc = r.pu_loc AND l.distance > r.distance AND l.fare < r.fare",
        weft.within("1 hour", on="ts", delay="0 seconds"), migrates=True,
    ),
    "taxi D": Query(
        17_032, "select * from '{}/taxi_green/trips.parquet'", "",
        "a.id < b.id AND a.pu_loc = b.pu_loc AND a.do_loc = b.do_loc",
        weft.within("5 minutes", on="ts", delay="0 seconds"), batches=12,
    ),
    "flights A": Query(
        24_907, f"select * from '{{}}/nycflights13/flights.parquet' where {FEBRUARY}",
        f"select * from '{{}}/nycflights13/weather.parquet' where {FEBRUARY}",
        "l.origin = r.origin AND l.hour_ts = r.ts", weft.unbounded(),
    ),
    "flights B": Query(
        6_665, f"select * from '{{}}/nycflights13/flights.parquet' where {FEBRUARY}",
        f"select * from '{{}}/nycflights13/weather.parquet' where {FEBRUARY}",
        "l.origin = r.origin AND l.dep_delay > r.temp AND l.dep_delay < r.humid",
        weft.within(before="6 hours", on="ts", delay="0 seconds"),
    ),
    "flights C": Query(
        8_821, f"select * from '{{}}/nycflights13/flights.parquet' where {FEBRUARY}", "",
        "a.id < b.id AND a.dest = b.dest", weft.within("15 minutes", on="ts", delay="0 seconds"),
    ),
}  # fmt: skip


def pieces(table: pa.Table, batches: int) -> Iterator[pa.Table]:
    """Cut a table at equal numbers of rows; time order is kept, so nothing is late."""
    for number in range(batches):
        start, end = (table.num_rows * at // batches for at in (number, number + 1))
        yield table.slice(start, end - start)


def by_time(left: pa.Table, right: pa.Table, batches: int) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Cut both streams where the left one is cut, so that neither falls behind the watermark."""
    if not right.num_columns:
        for piece in pieces(left, batches):
            yield piece, None
        return
    cuts = [None, *(piece.column("ts")[0].as_py() for piece in list(pieces(left, batches))[1:]), None]
    for low, high in itertools.pairwise(cuts):
        yield tuple(_between(table, low, high) for table in (left, right))


def _between(table: pa.Table, low: object, high: object) -> pa.Table:
    keep = pa.array([True] * table.num_rows)
    stamps = table.column("ts")
    if low is not None:
        keep = pc.and_(keep, pc.greater_equal(stamps, pa.scalar(low, stamps.type)).combine_chunks())
    if high is not None:
        keep = pc.and_(keep, pc.less(stamps, pa.scalar(high, stamps.type)).combine_chunks())
    return table.filter(keep)


def read(sql: str, folder: Path) -> pa.Table:
    found = duckdb.sql(sql.format(folder) + " order by ts, id")
    assert found is not None
    made = found.arrow()
    return made.read_all() if isinstance(made, pa.RecordBatchReader) else made


@pytest.mark.parametrize(
    "scheme",
    [
        FastJoin(threshold=1.2),
        FastJoin(threshold=1.2, split_hot=True),
        FastJoin(threshold=1.2, split_hot=True, biclique=False, load="work"),
    ],
    ids=["paper", "split", "shared"],
)
@pytest.mark.parametrize("name", QUERIES)
def test_equi_queries(name: str, scheme: FastJoin, data_dir: Path):
    query = QUERIES[name]
    left = read(query.left, data_dir)
    right = read(query.right, data_dir) if query.right else pa.table({})
    self_join = not query.right
    join = Join(
        left.schema, left.schema if self_join else right.schema, on=query.on, window=query.window, scheme=scheme, tasks=8,
        aliases=("a", "b") if self_join else ("l", "r"), select=["a.id AS x" if self_join else "l.id AS x"],
    )  # fmt: skip
    total = 0
    for one, two in by_time(left, right, query.batches):
        total += sum(chunk.num_rows for chunk in (join.feed(one) if self_join else join.feed(one, two)))
    assert total == query.count
    store = join.store
    assert isinstance(store, MemoryStore)
    if query.migrates:
        assert any(metrics["migrated"] for metrics in store.metrics.values())
