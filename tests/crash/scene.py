"""What the crash tests share: input files, the oracle's answer, processes that can be killed whole, the sink's content."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from urllib.parse import unquote, urlparse

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from typing_extensions import Self

from tests.crash.driver import DELAY, NEAR, ON
from weft.types import SIDES

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


def committed_files(out: Path) -> list[str]:
    """Read the log of Spark's file sink: the newest compacted entry and all that follow it."""
    entries = {}
    for path in (out / "_spark_metadata").iterdir():
        number, _, kind = path.name.partition(".")
        if number.isdigit() and kind in ("", "compact"):
            entries[int(number), kind] = path
    start = max((number for number, kind in entries if kind), default=-1)
    chosen = [path for (number, kind), path in sorted(entries.items()) if number > start or (number == start and kind)]
    added = [json.loads(line) for path in chosen for line in path.read_text().splitlines()[1:]]
    return [unquote(urlparse(item["path"]).path) for item in added if item["action"] == "add"]


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


class Spawned:
    """A process in a session of its own; `kill` takes everything that was started in it (JVM, Python workers)."""

    def __init__(self, name: str, command: Sequence[str], logs: Path, **env: str) -> None:
        self.name, self.path = name, logs / f"{name}.log"
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, **env}
        with self.path.open("ab") as log:
            self.popen = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, env=environment, cwd=logs
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def log(self) -> str:
        """Return the end of what it printed."""
        return f"--- {self.name}\n" + self.path.read_text(errors="replace")[-3000:]

    def members(self) -> list[int]:
        """Return the processes of the session: PySpark's daemon leaves the process group, not the session."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(fields[3]) == self.popen.pid and fields[0] != "Z":
                    found.append(int(entry.name))
        return found

    def kill(self) -> None:
        """SIGKILL all of it, again and again until nobody is left."""
        end = time.monotonic() + 20
        while (alive := self.members()) and time.monotonic() < end:
            for pid in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        self.popen.wait(timeout=20)


def drive(folder: Path, *more: str, script: Path = DRIVER) -> Spawned:
    """Start a driver over a folder."""
    return Spawned(
        "driver", [sys.executable, str(script), str(folder), *more], folder, PYTHONPATH=str(DRIVER.parents[2])
    )
