"""`weft-lab bench kinds`: outer, semi and anti joins on Spark, beside the inner join of the same streams.

The band join of `weft-lab bench spark`: two partners per row on average, so every seventh row or so has none. A row without a
partner leaves when its window has ended. The kinds run in turn, several times, and the median batch of each counts.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from weft_lab.bench.spark import WARM, write_load

__all__ = ["KINDS", "run"]

KINDS = ("inner", "left", "full", "left_semi", "left_anti")


def run(
    rows: int = 1_000_000, window: int = 1 << 18, batches: int = 4, rounds: int = 3, kinds: Sequence[str] = KINDS,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure every kind; each entry has seconds per batch, rows that left, and the ratio to the inner join."""
    from weft.spark.jobs import quiet_session
    from weft_lab.spark.timed_joins import BatchTime, time_query

    folder = Path(tempfile.mkdtemp(prefix="weft-lab-"))
    conf = {"spark.driver.memory": "4g", "spark.sql.streaming.numRecentProgressUpdates": "1000"}
    spark = quiet_session("weft-lab bench", master=None, state=None, conf=conf, log=folder / "spark.log")
    warm = -(-window // max(rows // 2, 1)) + WARM
    found: dict[str, list[BatchTime]] = {kind: [] for kind in kinds}
    try:
        load = write_load(folder / "load", rows, window, warm + batches)
        for number in range(rounds):
            for kind in kinds:
                say(f"round {number + 1} of {rounds}: {kind}")
                scratch = folder / f"{kind}-{number}"
                found[kind] += time_query(spark, "weft", load, scratch, kind)[warm:]
                shutil.rmtree(scratch, ignore_errors=True)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    seconds = {kind: statistics.median(time.seconds for time in times) for kind, times in found.items()}
    return [
        {
            "kind": kind, "rows": rows, "window": window, "seconds": round(seconds[kind], 3),
            "out_per_row": round(sum(t.pairs or 0 for t in times) / max(sum(t.rows for t in times), 1), 3),
            "over_first": round(seconds[kind] / seconds[kinds[0]], 3),
        }
        for kind, times in found.items()
    ]  # fmt: skip
