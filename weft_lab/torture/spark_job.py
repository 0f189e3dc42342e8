"""A process that joins on Spark, to be killed: `python -m weft_lab.torture.spark_job FOLDER --seeds 1 2 3`.

Every seed has a folder of its own with input, checkpoint, state and sink. A seed that is alone lives once, with the settings
of `--life`, and leaves `done` when its input is used up. Several seeds live twice each, the second time with more input and
other settings, and are checked here; what came out goes to `results.jsonl`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from weft_lab.torture.cases import Ids
from weft_lab.torture.processes import committed_files, descendants
from weft_lab.torture.small_session import small_session
from weft_lab.torture.spark_case import SparkCase
from weft_lab.torture.worker_faults import NOTES

__all__ = ["check", "main"]

_VICTIMS = {"worker": "-m weft_lab.torture.worker_faults", "executor": "CoarseGrainedExecutorBackend"}


def main() -> None:
    """Run the lives that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--life", type=int, default=0)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--master", default="local[2,1000]")
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--kill", choices=sorted(_VICTIMS), help="SIGKILL such processes now and then")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two kills, on average")
    args = parser.parse_args()
    spark = small_session(args.folder, args.master, dict(item.split("=", 1) for item in args.conf))
    if args.kill:
        threading.Thread(target=_kill, args=(args.kill, args.every), daemon=True).start()
    if len(args.seeds) == 1:
        folder = args.folder / str(args.seeds[0])
        _live(spark, SparkCase.of(args.seeds[0], args.batches), folder, args.life)
        (folder / "done").write_text("done")
    else:
        for seed in args.seeds:
            _twice(spark, seed, args.folder)
        (args.folder / "done").write_text("done")
    os._exit(0)  # killed executors and workers may keep a session from closing


def _live(spark: Any, case: SparkCase, folder: Path, life: int) -> None:
    frame = case.query(spark, folder, case.settings(life))
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "out")).awaitTermination()


def _twice(spark: Any, seed: int, above: Path) -> None:
    """Let a seed live twice, the second time with the other half of its input."""
    case, folder, started = SparkCase.of(seed), above / str(seed), time.monotonic()
    case.write(folder)
    later = [path for path in folder.glob("*/*.parquet") if int(path.stem) >= len(case.case.batches) // 2]
    for path in later:
        path.rename(path.with_suffix(".later"))
    result: dict[str, Any] = {"seed": seed, "failure": ""}
    try:
        _live(spark, case, folder, 0)
        for path in later:
            path.with_suffix(".later").rename(path)
        _live(spark, case, folder, 1)
        result["pairs"] = check(case, folder)
    except Exception:  # noqa: BLE001  whatever it is, it is a finding
        result["failure"] = traceback.format_exc()[-4000:]
    result["seconds"] = round(time.monotonic() - started, 1)
    with (above / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")


def check(case: SparkCase, folder: Path) -> int:
    """Compare the sink with the nested loop; return the number of pairs."""
    import pyarrow.parquet as pq

    found: Counter[Ids] = Counter()
    for path in committed_files(folder / "out"):
        table = pq.read_table(path)
        right = table.column("y").to_pylist() if "y" in table.column_names else [None] * table.num_rows
        found.update(zip(table.column("x").to_pylist(), right, strict=True))
    expected = case.expected(folder)
    lost, invented = expected - found, found - expected
    if lost or invented:
        raise AssertionError(
            f"{sum(lost.values())} pairs lost {list(lost)[:5]}, {sum(invented.values())} invented {list(invented)[:5]}"
        )
    return sum(found.values())


def _kill(what: str, every: float) -> None:
    """SIGKILL one of the processes of a kind, at moments that nobody knows."""
    chance = random.SystemRandom()
    while True:
        time.sleep(chance.expovariate(1 / every))
        alive = descendants(os.getpid(), _VICTIMS[what])
        if what == "worker":  # not the daemon that forks them: it takes seconds to be there again
            alive = alive[1:]
        if alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(alive), signal.SIGKILL)
                with Path(os.environ[NOTES]).open("a", encoding="ascii") as file:
                    file.write(f"{what} killed\n")


if __name__ == "__main__":
    main()
