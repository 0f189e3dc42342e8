"""Every scheme that moves state, and the papers' indexes, on Spark: skewed and drifting streams, exact through plan changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import weft
from tests.spark.streams import Desk
from weft.observe import find_query, read_batch
from weft_lab.schemes import Square

BATCHES, ROWS, TASKS = 6, 400, 4
EQUAL, BAND, LESS = "l.k = r.k", "abs(l.x - r.x) <= 3", "l.x < r.x AND l.k = r.k"
NEAR = weft.within("6 seconds", on="ts", delay="1 minute")


@pytest.fixture
def desk(spark, tmp_path):
    return Desk(spark, tmp_path)


def stream(seed: int) -> list[pa.Table]:
    """Make one table per batch: a hot key, Zipf keys, and a range whose centre moves."""
    random, tables, start = np.random.default_rng(seed), [], 1_700_000_000_000_000
    for batch in range(BATCHES):
        hot = np.where(random.random(ROWS) < 0.4, 7, random.zipf(1.6, ROWS) % 40)
        columns = {
            "id": np.arange(ROWS) + ROWS * batch,
            "k": hot,
            "x": (random.normal(60 * batch, 40, ROWS)).astype(np.int64),
            "ts": pa.array(start + batch * 10_000_000 + random.integers(0, 9_999_999, ROWS)).cast(pa.timestamp("us")),
        }
        tables.append(pa.table(columns))
    return tables


LEFT, RIGHT = stream(1), stream(2)


@dataclass(frozen=True)
class Case:
    on: str
    scheme: Any = "auto"
    index: str = "auto"
    moves: bool = False


CASES = {
    "biclique": Case(EQUAL, weft.schemes.Biclique()),
    "fastjoin": Case(EQUAL, weft.schemes.FastJoin(threshold=1.1, enough=10, noise=0, gain=0), moves=True),
    "fastjoin, hot keys split": Case(
        EQUAL, weft.schemes.FastJoin(threshold=1.1, enough=10, noise=0, gain=0, split_hot=True), moves=True
    ),
    "equality, auto": Case(EQUAL),
    "adsp": Case(BAND, weft.schemes.Adsp(patience=1), moves=True),
    "square": Case(BAND, Square()),
    "readj": Case(EQUAL, "readj"),
    "pim-tree": Case(BAND, index="pim-tree"),
    "hot and cold": Case(EQUAL, index="hotcold"),
    "sta": Case(LESS, weft.schemes.Sta(top=2, margin=1, worth=0), moves=True),
}


def wanted(on: str) -> list[tuple[int, int]]:
    left, right = pa.concat_tables(LEFT), pa.concat_tables(RIGHT)
    with duckdb.connect() as connection:
        connection.register("l", left)
        connection.register("r", right)
        near = "abs(epoch_us(l.ts) - epoch_us(r.ts)) <= 6000000"
        return connection.sql(f"select l.id, r.id from l, r where {on} and {near} order by all").fetchall()


@pytest.mark.parametrize("on", [EQUAL, BAND, LESS], ids=["equal", "band", "less"])
def test_exact_through_every_plan(desk: Desk, on: str) -> None:
    left, right = desk.stream("left", LEFT), desk.stream("right", RIGHT)
    joins = {
        name: weft.join(
            left, right, on=on, window=NEAR, scheme=case.scheme, index=case.index, tasks=TASKS,
            select=["l.id AS l", "r.id AS r"], state=desk.state_of(name),
        )
        for name, case in CASES.items() if case.on == on
    }  # fmt: skip
    expected = wanted(on)
    for name, table in desk.run_together(joins).items():
        assert sorted(zip(table["l"].to_pylist(), table["r"].to_pylist(), strict=True)) == expected, name
        query = find_query(desk.state_of(name))
        events = [one.migration for batch in range(BATCHES) if (one := read_batch(query, batch)) and one.migration]
        assert events or not CASES[name].moves, f"{name}: no plan changed: the case proves nothing"
        assert all(event.rows and event.reason for event in events), name
