"""`weft-lab bench drift`: what adapting is worth on Spark. A band join on key ranges cut once, beside A-DSP and beside `auto`.

Two streams, each on all schemes, all with the same pairs:

- *drifting*: keys by Zipf's law (z = 1) around a centre that moves on with every batch and crosses the domain once. Ranges
  that were even at first leave everything to one task.
- *still*: uniform keys. Nothing to adapt to, so adapting should cost nothing.

Rates are those of the whole stream behind the first batches, which have no statistics yet under any scheme. The schemes run
twice, in turn, and the better run counts. Control is shown as the share of a batch that its slowest control step took.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.routing import Adsp, Range, Scheme
from weft_lab.workloads import zipf_keys

__all__ = ["CASES", "Drift", "centred_keys", "run"]

STEP = 10
"""Microseconds between two rows of a side."""

WARM = 5
"""Batches that do not count: the first boundaries and areas stand, and what they moved has settled."""


@dataclass(frozen=True)
class Drift:
    """Rows of a side and batch, the domain, the band, the window in rows of a side, Zipf's z (None: uniform and still)."""

    rows: int
    domain: int
    width: int
    window: int
    z: float | None


CASES = {
    "drifting": Drift(110_000, 100_000, 200, 3, 1.0),
    "still": Drift(400_000, 1 << 20, 4, 400_000, None),
}

SCHEMES: dict[str, str | Scheme] = {"range": Range(imbalance=math.inf), "adsp": Adsp(), "auto": "auto"}
"""Boundaries from the first samples for ever; A-DSP; what a user gets who asks for nothing."""


def centred_keys(rng: np.random.Generator, rows: int, domain: int, z: float, centre: int) -> NDArray[np.int64]:
    """Return Zipf keys whose most frequent one is `centre`, the next ones beside it in turn.

    >>> centred_keys(np.random.default_rng(1), 6, 100, 2.0, 50).tolist()
    [50, 55, 50, 55, 50, 50]
    """
    rank = zipf_keys(rng, rows, domain, z)
    return (centre + np.where(rank % 2 == 0, rank // 2, -(rank + 1) // 2)) % domain


def run(
    cases: dict[str, Drift] | None = None,
    batches: int = 12,
    tasks: int = 8,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Measure every case under every scheme; each entry has rows per second of all of them, and their ratios to `range`."""
    from weft.spark.jobs import quiet_session

    folder = Path(tempfile.mkdtemp(prefix="weft-lab-"))
    conf = {
        "spark.driver.memory": "3g", "spark.sql.streaming.numRecentProgressUpdates": "1000",
        "spark.sql.streaming.minBatchesToRetain": "100",
    }  # fmt: skip
    spark = quiet_session("weft-lab bench", master="local[2]", state=None, conf=conf, log=folder / "spark.log")
    try:
        results = []
        for name, case in (cases or CASES).items():
            say(f"{name} keys: writing")
            load = _write(folder / name, case, batches)
            say(f"{name} keys: warming up")
            _once(spark, _write(folder / "warm", case, WARM + 1), folder / "warm-state", "matrix", tasks)
            shutil.rmtree(folder / "warm")
            runs: dict[str, _Run] = {}
            for scheme, asked in 2 * tuple(SCHEMES.items()):
                say(f"{name} keys: {scheme}")
                now = _once(spark, load, folder / f"{name}-{scheme}", asked, tasks)
                runs[scheme] = max(now, runs.get(scheme, now), key=lambda one: one.batches_per_s)
            assert len({one.pairs for one in runs.values()}) == 1, f"schemes found different pairs: {runs}"
            shutil.rmtree(folder / name)
            results.append(_entry(name, case, batches, tasks, runs))
        return results
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class _Run:
    """One scheme over the whole stream: the share of a batch that the slowest control step took, and batches that migrated."""

    batches_per_s: float
    pairs: int
    control: float
    changes: int


def _once(spark: Any, load: Any, scratch: Path, scheme: str | Scheme, tasks: int) -> _Run:
    from weft_lab.spark.timed_joins import time_near

    try:
        times = time_near(spark, load, scratch, scheme=scheme, tasks=tasks)[WARM:]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return _Run(
        len(times) / sum(one.seconds for one in times), sum(one.pairs for one in times),
        max(one.spent("control") / one.seconds for one in times),
        sum(any(task["migrated"] for task in one.tasks) for one in times),
    )  # fmt: skip


def _entry(name: str, case: Drift, batches: int, tasks: int, runs: dict[str, _Run]) -> dict[str, Any]:
    rows, range_ = 2 * case.rows, runs["range"]
    return {
        "case": name, "rows": rows, "batches": batches, "tasks": tasks,
        "pairs_per_row": round(range_.pairs / (rows * max(batches - WARM, 1)), 1),
        **{f"{scheme}_rows_per_s": round(rows * one.batches_per_s) for scheme, one in runs.items()},
        **{f"{s}_over_range": round(runs[s].batches_per_s / range_.batches_per_s, 3) for s in runs if s != "range"},
        **{f"{s}_control": round(runs[s].control, 4) for s in runs if s != "range"},
        **{f"{s}_changes": runs[s].changes for s in runs if s != "range"},
    }  # fmt: skip


def _write(folder: Path, case: Drift, batches: int) -> Any:
    """Write one file per side and batch."""
    from weft_lab.spark.timed_joins import Workload

    for number, side in enumerate(("left", "right")):
        (folder / side).mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(number + 1)
        for batch in range(batches):
            ids = np.arange(batch * case.rows, (batch + 1) * case.rows)
            if case.z is None:
                keys = random.integers(0, case.domain, case.rows)
            else:
                keys = centred_keys(random, case.rows, case.domain, case.z, case.domain * batch // batches)
            stamps = pa.array(ids * STEP, pa.timestamp("us", "UTC"))
            path = folder / side / f"{batch:06d}.parquet"
            pq.write_table(pa.table({"id": ids, "key": keys, "ts": stamps, "value": random.random(case.rows)}), path)
            os.utime(path, (1_700_000_000 + batch, 1_700_000_000 + batch))  # streams take files in order of their age
    return Workload(folder / "left", folder / "right", 1, case.width, case.window * STEP)
