"""What the executors are like: a small job that comes back with the facts of every Python worker's machine."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.state import open_folder

__all__ = ["executor_facts", "facts"]

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
    """Return where Numba keeps machine code, and whether it can."""
    import weft.kernels

    own = Path(weft.kernels.__file__).parent / "__pycache__"
    named = os.environ.get("NUMBA_CACHE_DIR")
    home = Path.home() / ".cache" / "numba" if os.environ.get("HOME") else None
    for folder in [Path(named)] if named else [own, *([home] if home else [])]:
        if _writable(folder):
            return {"folder": str(folder), "writable": True}
    return {"folder": str(named or own), "writable": False}


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


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
        from weft.spark.doctor import facts as ask_here

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
