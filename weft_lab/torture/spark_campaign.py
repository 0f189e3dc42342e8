"""The campaign on Spark: Python workers, executors and whole drivers are killed, and every sink is compared with the oracle."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path

from weft_lab.torture.processes import Spawned
from weft_lab.torture.spark_case import SparkCase
from weft_lab.torture.spark_job import check
from weft_lab.torture.tally import Enough, Tally, Tell, nothing_told
from weft_lab.torture.worker_faults import FAULTS, NOTES

__all__ = ["run_drivers", "run_executors", "run_workers"]

_TOGETHER = 10
"""Seeds that share a session."""
_LONG = 900.0
"""Seconds after which a job counts as hung."""


def run_workers(seeds: Iterable[int], enough: Enough, tell: Tell = nothing_told, *, faults: int = 20_000) -> Tally:
    """Kill Python workers at random moments and at file operations; stores fail and dawdle."""
    more = ["--kill", "worker", "--every", "4", "--conf", "spark.python.daemon.module=weft_lab.torture.worker_faults"]
    return _sessions(seeds, enough, tell, more, faults)


def run_executors(seeds: Iterable[int], enough: Enough, tell: Tell = nothing_told) -> Tally:
    """Kill the JVMs of executors on a small cluster, with speculation."""
    conf = {
        "spark.executor.memory": "512m",
        "spark.task.maxFailures": "1000",
        "spark.stage.maxConsecutiveAttempts": "1000",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.3",
        "spark.speculation.minTaskRuntime": "50ms",
        "spark.python.daemon.module": "weft_lab.torture.worker_faults",
    }
    options = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    return _sessions(
        seeds, enough, tell, ["--master", "local-cluster[2,1,1024]", "--kill", "executor", "--every", "8", *options], 0
    )


def _sessions(seeds: Iterable[int], enough: Enough, tell: Tell, more: Sequence[str], faults: int) -> Tally:
    """Run seeds, some of them in one session, until enough was done."""
    tally, started, rest = Tally(), time.monotonic(), iter(seeds)
    while not enough(tally):
        together = [seed for seed, _ in zip(rest, range(_TOGETHER), strict=False)]
        if not together:
            break
        with tempfile.TemporaryDirectory(prefix="weft-torture-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            notes, results = folder / "notes", folder / "results.jsonl"
            command = [*_command(folder, together), *more]
            with Spawned("job", command, folder, **{NOTES: str(notes), FAULTS: str(faults)}) as job:
                _wait(job, folder / "done", _LONG)
                told = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
                for seed in together[len(told) :]:
                    tally.failures[seed] = f"It did not end.\n{job.log()}"
            for result in told:
                tally.pairs += result.get("pairs", 0)
                if result["failure"]:
                    tally.failures[result["seed"]] = result["failure"]
            tally.counts.update(notes.read_text().split("\n")[:-1] if notes.exists() else [])
        tally.seeds += len(together)
        tally.seconds = time.monotonic() - started
        tell(tally)
    return tally


def run_drivers(
    seeds: Iterable[int], enough: Enough, tell: Tell = nothing_told, *, lives: int = 6
) -> Tally:  # fmt: skip
    """Kill driver, JVM and workers together, some times per seed, with other settings in every life."""
    tally, started = Tally(), time.monotonic()
    for seed in seeds:
        if enough(tally):
            break
        with tempfile.TemporaryDirectory(prefix="weft-torture-", ignore_cleanup_errors=True) as name:
            try:
                tally.pairs += _lives_of(seed, Path(name), lives, tally)
            except Exception:  # noqa: BLE001  whatever it is, it is a finding
                tally.failures[seed] = traceback.format_exc()[-4000:]
        tally.seeds += 1
        tally.seconds = time.monotonic() - started
        tell(tally)
    return tally


def _lives_of(seed: int, folder: Path, lives: int, tally: Tally) -> int:
    """Let a query live and die; return the pairs in its sink after the last life."""
    case, chance = SparkCase.of(seed, batches=2 * lives), random.Random(f"moments of {seed}")
    home = folder / str(seed)
    case.write(home)
    offsets, commits = home / "checkpoint" / "offsets", home / "checkpoint" / "commits"
    for life in range(lives):
        begun = _newest(commits)
        target = begun + chance.choice((1, 1, 2, 3))
        with Spawned(
            "job", [*_command(folder, [seed]), "--life", str(life), "--batches", str(2 * lives)], folder
        ) as job:
            end = time.monotonic() + _LONG
            while _newest(offsets) < target and job.popen.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.7))
            ended = job.popen.poll()
            if ended not in (None, 0):
                raise AssertionError(f"Life {life} ended with {ended}.\n{job.log()}")
            job.kill()
        if ended is None:
            inside = _newest(offsets) > _newest(commits)
            tally.counts["driver killed in a batch" if inside else "driver killed between batches"] += 1
        if (home / "done").exists():
            break
    if not (home / "done").exists():
        with Spawned(
            "job", [*_command(folder, [seed]), "--life", str(lives), "--batches", str(2 * lives)], folder
        ) as job:
            _wait(job, home / "done", _LONG)
            if not (home / "done").exists():
                raise AssertionError(f"The last life did not end.\n{job.log()}")
    return check(case, home)


def _command(folder: Path, seeds: Sequence[int]) -> list[str]:
    return [sys.executable, "-m", "weft_lab.torture.spark_job", str(folder), "--seeds", *map(str, seeds)]


def _wait(job: Spawned, done: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not done.exists() and job.popen.poll() is None and time.monotonic() < end:
        time.sleep(0.05)


def _newest(log: Path) -> int:
    """Return the newest batch of one of Spark's logs, -1 if there is none."""
    if not log.exists():
        return -1
    return max((int(path.name) for path in log.iterdir() if path.name.isdigit()), default=-1)
