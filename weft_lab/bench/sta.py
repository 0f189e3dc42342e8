"""`weft-lab bench sta`: Queries 2, 3 and 4 on Spark, `auto` beside the systems of the STA paper (000-31..000-35, 000-49..000-51).

Keys are drawn by Zipf's law: fares in the steps of a taxi meter (Query 2), voltage and current in the steps of a converter
(Query 3), numbers (Query 4). What leaves is a count per second.

CI and PIM as printed leave pairs out, and so does STA: less work, so that batches per second would praise them for it.
All are judged by their rows per second times the share of the pairs they found; both numbers are shown.
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

from weft.routing import Sta
from weft.spec import within
from weft_lab.bench.sta_systems import SYSTEMS, Sizes
from weft_lab.workloads.zipf import seeded_keys

__all__ = ["CONTESTANTS", "QUERIES", "run"]

_STEP = 1000
"""Microseconds between two rows of a stream."""
WARM = 4
"""Batches that do not count: workers start, kernels load, plans settle."""


@dataclass(frozen=True)
class _Query:
    on: str
    columns: dict[str, Callable[[NDArray[np.int64]], NDArray[Any]]]
    """Columns by name, made from Zipf-distributed numbers."""
    domain: int
    self_join: bool
    window: int
    """Rows of a stream that its window reaches back: some 10 to 20 pairs a row."""


QUERIES = {
    "2": _Query("a.fare > b.fare", {"fare": lambda number: np.round(3.0 + 0.7 * number, 2)}, 300, True, 15),
    "3": _Query(
        "l.v > r.v AND l.i < r.i",
        {"v": lambda number: 0.5 * number - 325, "i": lambda number: np.round(0.02 * number, 2)},
        1300,
        False,
        60,
    ),
    "4": _Query("a.k >= b.k", {"k": lambda number: number}, 100_000, True, 15),
}

CONTESTANTS = ("auto", "BCHJ", "SJ", "CI", "MCI", "MCI code", "PIM exact", "STA exact")
"""Each exact where its definition allows; `PIM` and `STA` name the ways of the paper that leave pairs out."""

_LISTED = 80
"""BCHJ compares a row with everything that arrived, not with a window: it gets so many times fewer rows a batch."""
_ENOUGH = 2
"""The last batch that BCHJ gets."""


def run(
    queries: Sequence[str] = ("2", "3", "4"), skews: Sequence[float] = (1.0, 1.5, 2.0), rows: int = 400_000,
    window: int | None = None, batches: int = 4, contestants: Sequence[str] = CONTESTANTS, tasks: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure every query at every skew; one entry each, with rows per second of all contestants."""
    from weft.spark.jobs import quiet_session

    folder = Path(tempfile.mkdtemp(prefix="weft-lab-"))
    conf = {
        "spark.driver.memory": "3g", "spark.sql.streaming.numRecentProgressUpdates": "1000",
        # Contestants that wait must not keep the machine busy by listing folders.
        "spark.sql.streaming.pollingDelay": "200ms", "spark.sql.shuffle.partitions": "1",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    }  # fmt: skip
    spark = quiet_session("weft-lab bench", master="local[2]", state=None, conf=conf, log=folder / "spark.log")
    try:
        found = []
        for query in queries:
            for z in skews:
                say(f"query {query}, Z = {z:g}")
                made = folder / f"{query}-{z:g}"
                found.append(_one(spark, made, query, z, rows, window, batches, contestants, tasks, say))
                shutil.rmtree(made, ignore_errors=True)
        return found
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _one(
    spark: Any, folder: Path, name: str, z: float, rows: int, window: int | None, batches: int, contestants: Sequence[str],
    tasks: int | None, say: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    from weft_lab.spark.contestants import Asked, Contestant

    query = QUERIES[name]
    window = window or query.window
    kinds = ", ".join(f"{column} {'long' if column == 'k' else 'double'}" for column in query.columns)
    near = within(f"{window * _STEP} us", on="ts", delay="0 seconds")
    asked = Asked(query.on, f"{kinds}, ts timestamp, w int", near, query.self_join)
    sides = {"one": 1} if query.self_join else {"left": 1, "right": 2}
    made = {
        contestant: Contestant(spark, asked, folder / contestant.replace(" ", "-"), *_system(contestant, window, tasks))
        for contestant in contestants
    }
    times: dict[str, list[Any]] = {contestant: [] for contestant in contestants}
    try:
        for batch in range(WARM + batches):
            files = {
                less: {
                    side: _write(folder / f"input-{less}", side, seed, query, z, rows // len(sides) // less, batch)
                    for side, seed in sides.items()
                }
                for less in (1, _LISTED)
            }
            order = contestants if batch % 2 else tuple(reversed(contestants))
            for contestant in order:
                if contestant == "BCHJ" and batch > _ENOUGH:
                    continue
                say(f"query {name}, Z = {z:g}, batch {batch + 1} of {WARM + batches}: {contestant}")
                times[contestant].append(made[contestant].feed(files[_LISTED if contestant == "BCHJ" else 1]))
    finally:
        for one in made.values():
            one.stop()
    return _judged(name, z, {who: seen[WARM if who != "BCHJ" else 1 :] for who, seen in times.items()}, made)


def _system(name: str, window: int, tasks: int | None) -> tuple[Any, str, int | None]:
    if name == "auto":
        return "auto", "auto", None
    system = SYSTEMS[name]
    scheme = system.scheme(Sizes(_STEP * window, 2 * window))
    if isinstance(scheme, Sta):  # one task must be left for the cold keys
        scheme = replace(scheme, hot="auto" if (tasks or os.cpu_count() or 2) < 3 else 2)
    return scheme, system.index, tasks


def _judged(name: str, z: float, times: dict[str, list[Any]], made: dict[str, Any]) -> dict[str, Any]:
    """Return rows per second, the share of the pairs found, and how `auto` stands beside the best of the others."""
    whole = sum(one.pairs for one in times["auto"])
    rows = {who: seen[0].rows / statistics.median(one.seconds for one in seen) for who, seen in times.items()}
    share = {who: sum(one.pairs for one in seen) / max(whole, 1) for who, seen in times.items()}
    share |= {who: 1.0 for who in times if who == "BCHJ"}  # it saw fewer rows, and all of their pairs
    exact = [who for who in times if who == "auto" or SYSTEMS[who].exact]
    assert all(share[who] == 1 for who in exact), f"exact systems differ: {share}"
    judged = {who: rows[who] * share[who] for who in times}
    best = max((who for who in times if who != "auto"), key=judged.__getitem__, default="auto")
    return {
        "query": name, "z": z, "pairs_per_row": round(whole / sum(one.rows for one in times["auto"]), 1),
        "rows_per_s": {who: round(rate) for who, rate in rows.items()},
        "share": {who: round(part, 3) for who, part in share.items()}, "best": best,
        "auto_over_best": round(judged["auto"] / judged[best], 3),
        "seconds": {who: [one.seconds for one in seen] for who, seen in times.items()},
        "auto": made["auto"].explanation.to_dict(),
    }  # fmt: skip


def _write(folder: Path, side: str, seed: int, query: _Query, z: float, rows: int, batch: int) -> list[Path]:
    """Write one batch of one stream, a file per core."""
    files = max(1, (os.cpu_count() or 2) // (1 if query.self_join else 2))
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for part in range(files):
        each = rows // files
        at = (batch * files + part) * each + np.arange(each)
        columns: dict[str, Any] = {
            name: make(seeded_keys(each, query.domain, z, seed=1000 * seed + 100 * number + batch * files + part, scatter=number))
            for number, (name, make) in enumerate(query.columns.items())
        }  # fmt: skip
        time = at * _STEP
        columns |= {"ts": pa.array(time, pa.timestamp("us", "UTC")), "w": (time // 1_000_000).astype(np.int32)}
        path = folder / f"{side}-{batch:04d}-{part}.parquet"
        pq.write_table(pa.table(columns), path)
        made.append(path)
    return made
