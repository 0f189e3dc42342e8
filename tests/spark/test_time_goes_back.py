"""Event time that jumps back by hours and forward again, and files that are older than those read before."""

from __future__ import annotations

import os
import random
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

import weft
from tests.spark.streams import Desk, pairs_of, tables
from weft_lab.oracle import Batch, Compare, joined

START = datetime(2026, 3, 1, tzinfo=timezone.utc)
HOURS = (0, 0, -5, -5, 1, -2, 9, 9)
"""Where the clocks of both streams stand in each batch."""
SCHEMA = pa.schema({"id": pa.int64(), "t": pa.timestamp("us", tz="UTC"), "x": pa.int64()})
WEFT: Any = weft


def _batches() -> list[Batch]:
    draw, number, batches = random.Random(7), 0, []
    for hour in HOURS:
        sides = []
        for _ in range(2):
            rows = [
                {
                    "id": number + k,
                    "t": START + timedelta(hours=hour, seconds=draw.randrange(600)),
                    "x": draw.randrange(6),
                }
                for k in range(12)
            ]
            number += len(rows)
            sides.append([rows])
        batches.append(Batch(*sides))
    return batches


def test_event_time_jumps_back_and_forward(spark, tmp_path) -> None:
    """What is behind the watermark is late and counted; without a delay, or with enough of it, nothing is lost."""
    desk, batches = Desk(spark, tmp_path), _batches()
    frames = [desk.stream(side, tables(batches, side, SCHEMA)) for side in ("left", "right")]
    for side in ("left", "right"):  # written by a clock that went back too: the source takes the oldest file first
        for file in (tmp_path / side).iterdir():
            age = file.stat().st_mtime - 5 * 3600
            os.utime(file, (age, age))
    windows = {delay: weft.within("3 minutes", on="t", delay=delay) for delay in (None, "1 hour", "12 hours")}
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "100")  # the manifests of all batches count late rows
    found = desk.run_together({
        str(delay): WEFT.join(
            *frames, on="l.x = r.x", window=window, tasks=2, state=desk.state_of(str(delay)), select=["l.id AS x", "r.id AS y"]
        )
        for delay, window in windows.items()
    })  # fmt: skip
    for delay, window in windows.items():
        expected = joined(batches, [Compare("x", "=", "x")], window)
        assert pairs_of(found[str(delay)]) == pairs_of(expected), delay
        assert (sum(expected.late.values()) > 0) == (delay == "1 hour")
