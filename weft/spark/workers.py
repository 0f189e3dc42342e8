"""Spark's Python workers: whether they have Weft, what the machines that they run on are like, and how a task finds its own.

Whether they have Weft is told when the join is built, not by a traceback of the first batch. For `weft doctor` a small job comes
back with the facts of every worker's machine.

A worker lives for many batches of the same sizes. PySpark collects garbage after every task, before the worker takes the next
one. The collector walks every object there is. The modules of Weft, Numba and PyArrow hold some hundred thousand, which takes
60 ms: longer than a task of a small batch. So what a worker has loaded is set aside, where the collector does not look.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.kernels.memory import keep_pages
from weft.state import open_folder

__all__ = ["begin_task", "check_workers", "executor_facts", "facts"]

_TASKS = count(1)


def begin_task() -> None:
    """Prepare the process for a task of Weft; tasks call it first."""
    keep_pages()
    # PySpark has just collected, so everything left is in use. The first tasks load the kernels they need, so this is
    # repeated, but less and less often: a reference cycle that is set aside is never freed, and this bounds how many
    # there can be.
    tasks = next(_TASKS)
    if tasks & (tasks - 1) == 0:
        gc.freeze()


def check_workers(spark: SparkSession) -> None:
    """Refuse a local session whose workers run a Python without Weft; on a cluster `weft doctor --master` asks."""
    context = spark.sparkContext
    python = shutil.which(context.pythonExec)
    if not (context.master or "").startswith("local") or python is None or python == sys.executable:
        return
    trouble = _trouble(python)
    if trouble:
        raise WeftError.of(
            f"Spark's Python workers run {python}, which has no Weft: {trouble}",
            f"This program runs {sys.executable}.",
            f"set PYSPARK_PYTHON={sys.executable} before the session is made, or make it with weft.session().",
        )


@cache
def _trouble(python: str) -> str:
    """Return why this Python cannot import Weft, "" if it can."""
    tried = subprocess.run([python, "-c", "import weft"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else (tried.stderr.strip().splitlines() or ["it does not start."])[-1]


_PACKAGES = ("weft", "pyspark", "pyarrow", "numpy", "numba", "pandas", "sqlglot", "typer", "rich")


def facts(state: str | None = None) -> dict[str, Any]:
    """Return what can be known of this machine and this Python."""
    versions = {name: _version(name) for name in _PACKAGES}
    return {
        "host": socket.gethostname(), "python": platform.python_version(), "executable": sys.executable,
        "versions": versions, "cores": os.cpu_count() or 1, "memory": _memory(), "cache": _cache(),
        "disk": shutil.disk_usage(tempfile.gettempdir()).free, "state": _state(state), "kernel": _kernel(),
    }  # fmt: skip


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _memory() -> int | None:
    """Return the bytes that new processes can still take, None where it cannot be told."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def _cache() -> dict[str, Any]:
    """Return where compiled kernels are kept, and whether they can be."""
    from weft.kernels.jit import cache_folder

    folder = cache_folder()
    return {"folder": "no folder" if folder is None else str(folder), "writable": folder is not None}


def _kernel() -> str:
    """Run one kernel; return "" or what went wrong."""
    try:
        from weft.kernels import checksum

        checksum(b"weft doctor")
    except Exception as error:  # noqa: BLE001  whatever it is, the report must say it
        return f"{type(error).__name__}: {error}"
    return ""


def _state(state: str | None) -> str | None:
    if state is None:
        return None
    try:
        open_folder(state).check_writable()
    except WeftError as error:
        return str(error).splitlines()[0]
    return ""


def executor_facts(spark: SparkSession, state: str | None) -> list[dict[str, Any]]:
    """Return the facts of every executor that answered, one per host and Python."""

    def ask(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from weft.spark.workers import facts as ask_here

        for batch in batches:
            if batch.num_rows:
                yield pa.record_batch([pa.array([json.dumps(ask_here(state))])], names=["facts"])

    slots = max(2, spark.sparkContext.defaultParallelism)
    try:
        rows = spark.range(slots, numPartitions=slots).mapInArrow(ask, "facts string").collect()
    except PySparkException as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        missing = next((line for line in lines if "ModuleNotFoundError" in line), lines[0])
        hint = "install weft in the Python of every executor (spark.pyspark.python), or ship an archive with spark.archives."
        raise WeftError.of(f"The executors cannot run Weft: {missing}", "", hint) from None
    found = [json.loads(row["facts"]) for row in rows]
    return list({(one["host"], one["executable"]): one for one in found}.values())
