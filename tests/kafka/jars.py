"""Jars for the Kafka tests: a broker and Spark's connector, fetched once by Maven and kept in the user's cache.

`python -m tests.kafka.jars` fetches what is missing (about a minute) and says where it is. Tests look in the cache alone: where
it is empty they are skipped, and say so. Not every mirror has every version of the connector's parts, so each part is taken in
the version of the installed PySpark where there is one, and otherwise in one that is known to work with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

__all__ = [
    "BROKER", "HOME", "SPARK", "WHY", "broker_jars", "connector_jars", "copied_jars", "fetch", "jars_in", "spark_jars",
]  # fmt: skip

BROKER = "4.1.1"
SPARK = version("pyspark")
HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "weft-tests"
WHY = "Kafka's jars are not in the cache: `make kafka` fetches them, which takes Maven and a Maven repository"

_SCALA = "2.13"
_PARTS: dict[str, tuple[str, ...]] = {
    f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}": (SPARK, "4.2.0", "4.1.1"),
    f"org.apache.spark:spark-token-provider-kafka-0-10_{_SCALA}": (SPARK, "4.1.0-preview1"),
    f"org.apache.spark:spark-avro_{_SCALA}": (SPARK, "4.1.1"),
    "org.apache.kafka:kafka-clients": ("3.9.1",),
    "org.apache.commons:commons-pool2": ("2.12.1",),
}
"""Parts of the connector, each with the versions to try."""

_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>weft</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>{}</dependencies>
</project>
"""


@cache
def broker_jars() -> tuple[Path, ...]:
    """Return the class path of a broker; nothing where it has not been fetched."""
    return jars_in(HOME / f"kafka-{BROKER}")


@cache
def connector_jars() -> tuple[Path, ...]:
    """Return what the installed PySpark needs to read and write Kafka, and Avro; nothing where it has not been fetched."""
    return jars_in(HOME / f"kafka-connector-{SPARK}")


def spark_jars() -> dict[str, str]:
    """Return the setting that gives a session the connector, none where it cannot be had."""
    jars = connector_jars()
    return {"spark.jars": ",".join(map(str, jars))} if jars else {}


def fetch() -> None:
    """Fetch what is missing; raise RuntimeError where that cannot be done."""
    kafka = "org.apache.kafka"
    copied_jars(
        HOME / f"kafka-{BROKER}",
        [f"{kafka}:kafka_{_SCALA}:{BROKER}", f"{kafka}:kafka-tools:{BROKER}", "org.slf4j:slf4j-simple:1.7.36"],
    )
    _fetched(HOME / f"kafka-connector-{SPARK}", _fetch_connector)
    broker_jars.cache_clear()
    connector_jars.cache_clear()


def jars_in(folder: Path) -> tuple[Path, ...]:
    """Return the jars of a folder."""
    return tuple(sorted(folder.glob("*.jar")))


def copied_jars(folder: Path, parts: Sequence[str], without: Sequence[str] = ()) -> None:
    """Fetch `group:name:version` and all that they need, but for some groups, into a folder that is not there yet."""
    _fetched(folder, partial(_fetch_all, parts, without))


def _fetched(folder: Path, fetch_into: Callable[[Path], None]) -> None:
    if folder.exists():
        return
    aside = folder.with_name(f".{folder.name}-{os.getpid()}")
    aside.mkdir(parents=True)
    try:
        fetch_into(aside)
        if not folder.exists():  # another process may have fetched it meanwhile
            aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _fetch_all(parts: Sequence[str], without: Sequence[str], folder: Path) -> None:
    pom = folder / "pom.xml"
    pom.write_text(_POM.format("".join(_DEPENDENCY.format(*part.split(":")) for part in parts)), encoding="utf-8")
    excluded = [f"-DexcludeGroupIds={','.join(without)}"] if without else []
    trouble = _maven("dependency:copy-dependencies", "-f", str(pom), f"-DoutputDirectory={folder}", *excluded)
    if trouble:
        raise RuntimeError(trouble)


def _fetch_connector(folder: Path) -> None:
    for part, versions in _PARTS.items():
        _first(part, dict.fromkeys(versions), folder)


def _first(part: str, versions: Iterable[str], folder: Path) -> None:
    """Copy the first version of a part that the repository has."""
    tried = [f"{part}:{number}" for number in versions]
    if not any(_maven("dependency:copy", f"-Dartifact={each}", f"-DoutputDirectory={folder}") == "" for each in tried):
        raise RuntimeError(f"The repository has none of {', '.join(tried)}.")


def _maven(*words: str) -> str:
    """Run Maven; return what it complained of."""
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeError("There is no Maven (mvn) on this machine.")
    done = subprocess.run([maven, "-q", "-B", *words], capture_output=True, text=True, check=False, timeout=280)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stdout.splitlines() if "ERROR" in line]
    return lines[0] if lines else done.stderr.strip()[-500:] or "it failed"


if __name__ == "__main__":
    try:
        fetch()
    except (RuntimeError, OSError, subprocess.SubprocessError) as reason:
        sys.exit(f"Kafka tests are skipped: {reason}")
    print(*(jar.name for jar in connector_jars()), f"and a broker {BROKER} of {len(broker_jars())} jars", sep="\n")
