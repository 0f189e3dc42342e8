"""A streaming join on Spark with a key that becomes hot, batch by batch: what the browser and the metrics are tested on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import weft
from tests.ui.states import HOSTILE

DDL = "sym string, ts timestamp, px double"


@dataclass
class HotStream:
    """Feeds files to a query, one per side and batch."""

    home: Path
    query: Any
    batch: int = 0
    began: int = field(default_factory=lambda: int(time.time() * 1e6))
    """Event time goes on by two seconds with every batch, however long a batch takes here."""

    @property
    def state(self) -> str:
        return str(self.home / "state")

    def feed(self, *, hot: bool, late: int = 0, rows: int = 1500) -> None:
        random, now = np.random.default_rng(self.batch), self.began + self.batch * 2_000_000
        share = np.ones(60)
        share[7] = 90 if hot else 1
        names = np.array([f"SYM{number:02d}" for number in range(60)], object)
        names[7] = HOSTILE
        for side in ("left", "right"):
            times = now - random.integers(0, 500_000, rows)
            times[:late] -= 90_000_000
            table = pa.table({
                "sym": pa.array(names[random.choice(60, rows, p=share / share.sum())]),
                "ts": pa.array(times, pa.timestamp("us", "UTC")), "px": random.normal(100, 5, rows),
            })  # fmt: skip
            aside = self.home / f".{side}-{self.batch}"
            pq.write_table(table, aside)
            aside.rename(self.home / side / f"{self.batch:04d}.parquet")
        self.batch += 1
        wait_for(lambda: _batches(self.query) >= self.batch, "the batch")


def _batches(query: Any) -> int:
    if (error := query.exception()) is not None:
        raise error
    return sum("addBatch" in dict(one.durationMs) for one in query.recentProgress)


def wait_for(done: Callable[[], bool], what: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


@contextmanager
def hot_stream(spark: SparkSession, home: Path, name: str = "ticks") -> Iterator[HotStream]:
    for side in ("left", "right"):
        (home / side).mkdir()
    sides = [
        spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(home / side))
        for side in ("left", "right")
    ]
    joined = weft.join(
        *sides, on="l.sym = r.sym AND abs(l.px - r.px) < 0.5", window=weft.within("20 seconds", on="ts", delay="5 seconds"),
        tasks=4, state=str(home / "state"),
    )  # fmt: skip
    query = (
        joined.writeStream.format("noop").option("checkpointLocation", str(home / "checkpoint")).queryName(name).start()
    )
    try:
        yield HotStream(home, query)
    finally:
        query.stop()
