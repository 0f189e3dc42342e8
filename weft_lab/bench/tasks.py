"""`weft-lab bench tasks`: what a batch costs over 2 to 512 tasks, where nothing moves and where a tenth of the state does.

A band join under key ranges, whose borders sway by a tenth of a range every third batch, so that each task takes a tenth of
its neighbour's rows. *Counts* are requests of a batch and task: they are the same on every machine, so they are taken from the
local runtime, over a store that counts as an object store does. *Times* are those of Spark, beside a null join that sends as
many rows to as many tasks and joins nothing, and over map partitions.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from weft.local import Join
from weft.routing import BatchView, Notes, Plan, RangePlan, Scheme, TaskStats
from weft.spec import JoinSpec, within
from weft.state import Care, Holder, ObjectFolder, StateStore

__all__ = ["Swaying", "count", "run"]

_KEYS = 1 << 20
_WIDTH = 3
_STEP = 10
"""Microseconds between two rows of a side."""
_HELD = 4
"""Batches in a window."""
_EVERY = 3
"""Batches from one migration to the next."""
_ON = f"abs(l.key - r.key) <= {_WIDTH}"


@dataclass(frozen=True)
class Swaying(Scheme):
    """Even ranges of the keys whose borders move by `share` of a range, back and forth."""

    name: ClassVar[str] = "swaying"
    reaches: ClassVar[tuple[str, ...]] = ("range",)

    share: float = 0.1

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        return self._cut(spec, tasks, 0.0)

    def _cut(self, spec: JoinSpec, tasks: int, by: float) -> RangePlan:
        bounds = (np.arange(1, tasks) + by) * (_KEYS / tasks)
        return RangePlan.over(spec, tasks, tuple(int(bound) for bound in bounds))

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        return {"batches": int(before.get("batches", 0)) + 1}

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        if int(stats[0].notes.get("batches", 0)) % _EVERY:
            return plan, ""
        even = self._cut(spec, plan.tasks, 0.0)
        return (self._cut(spec, plan.tasks, self.share) if plan == even else even), "the borders sway"


# Counts


@dataclass(frozen=True)
class _Counted(ObjectFolder):
    """An object store on a disk that counts what it is asked."""

    asked: Counter[str] = field(default_factory=Counter)

    def _entries(self) -> list[Any]:
        self.asked["LIST"] += 1
        return super()._entries()

    def _look_up(self, path: str) -> fs.FileType:
        self.asked["HEAD"] += 1
        return super()._look_up(path)

    def _read(self, path: str) -> pa.Buffer:
        self.asked["GET"] += 1
        return super()._read(path)

    def _read_part(self, path: str, start: int, length: int) -> pa.Buffer:
        self.asked["GET"] += 1
        return super()._read_part(path, start, length)

    def _write(self, path: str, data: pa.Buffer | bytes) -> None:
        self.asked["PUT"] += 1
        super()._write(path, data)

    def _delete(self, path: str) -> None:
        self.asked["DELETE"] += 1
        super()._delete(path)


def count(tasks: int, rows: int = 20_000, batches: int = 12, *, copies: bool = True) -> list[dict[str, Any]]:
    """Return the requests of a quiet batch and of one that migrates; without `copies` no machine remembers what it wrote."""
    with _scratch() as folder:
        asked: Counter[str] = Counter()
        there = _Counted(fs.LocalFileSystem(), str(folder), care=Care(cache=Care.cache if copies else 0), asked=asked)
        table = _tables(rows, batches)
        window = within(_HELD * rows * _STEP, on="ts", delay=0)
        probe = Join(table[0].schema, table[0].schema, on=_ON, window=window, scheme=Swaying(), tasks=tasks)
        store, run = StateStore(there, "query", probe.spec.fingerprint(), 10), str(uuid.uuid4())
        join = Join(table[0].schema, table[0].schema, on=_ON, window=window, scheme=Swaying(), tasks=tasks, state=store)
        found: list[dict[str, Any]] = []
        for batch, one in enumerate(table):
            asked.clear()
            store.claim(Holder(run, "join", f"{run} {batch}"), lead=True)
            for _ in join.feed(one, one):
                pass
            kinds = dict(asked)
            told = [store.read_metrics(task, batch) or {} for task in range(tasks)]
            found.append(
                {
                    "batch": batch, "moves": any(report.get("migrated") for report in told), **kinds,
                    "moved": sum(int(report["gained"]) for report in told),
                    "held": sum(sum(report["held"].values()) for report in told),
                    "opened": sum(int(report["opened"]) for report in told),
                    "read": sum(int(report["read"]) for report in told),
                }
            )  # fmt: skip
        return _summed(tasks, found[_HELD + 1 :], copies=copies)


def _summed(tasks: int, found: Sequence[dict[str, Any]], *, copies: bool) -> list[dict[str, Any]]:
    lines = []
    for moves in (False, True):
        some = [one for one in found if one["moves"] is moves]
        names = ("GET", "PUT", "LIST", "HEAD", "DELETE", "opened", "read", "moved", "held")
        mean = {name.lower(): round(sum(one.get(name, 0) for one in some) / max(len(some), 1), 1) for name in names}
        per_task = round(sum(mean[name] for name in ("get", "put", "list", "head", "delete")) / tasks, 2)
        lines.append(
            {"case": "counts", "tasks": tasks, "migrates": moves, "copies": copies, "per_task": per_task, **mean}
        )
    return lines


@contextmanager
def _scratch() -> Any:
    folder = Path(tempfile.mkdtemp(prefix="weft-lab-"))
    before, tempfile.tempdir = tempfile.tempdir, str(folder / "machine")
    (folder / "machine").mkdir()
    try:
        yield folder / "state"
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


def _tables(rows: int, batches: int, seed: int = 1) -> list[pa.Table]:
    random = np.random.default_rng(seed)
    return [
        pa.table(
            {
                "id": np.arange(batch * rows, (batch + 1) * rows), "key": random.integers(0, _KEYS, rows),
                "ts": np.arange(batch * rows, (batch + 1) * rows) * _STEP, "value": random.random(rows),
            }
        )
        for batch in range(batches)
    ]  # fmt: skip


# Times


def run(
    tasks: Sequence[int] = (2, 8, 32, 128), partitions: Sequence[int] = (1, 4, 16), rows: int = 20_000, batches: int = 9,
    *, timed: bool = True, say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Count and measure every number of tasks, then every number of map partitions over eight tasks."""
    found: list[dict[str, Any]] = []
    for number in tasks:
        for copies in (True, False):
            say(f"counting requests, {number} tasks")
            found += count(number, min(rows, 4000), copies=copies)
    return found + (_times(tasks, partitions, rows, batches, say) if timed else [])


