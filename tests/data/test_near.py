"""Aircraft within 1 km and 30 seconds of each other, twenty minutes over Paris: the count that DuckDB and NumPy found."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import weft

NEAR = "power((a.lat - b.lat) * 111.19D, 2) + power((a.lon - b.lon) * 73.17D, 2) <= 1"
BANDS = {
    "abs": "abs(a.lat - b.lat) <= 0.009005D AND abs(a.lon - b.lon) <= 0.013705D",
    "BETWEEN": "a.lat BETWEEN b.lat - 0.009005D AND b.lat + 0.009005D AND a.lon BETWEEN b.lon - 0.013705D AND b.lon + 0.013705D",
}


@pytest.mark.parametrize("spelling", BANDS)
@pytest.mark.parametrize("batch", [None, 3000])
def test_aircraft_near_each_other(data_dir: Path, spelling: str, batch: int | None) -> None:
    sky = pq.read_table(data_dir / "adsb_paris" / "positions.parquet")
    since = pc.subtract(sky["ts"].cast("int64"), int(datetime(2021, 10, 7, 13, tzinfo=timezone.utc).timestamp() * 1e6))
    slice_ = pc.and_(pc.greater_equal(since, 0), pc.less(since, 20 * 60 * 1_000_000))
    found = weft.local.self_join(
        sky.filter(slice_), on=f"a.icao24 < b.icao24 AND {BANDS[spelling]} AND {NEAR}", batch=batch,
        window=weft.within("30 seconds", on="ts", delay="0 seconds"), select=["a.id AS r", "b.id AS s"],
    )  # fmt: skip
    assert found.num_rows == 177_763
