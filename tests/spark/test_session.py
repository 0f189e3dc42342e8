"""What a session is made of: Weft's settings where nobody said anything, and workers that have Weft."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import weft
from tests.jvm import without_collector
from weft.errors import WeftError
from weft.spark.session import _SPEAKING, SETTINGS, _collector

SCRIPT = """
import weft

def say(spark, *keys):
    print("SAID", *(spark.conf.get(key, "nothing") for key in keys), spark.sparkContext.master)

ZONE, PARTS, STATE = "spark.sql.session.timeZone", "spark.sql.shuffle.partitions", "spark.weft.state"
spark = weft.session(conf={"spark.ui.enabled": "false", "spark.driver.memory": "600m"}, state="/somewhere")
say(spark, ZONE, "spark.shuffle.compress", PARTS, STATE, "spark.ui.showConsoleProgress")
jvm = spark._jvm.java.lang
beans = jvm.management.ManagementFactory.getGarbageCollectorMXBeans()
print("SAID", jvm.Runtime.getRuntime().maxMemory() >> 20, beans[0].getName())
spark.conf.set(PARTS, "3")
assert weft.session(master="local[7]") is spark
say(spark, ZONE, PARTS, STATE)
spark.stop()
say(weft.session(), ZONE, PARTS, STATE)
"""


@pytest.mark.spark
def test_what_was_said_elsewhere_wins(tmp_path) -> None:
    """Over Weft's settings, on a session that runs, and on the next one: it inherits nothing from the one before."""
    said = "--master local[1] --conf spark.sql.session.timeZone=Europe/Berlin --conf spark.shuffle.compress=true"
    said += " --driver-java-options -XX:+UseG1GC"
    environment = {
        **os.environ, "SPARK_SUBMIT_OPTS": without_collector(), "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYSPARK_SUBMIT_ARGS": f"{said} pyspark-shell",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=200,
        check=False,
    )  # fmt: skip
    found = [line.removeprefix("SAID ") for line in done.stdout.splitlines() if line.startswith("SAID ")]
    parts = SETTINGS["spark.sql.shuffle.partitions"]
    assert found == [
        f"Europe/Berlin true {parts} /somewhere false local[1]",
        "600 G1 Young Generation",
        "Europe/Berlin 3 /somewhere local[1]",
        f"Europe/Berlin {parts} nothing local[1]",
    ], done.stderr


@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        ({"JAVA_TOOL_OPTIONS": "-Xshare:off -XX:+UseZGC"}, {}),
        ({"SPARK_SUBMIT_OPTS": "-XX:+UseSerialGC"}, {}),
        ({"PYSPARK_SUBMIT_ARGS": "--driver-java-options '-XX:+UseSerialGC' pyspark-shell"}, {}),
        ({}, {"spark.driver.extraJavaOptions": "-Da=b -XX:+UseShenandoahGC"}),
        ({}, {"spark.driver.defaultJavaOptions": "-Da=b"}),
    ],
)
def test_a_collector_that_somebody_chose_stays(monkeypatch, tmp_path, environment, asked) -> None:
    """A JVM that is told two of them does not start."""
    for name in _SPEAKING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _collector({"spark.driver.memory": "1g"}) == {"spark.driver.defaultJavaOptions": "-XX:+UseParallelGC"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert _collector(asked) == {}


def test_workers_without_weft_are_told_at_once(spark: SparkSession, tmp_path, monkeypatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'numpy'\" >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    frame = spark.range(3)
    with pytest.raises(WeftError) as caught:
        weft.join(frame, frame, on="l.id < r.id")
    what, there_is, hint = str(caught.value).splitlines()
    assert (
        what == f"Spark's Python workers run {python}, which has no Weft: ModuleNotFoundError: No module named 'numpy'"
    )
    assert sys.executable in there_is
    assert "PYSPARK_PYTHON" in hint
    assert "weft.session()" in hint
