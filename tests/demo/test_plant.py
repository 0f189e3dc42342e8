"""The demo's plant: seeded, late only a little, files that appear whole; its alarms are rare."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.parquet as pq

import weft
from weft.demo import Feeder, Plant
from weft.types import SIDES, Side

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def whole(plant: Plant, side: Side) -> pa.Table:
    return pa.concat_tables([plant.slice(side, number, 0.5, START) for number in range(plant.seconds * 2)])


def test_the_same_seed_gives_the_same_day() -> None:
    assert whole(Plant(seconds=5), "left").equals(whole(Plant(seconds=5), "left"))
    assert not whole(Plant(seconds=5), "left").equals(whole(Plant(seconds=5, seed=8), "left"))


def test_alarms_are_rare_but_there() -> None:
    plant = Plant(rate=400, seconds=20)
    left, right = (whole(plant, side) for side in SIDES)
    window = weft.within("10 seconds", on="ts")
    found = weft.local.join(left, right, on="l.v1 > r.v2 AND l.i1 < r.i2", window=window, select=["l.ts"]).num_rows
    assert 0 < found < 20_000


def test_the_feeder_writes_every_row_once(tmp_path) -> None:
    plant = Plant(rate=200, seconds=2)
    feeder = Feeder(plant, {side: tmp_path / side for side in SIDES}, slice_seconds=0.25)
    feeder.go.set()
    feeder.start()
    assert feeder.finished.wait(20)
    feeder.join()
    tables = {side: pq.ParquetDataset(tmp_path / side).read() for side in SIDES}
    assert sum(table.num_rows for table in tables.values()) == feeder.rows == 800
    assert not list(tmp_path.glob("*/.*"))
    for side, table in tables.items():
        made = pa.concat_tables([plant.slice(side, number, 0.25, feeder.start_time) for number in range(8)])
        assert table.sort_by("ts").column("ts").equals(made.sort_by("ts").column("ts"))
