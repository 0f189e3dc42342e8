"""States that the tests of the pages look at: joins of the local runtime, in a second and without Spark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import weft
from weft.local import Join
from weft.state import StateStore

BASE = 1_700_000_000_000_000
HOSTILE = "<img src=x onerror=alert(1)>"
"""The hot key: a page that took it for markup would run it."""
TICKS = pa.schema([("sym", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("px", pa.float64())])


class Ticks:
    """A join with a key that becomes hot in batch 3, fed batch by batch."""

    def __init__(self, where: Path, tasks: int = 4, retain: int = 100) -> None:
        window = weft.within("20 seconds", on="ts", delay="2 seconds")
        store = StateStore(str(where), "ticks", "", retain)
        self.join = Join(TICKS, TICKS, on="l.sym = r.sym AND l.px > r.px", window=window, tasks=tasks, state=store)
        store.fingerprint = self.join.spec.fingerprint()
        self.random, self.batch = np.random.default_rng(3), 0

    def feed(self, batches: int, rows: int = 1500) -> None:
        for _ in range(batches):
            for _ in self.join.feed(self._rows(rows), self._rows(rows)):
                pass
            self.batch += 1

    def _rows(self, rows: int) -> pa.Table:
        names = np.array([f"SYM{number:03d}" for number in range(100)], object)
        names[7] = HOSTILE
        share = np.ones(100)
        if self.batch >= 3:
            share[7] = 150
        time = BASE + self.batch * 2_000_000 + np.sort(self.random.integers(0, 2_000_000, rows))
        if self.batch == 2:
            time[0] = BASE - 90_000_000  # late
        return pa.table(
            {
                "sym": names[self.random.choice(100, rows, p=share / share.sum())],
                "ts": pa.array(time, pa.timestamp("us", "UTC")),
                "px": self.random.normal(100, 5, rows),
            },
            schema=TICKS,
        )


def areas(where: Path, batches: int = 6) -> None:
    """Join by a band over the areas of A-DSP."""
    schema = pa.schema([("v", pa.float64()), ("ts", pa.timestamp("us", "UTC"))])
    random, window = np.random.default_rng(5), weft.within("20 seconds", on="ts", delay="2 seconds")
    join = Join(schema, schema, on="abs(l.v - r.v) <= 0.1", window=window, tasks=6, state=str(where), scheme="adsp")

    def rows(batch: int) -> pa.Table:
        time = BASE + batch * 2_000_000 + np.sort(random.integers(0, 2_000_000, 1200))
        return pa.table(
            {"v": random.normal(0, 8, 1200), "ts": pa.array(time, pa.timestamp("us", "UTC"))}, schema=schema
        )

    for batch in range(batches):
        for _ in join.feed(rows(batch), rows(batch)):
            pass
