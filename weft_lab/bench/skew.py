"""`weft-lab bench skew`: what skewed keys, watching them, and moving them cost an equi join on Spark (local, two cores).

Three questions, each asked of the whole query, Parquet in and noop sink out:

- *skew*: rows per second of `auto` with Zipf(1.5) keys over its rows per second with even keys, for the same number of pairs
  a batch. Once with both sides skewed, where the window is chosen so that pairs are the same; once with one side skewed, where
  they are the same in any window. A plain hash runs beside it.
- *watching*: seconds that all tasks spend on counting keys (`Scheme.watch`) and on the control step, over the seconds that
  the cores had in the batch.
- *migration*: how much longer a batch takes whose plan moves a tenth of the rows that are held, two million of them, every
  task losing and gaining some.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.routing import FastJoin, FastJoinPlan, Hash, Plan, Scheme, TaskStats
from weft.spec import JoinSpec, Window, unbounded, within
from weft_lab.workloads import zipf_keys, zipf_shares

__all__ = ["PARTS", "TASKS", "Shift", "run"]

CORES, TASKS, ZIPF = 2, 8, 1.5
PARTS = ("both", "one", "migration")
"""Both sides skewed, one side skewed, migration."""

_STEP = 10
"""Microseconds between two rows of a side."""
_WARM = 6
"""Batches that do not count: a hot key is known after two and acted upon in the fourth."""
_KEYS = 1_000
_PAIRS = 10
"""Pairs per row."""
_MOVED = 2_000
"""Keys that a migration of the benchmark moves, of `_HELD_KEYS`: a tenth of the rows."""
_HELD_KEYS = 20_000


@dataclass(frozen=True)
class Shift(FastJoin):
    """A plain hash that every `every` batches moves the next tenth of the keys one task further, whatever their load."""

    every: int = 4
    first: int = 0

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        assert isinstance(plan, FastJoinPlan)
        age = plan.age + 1
        turn, rest = divmod(age - self.first, self.every)
        if rest or turn < 0 or turn >= _HELD_KEYS // _MOVED:
            return replace(plan, age=age), ""
        keys = np.arange(turn * _MOVED, (turn + 1) * _MOVED)
        table = zip(keys.tolist(), ((plan.home(0, keys) + 1) % plan.tasks).tolist(), strict=True)
        moved = ((*(plan.moved[0] if plan.moved else ()), *table),)
        after = replace(plan, age=age, moved=moved, version=plan.version + 1, migrations=plan.migrations + 1)
        return after, f"{_MOVED:,} keys one task further"


def run(
    parts: Sequence[str] = PARTS, rows: int = 200_000, batches: int = 4, say: Callable[[str], None] = lambda _: None
) -> list[dict[str, Any]]:
    """Measure the asked parts in one session; every entry has its seconds, its ratio and the ratio aimed at."""
    from weft.spark.jobs import quiet_session

    folder = Path(tempfile.mkdtemp(prefix="weft-lab-"))
    conf = {
        "spark.driver.memory": "3g", "spark.sql.streaming.numRecentProgressUpdates": "1000",
        "spark.sql.streaming.minBatchesToRetain": "100",
    }  # fmt: skip
    spark = quiet_session("weft-lab bench", master=f"local[{CORES}]", state=None, conf=conf, log=folder / "spark.log")
    try:
        results: list[dict[str, Any]] = []
        if "both" in parts:
            results += _skew(spark, folder / "both", "both sides", rows, batches, say)
        if "one" in parts:
            results += _skew(spark, folder / "one", "one side", rows, batches, say)
        if "migration" in parts:
            results.append(_migration(spark, folder / "migration", batches, say))
        return results
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


# Skew


def _skew(
    spark: Any, folder: Path, which: str, rows: int, batches: int, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Compare even keys with skewed ones under `auto`, and with skewed ones under a hash."""
    even_window = _KEYS * _PAIRS  # before a row and behind it, so that half of its pairs are found by its partner
    same = float((zipf_shares(_KEYS, ZIPF) ** 2).sum()) if which == "both sides" else 1 / _KEYS
    window = round((even_window + 0.5) / _KEYS / same - 0.5)
    skews = {"even": (0.0, 0.0), "skewed": (ZIPF, ZIPF if which == "both sides" else 0.0)}
    total = (_WARM + batches) * rows // 2
    for name, (left, right) in skews.items():
        say(f"{which}: writing {name} keys")
        names = np.random.default_rng(7).permutation(_KEYS)
        for number, (side, z) in enumerate((("left", left), ("right", right))):
            drawn = names[zipf_keys(np.random.default_rng(number + 1), total, _KEYS, z)]
            _write(folder / name / side, drawn, _WARM + batches)
    found: dict[str, tuple[float, float, float, float]] = {}
    runs: tuple[tuple[str, str, str | Scheme], ...]
    runs = (("even", "even", "auto"), ("auto", "skewed", "auto"), ("hash", "skewed", Hash()))
    for name, keys, scheme in 2 * runs:  # the better of two counts: a session that has just started is slower
        say(f"{which}: {name}")
        span = even_window if keys == "even" else window
        times = _times(spark, folder / keys, folder / "run", "l.key = r.key", _within(span), scheme)[_WARM:]
        seconds = statistics.median(time.seconds for time in times)
        watching = statistics.median(time.spent("watch") + time.spent("control") for time in times)
        busiest = statistics.mean(max(t["pairs"] for t in time.tasks) * TASKS / max(time.pairs, 1) for time in times)
        now = seconds, statistics.mean(time.pairs for time in times), watching / (CORES * seconds), busiest
        found[name] = min(now, found.get(name, now))
    shutil.rmtree(folder, ignore_errors=True)
    even, auto, plain = found["even"], found["auto"], found["hash"]
    ratio = even[0] / auto[0]
    return [
        {
            "case": f"Zipf({ZIPF}), {which}", "rows": rows, "pairs": round(auto[1]), "even_pairs": round(even[1]),
            "even_s": round(even[0], 3), "auto_s": round(auto[0], 3), "hash_s": round(plain[0], 3),
            "even_rows_per_s": round(rows / even[0]), "auto_rows_per_s": round(rows / auto[0]),
            "hash_rows_per_s": round(rows / plain[0]), "auto_busiest": round(auto[3], 2),
            "hash_busiest": round(plain[3], 2), "ratio": round(ratio, 3), "aim": 0.9, "holds": ratio >= 0.9,
        },
        *(
            {
                "case": f"watching, {name} keys, {which}", "rows": rows, "ratio": round(one[2], 4), "aim": 0.05,
                "holds": one[2] < 0.05,
            }
            for name, one in (("even", even), ("skewed", auto))
        ),
    ]  # fmt: skip


