"""What the crash tests share: input files, the oracle's answer, processes that can be killed whole, the sink's content."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tests.crash.driver import DELAY, NEAR, ON
from weft.types import SIDES
from weft_lab.torture.processes import Spawned, committed_files

EPOCH = 1_700_000_000
DRIVER = Path(__file__).with_name("driver.py")


def write_input(folder: Path, batches: int, rows: int = 250, first: int = 0, drift: int = 300) -> None:
    """Write one file per side and batch. Keys drift, so that range boundaries are cut anew; a few rows are out of order."""
    for side in SIDES:
        (folder / side).mkdir(parents=True, exist_ok=True)
        for batch in range(first, first + batches):
            draw = random.Random(f"{side} {batch}")
            ts = [EPOCH * 1_000_000 + batch * 10_000_000 + draw.randrange(-2_000_000, 10_000_000) for _ in range(rows)]
            x = [batch * drift + int(draw.gauss(0, 1000)) for _ in ts]
            ids = [batch * rows + number for number in range(rows)]
            columns = {
                "id": pa.array(ids, pa.int64()),
                "ts": pa.array(ts, pa.timestamp("us")),
                "x": pa.array(x, pa.int64()),
            }
            file = folder / side / f"{batch:03}.parquet"
            aside = folder / f".{side}-{batch}"
            pq.write_table(pa.table(columns), aside)
            os.utime(aside, (EPOCH + batch, EPOCH + batch))  # Spark reads files in order of their age
            aside.rename(file)


def oracle(folder: Path, on: str = ON) -> list[tuple[int, int]]:
    """Return the pairs of ids that DuckDB finds in the input files."""
    assert DELAY == "3 seconds"  # no row is later than two: none is dropped
    with duckdb.connect() as connection:
        return connection.sql(f"""
            select l.id as l, r.id as r from '{folder}/left/*.parquet' l, '{folder}/right/*.parquet' r
            where {on} and r.ts between l.ts - interval '{NEAR}' and l.ts + interval '{NEAR}' order by all
        """).fetchall()


def sink(folder: Path) -> list[tuple[int, int]]:
    """Return what the Parquet sink holds: the files its own log names, each with all its rows."""
    files = committed_files(folder / "out")
    with duckdb.connect() as connection:
        return connection.sql(f"select l, r from read_parquet({files}) order by all").fetchall()


def wait_for(condition: Callable[[], bool], seconds: float, what: str, *, alive: Sequence[Spawned] = ()) -> None:
    """Wait until something holds; fail after some time, or when a process that should live is dead."""
    end = time.monotonic() + seconds
    while not condition():
        for process in alive:
            if process.popen.poll() is not None and not condition():
                raise AssertionError(f"{what}: {process.name} ended with {process.popen.returncode}\n{process.log()}")
        if time.monotonic() > end:
            logs = "\n".join(process.log() for process in alive)
            raise AssertionError(f"{what}: not within {seconds} s\n{logs}")
        time.sleep(0.02)


def drive(folder: Path, *more: str, script: Path = DRIVER, name: str = "driver") -> Spawned:
    """Start a driver over a folder."""
    return Spawned(name, [sys.executable, str(script), str(folder), *more], folder, PYTHONPATH=str(DRIVER.parents[2]))
