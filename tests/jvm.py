"""JVMs that start quickly: the tests start some fifty of them, and most work for seconds.

What pays off after minutes is left out (the second compiler, the parallel collector), and the classes of Spark are mapped from
an archive instead of being read out of three hundred jars. `make test` makes the archive, with `python -m tests.jvm`. Without
it, and with one that belongs to other jars, a JVM goes on as ever, only slower.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["ARCHIVE", "start_quickly", "without_collector"]

ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=192m"
"""With one compiler alone, the JVM would keep 48 MB of machine code, and in a long session sweep and compile all the time."""
_QUICK = f"{_COMPILER} -XX:+UseSerialGC"


def start_quickly() -> None:
    """Let every JVM that Spark starts from here on be a quick one; whoever has set options of their own keeps them."""
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", _QUICK)  # the JVM that puts the command line together
    for jvm in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
        os.environ.setdefault(jvm, _QUICK + _mapped())


def without_collector() -> str:
    """Return options of a JVM that is as quick and chooses its collector itself."""
    return _COMPILER + _mapped()


def _mapped() -> str:
    return f" -Xshare:auto -Xlog:disable -XX:SharedArchiveFile='{ARCHIVE}'" if ARCHIVE.exists() else ""


def make_archive() -> None:
    """Run a small stream join, and keep the classes that it loaded."""
    aside = ARCHIVE.with_suffix(f".{os.getpid()}")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{_QUICK} -Xlog:disable -XX:ArchiveClassesAtExit='{aside}'"
    from pyspark import SparkContext

    from tests.crash.driver import join_files, quick_session
    from tests.crash.scene import write_input

    with tempfile.TemporaryDirectory() as folder:
        write_input(Path(folder), 3, rows=20)
        spark = quick_session(Path(folder), "local[2]", [])
        join_files(spark, Path(folder), tasks=2, scheme="range")
        spark.stop()
        gateway: Any = SparkContext._gateway
        gateway.proc.stdin.close()  # then the JVM ends, and writes the archive
        gateway.proc.wait(timeout=120)
    aside.replace(ARCHIVE)


if __name__ == "__main__":
    make_archive()