def _within(rows: int) -> Window:
    return within(f"{rows * _STEP} us", on="ts", delay="0 seconds")


# Migration


def _migration(spark: Any, folder: Path, batches: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Hold a million rows of either side, then let every third batch move a tenth of them."""
    held, each, every = 1_000_000, 50_000, 3
    load, moving = held // each, every * max(batches, 4)
    say("migration: writing keys")
    for number, side in enumerate(("left", "right")):
        draw = np.random.default_rng(number + 11)
        # The first batches are ten times as large, so that the state is there soon.
        sizes = [each * 10] * (load // 10) + [each] * moving
        _write(folder / "data" / side, draw.integers(0, _HELD_KEYS, sum(sizes)), len(sizes), sizes)
    say("migration: two million rows held")
    scheme = Shift(biclique=False, split_hot=False, every=every, first=load // 10 + 1)
    on = "l.key = r.key AND abs(l.value - r.value) <= 0.01"
    times = _times(spark, folder / "data", folder / "run", on, unbounded(), scheme)[load // 10 + 1 :]
    shutil.rmtree(folder, ignore_errors=True)
    moved = [time for time in times if any(task["migrated"] for task in time.tasks)]
    others = [time.seconds for time in times if time not in moved]
    usual = statistics.median(others)
    extra = statistics.median(time.seconds for time in moved) - usual
    gained = [sum(task["gained"] for task in time.tasks) for time in moved]
    rows = [sum(sum(task["held"].values()) for task in time.tasks) for time in moved]
    return {
        "case": "migration of a tenth", "rows": 2 * each, "held": rows[0], "moved": gained[0],
        "share": round(sum(gained) / sum(rows), 3), "migrations": len(moved), "usual_s": round(usual, 3),
        "worst_s": round(max(time.seconds for time in moved) - usual, 3), "ratio": round(extra, 3), "aim": 1.0,
        "holds": extra < 1.0,
    }  # fmt: skip


# Streams


def _times(spark: Any, data: Path, scratch: Path, on: str, window: Window, scheme: str | Scheme) -> Any:
    from weft_lab.spark.timed_joins import time_join

    try:
        return time_join(
            spark, data / "left", data / "right", 1, scratch, on=on, window=window, scheme=scheme, tasks=TASKS
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write(folder: Path, keys: NDArray[np.int64], batches: int, sizes: Sequence[int] | None = None) -> None:
    """Write one file per batch; timestamps are dense, so a window of time is one of rows."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(len(keys))
    ends = np.cumsum(sizes) if sizes is not None else len(keys) * np.arange(1, batches + 1) // batches
    start = 0
    for number, end in enumerate(ends.tolist()):
        ids = np.arange(start, end)
        table = pa.table(
            {
                "id": ids, "key": keys[start:end], "ts": pa.array(ids * _STEP, pa.timestamp("us", "UTC")),
                "value": random.random(len(ids)),
            }
        )  # fmt: skip
        path = folder / f"{number:06d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # streams take files in order of their age
        start = end