def _times(
    tasks: Sequence[int], partitions: Sequence[int], rows: int, batches: int, say: Callable[[str], None]
) -> list[dict[str, Any]]:  # fmt: skip
    from weft.spark.jobs import quiet_session

    folder = Path(tempfile.mkdtemp(prefix="weft-lab-"))
    conf = {"spark.driver.memory": "4g", "spark.sql.streaming.numRecentProgressUpdates": "1000"}
    spark = quiet_session("weft-lab bench", master=None, state=None, conf=conf, log=folder / "spark.log")
    try:
        cases = [(number, 1) for number in tasks] + [(8, parts) for parts in partitions if parts > 1]
        found = []
        for number, parts in cases:
            say(f"{number} tasks, {parts} map partitions of each side")
            found.append(_timed(spark, folder / f"{number}-{parts}", number, parts, rows, batches))
        return found
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _timed(spark: Any, folder: Path, tasks: int, parts: int, rows: int, batches: int) -> dict[str, Any]:
    from weft_lab.spark.timed_joins import time_join, time_null

    warm = _HELD + 2
    for side in ("left", "right"):
        _write(folder / side, _tables(rows, warm + batches, seed=1 if side == "left" else 2), parts)
    left, right = folder / "left", folder / "right"
    window = within(f"{_HELD * rows * _STEP} us", on="ts", delay="0 seconds")
    null = time_null(spark, left, right, parts, folder / "null", tasks)[2:]
    times = time_join(
        spark, left, right, parts, folder / "weft", on=_ON, window=window, scheme=Swaying(), tasks=tasks
    )[warm:]  # fmt: skip
    moved = [one for one in times if any(task["migrated"] for task in one.tasks)]
    quiet = [one for one in times if one not in moved]
    seconds = {
        name: statistics.median(one.seconds for one in some) for name, some in (("quiet", quiet), ("moving", moved))
    }
    base = statistics.median(null)
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "case": "times", "tasks": tasks, "partitions": parts, "rows": 2 * rows, "null_s": round(base, 3),
        "quiet_s": round(seconds["quiet"], 3), "moving_s": round(seconds["moving"], 3),
        "quiet_over_null": round(seconds["quiet"] / base, 3), "moving_over_quiet": round(seconds["moving"] / seconds["quiet"], 3),
        "moved": statistics.median(sum(int(task["gained"]) for task in one.tasks) for one in moved),
        "held": statistics.median(sum(sum(task["held"].values()) for task in one.tasks) for one in moved),
        "opened": statistics.median(sum(int(task["opened"]) for task in one.tasks) for one in moved),
        "pairs": sum(one.pairs for one in times),
    }  # fmt: skip


def _write(folder: Path, tables: Sequence[pa.Table], parts: int) -> None:
    folder.mkdir(parents=True)
    for batch, table in enumerate(tables):
        timed = table.set_column(2, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))
        each = -(-table.num_rows // parts)
        for part in range(parts):
            path, age = folder / f"{batch:04d}-{part:03d}.parquet", 1_700_000_000 + batch * parts + part
            pq.write_table(timed.slice(part * each, each), path)
            os.utime(path, (age, age))  # streams take files in order of their age
