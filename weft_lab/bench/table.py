"""`weft-lab bench table`: a stream looked up in a table of ranges, beside a pass-through and beside Spark's own join.

The claim: with a table of a million ranges, at least 50 times Spark's own plan (a nested loop over the broadcast table), and at
least 0.8 of a pass-through `mapInArrow`. Disjoint ranges that leave no gap, so every row has one partner; uniform numbers.
Spark's own join is measured on batches that it can finish.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["run"]

_DOMAIN = 1 << 32
_WARM = 2
"""Batches that do not count: workers start, kernels load, the table is mapped."""
_KINDS = ("inner", "left_semi")


def run(
    rows: int = 4_000_000, ranges: int = 1_000_000, batches: int = 5, native_rows: int = 20_000,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure both comparisons; each entry has rows per second and their ratio."""
    from weft.spark.jobs import quiet_session

    folder = Path(tempfile.mkdtemp(prefix="weft-lab-"))
    conf = {"spark.driver.memory": "4g", "spark.sql.streaming.numRecentProgressUpdates": "1000"}
    spark = quiet_session("weft-lab bench", master=None, state=None, conf=conf, log=folder / "spark.log")
    try:
        say(f"writing {ranges:,} ranges and {rows:,} rows a batch")
        files = _write(folder / "large", rows, ranges, _WARM + batches)
        results = [_beside(spark, folder / "large", files, "null", rows, ranges, how, say) for how in _KINDS]
        results.append(_fixed(spark, folder / "small", ranges, say))
        if native_rows:
            files = _write(folder / "native", native_rows, ranges, _WARM + 1)
            results.append(_beside(spark, folder / "native", files, "native", native_rows, ranges, "inner", say))
        return results
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _beside(
    spark: Any, folder: Path, files: int, other: str, rows: int, ranges: int, how: str, say: Callable[[str], None]
) -> dict[str, Any]:  # fmt: skip
    speed = {}
    for kind in ("weft", other):
        say(f"{how}, {rows:,} rows a batch: {kind}")
        speed[kind] = rows / _seconds(spark, kind, folder, files, how)
    return {
        "case": f"beside {'a pass-through' if other == 'null' else 'Spark'}", "how": how, "rows": rows, "ranges": ranges,
        "weft_rows_per_s": round(speed["weft"]), f"{other}_rows_per_s": round(speed[other]),
        f"weft_over_{other}": round(speed["weft"] / speed[other], 3),
    }  # fmt: skip


def _fixed(spark: Any, folder: Path, ranges: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure what a micro-batch costs that has next to no rows."""
    say("almost empty batches")
    files = _write(folder, 10, ranges, 12)
    found = {kind: _seconds(spark, kind, folder, files, "inner", 4) for kind in ("weft", "null")}
    return {
        "case": "fixed cost", "how": "inner", "rows": 10, "ranges": ranges, "weft_s": round(found["weft"], 4),
        "null_s": round(found["null"], 4), "weft_over_null": round(found["weft"] / found["null"], 3),
    }  # fmt: skip


def _seconds(spark: Any, kind: str, folder: Path, files: int, how: str, warm: int = _WARM) -> float:
    from weft_lab.spark.timed_tables import time_table

    scratch = folder / f"run-{kind}"
    try:
        times = time_table(spark, kind, folder, files, scratch, how=how)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return float(statistics.median(time.seconds for time in times[warm:]))


def _write(folder: Path, rows: int, ranges: int, batches: int) -> int:
    """Write the table, and the files of all batches; return how many files make a batch."""
    files = os.cpu_count() or 2
    random = np.random.default_rng(1)
    first = np.unique(np.append(random.integers(0, _DOMAIN, ranges - 1), 0))
    table = pa.table(
        {"first": first, "last": np.append(first[1:] - 1, _DOMAIN), "place": random.permutation(len(first))}
    )
    (folder / "table").mkdir(parents=True)
    pq.write_table(table.take(random.permutation(len(first))), folder / "table" / "all.parquet")
    (folder / "stream").mkdir()
    each = max(1, rows // files)
    for file in range(batches * files):
        ids = np.arange(file * each, (file + 1) * each)
        part = pa.table(
            {
                "id": ids, "ip": random.integers(0, _DOMAIN, each),
                "ts": pa.array(ids, pa.timestamp("us", "UTC")), "value": random.random(each),
            }
        )  # fmt: skip
        path = folder / "stream" / f"{file:06d}.parquet"
        pq.write_table(part, path)
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))  # streams take files in order of their age
    return files
