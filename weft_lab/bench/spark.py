"""`weft-lab bench spark`: a band join of two Parquet streams, beside a pass-through, a shuffle, and Spark's own join.

Uniform keys, four columns, a window of 2**20 rows per side, two partners per row, noop sink. Only batches after the
window is full are measured; the fixed cost of a micro-batch is that of batches of ten rows. The contestants take turns, and what
the first turn took does not count: the JVM compiles as it goes, so whoever runs first is slowest.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["WARM", "run", "write_load"]

_DOMAIN = 1 << 40
_STEP = 10
"""Microseconds between two rows of a side."""
WARM = 2
"""Batches that do not count, after the window is full."""
_CONTESTANTS = ("null", "shuffled", "weft")
_TURNS = 3


def run(
    rows: Sequence[int] = (1_000_000, 4_000_000), window: int = 1 << 20, batches: int = 5, native_rows: int = 1_000_000,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure every size; each entry has rows per second of all sides in one run and their ratios."""
    from weft.spark.jobs import quiet_session

    folder = Path(tempfile.mkdtemp(prefix="weft-lab-"))
    conf = {"spark.driver.memory": "4g", "spark.sql.streaming.numRecentProgressUpdates": "1000"}
    spark = quiet_session("weft-lab bench", master=None, state=None, conf=conf, log=folder / "spark.log")
    try:
        results = []
        say("almost empty batches")
        results.append(_fixed(spark, folder / "fixed"))
        for size in rows:
            say(f"{size:,} rows a batch")
            results.append(_size(spark, folder / str(size), size, window, batches, say))
        if native_rows:
            say(f"Spark's own join, {native_rows:,} rows a batch")
            results.append(_native(spark, folder / "native", native_rows, batches))
        return results
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _fixed(spark: Any, folder: Path) -> dict[str, Any]:
    load = write_load(folder, 10, 1 << 10, 16)
    found = {kind: _seconds(times) for kind, times in _turns(spark, load, folder, 4).items()}
    return {
        "case": "fixed cost", "rows": 10, "window": 1 << 10, **{f"{kind}_s": round(found[kind], 4) for kind in found},
        **{f"weft_over_{kind}": round(found["weft"] / found[kind], 3) for kind in ("null", "shuffled")},
    }  # fmt: skip


def _size(spark: Any, folder: Path, rows: int, window: int, batches: int, say: Callable[[str], None]) -> dict[str, Any]:
    warm = -(-window // max(rows // 2, 1)) + WARM
    load = write_load(folder, rows, window, warm + batches)
    times = _turns(spark, load, folder, warm, lambda kind: say(f"{rows:,} rows a batch: {kind}"))
    measured = {kind: rows / _seconds(each) for kind, each in times.items()}
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "case": "band join", "rows": rows, "window": window, "pairs_per_row": round(_matches(times["weft"]), 3),
        **{f"{kind}_rows_per_s": round(rate) for kind, rate in measured.items()},
        **{f"weft_over_{kind}": round(measured["weft"] / measured[kind], 3) for kind in ("null", "shuffled")},
    }  # fmt: skip


def _turns(
    spark: Any, load: Any, folder: Path, warm: int, say: Callable[[str], None] = lambda _: None
) -> dict[str, list[Any]]:  # fmt: skip
    """Let all contestants run in turn; return the batches of each that count."""
    found: dict[str, list[Any]] = {kind: [] for kind in _CONTESTANTS}
    for turn in range(_TURNS):
        for kind in _CONTESTANTS:
            say(f"{kind}, turn {turn + 1} of {_TURNS}")
            times = _times(spark, kind, load, folder)[warm:]
            found[kind] += times if turn else []
    return found


def _native(spark: Any, folder: Path, rows: int, batches: int) -> dict[str, Any]:
    """Compare at a size that Spark's join can finish: the window holds the rows of two batches."""
    warm = 2 + WARM
    load = write_load(folder, rows, rows, warm + min(batches, 2))  # half a minute each
    measured = {kind: rows / _seconds(_times(spark, kind, load, folder)[warm:]) for kind in ("weft", "native")}
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "case": "beside Spark's join", "rows": rows, "window": rows, "weft_rows_per_s": round(measured["weft"]),
        "native_rows_per_s": round(measured["native"]), "weft_over_native": round(measured["weft"] / measured["native"], 2),
    }  # fmt: skip


def _times(spark: Any, kind: str, load: Any, folder: Path) -> Any:
    from weft_lab.spark.timed_joins import time_query

    scratch = folder / f"run-{kind}"
    try:
        return time_query(spark, kind, load, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _seconds(times: Any) -> float:
    return float(statistics.median(time.seconds for time in times))


def _matches(times: Any) -> float:
    """Return the pairs per row, and refuse a run that is not what it says."""
    rate = sum(time.pairs or 0 for time in times) / max(sum(time.rows for time in times), 1)
    assert 1.8 < rate < 2.2, f"match rate {rate:.2f}, not 2"
    return float(rate)


def write_load(folder: Path, rows: int, window: int, batches: int) -> Any:
    """Write the files of all batches of both sides; timestamps are dense, so the window is one of rows and of time."""
    from weft_lab.spark.timed_joins import Workload

    files = max(1, (os.cpu_count() or 2) // 2)
    each = max(1, rows // 2 // files)
    # A row meets the `window` rows of the other side that came before it; a band of 2 * width + 1 keys takes two of them.
    width = _DOMAIN // window
    for number, side in enumerate(("left", "right")):
        random = np.random.default_rng(number + 1)
        (folder / side).mkdir(parents=True, exist_ok=True)
        for file in range(batches * files):
            ids = np.arange(file * each, (file + 1) * each)
            table = pa.table(
                {
                    "id": ids, "key": random.integers(0, _DOMAIN, each),
                    "ts": pa.array(ids * _STEP, pa.timestamp("us", "UTC")), "value": random.random(each),
                }
            )  # fmt: skip
            path = folder / side / f"{file:06d}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))  # streams take files in order of their age
    return Workload(folder / "left", folder / "right", files, width, window * _STEP)
