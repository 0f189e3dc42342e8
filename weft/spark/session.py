"""A SparkSession with the settings that Weft recommends, and where it listens.

On a local master nobody else has to reach a session, so it listens on this machine's loopback alone. The driver goes by
`spark.driver.host` and `spark.driver.bindAddress`. Spark's page listens on all interfaces unless the JVM finds
`SPARK_LOCAL_IP` in its environment; no setting changes that, so it must be there when the JVM starts.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

__all__ = ["SETTINGS", "addresses", "for_jvm", "said_outside", "session"]

SETTINGS = {
    # Larger Arrow batches: a hop between the JVM and Python costs per batch.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Tasks are told apart by their number: there is nothing to adapt, and each micro-batch would be planned twice.
    "spark.sql.adaptive.streaming.stateless.enabled": "false",
    # Smaller ones where rows are large, as the blocks between route and join are: buffers that grow are copied.
    "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
    # Blocks are Arrow already; compressing them again costs more than the local wire.
    "spark.shuffle.compress": "false",
    # Through TCP, a hop with little data waits 40 ms for an acknowledgement.
    "spark.python.unix.domain.socket.enabled": "true",
    # The micro-batch plan has few, large tasks; two hundred shuffle partitions for what follows the join are too many.
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    # Spark replays only the last batch; a hundred old versions of a window are a hundred windows on disk.
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What `session` sets unless you set it yourself."""

_SOCKETS, _PIPELINED = "spark.python.unix.domain.socket.enabled", "spark.python.udf.pipelined.enabled"
"""Spark 4.3 closes Unix sockets of workers that it wants to use again, if it also pipelines UDFs."""

_OPTIONS = "spark.driver.defaultJavaOptions"
"""Options of the driver's JVM that stand before those of the user."""

_SPEAKING = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS")
"""Variables in which the JVM finds options; the last has --driver-java-options."""


def session(
    name: str = "weft", *, master: str | None = None, state: str | None = None, conf: dict[str, str] | None = None
) -> SparkSession:
    """Return a SparkSession with recommended settings. Settings in `conf`, spark-submit or spark-defaults.conf take precedence.

    If a session is already running, return it, and add only the settings that are not set. A local session listens only on the
    loopback interface, unless spark.driver.host, spark.driver.bindAddress or the environment (SPARK_LOCAL_IP) say otherwise.

    Parameters
    ----------
    name
        The application's name.
    master
        Where to run; by default spark-submit's master, or local with all cores. Has no effect on a running session.
    state
        The default state path of joins (conf `spark.weft.state`).
    conf
        Further settings.
    """
    asked = {**({"spark.weft.state": state} if state else {}), **(conf or {})}
    running = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if running is not None and SparkContext._active_spark_context is not None:
        return _completed(running, asked)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    told = _told(asked, master)
    master = master or told.get("spark.master", "local[*]")
    builder = SparkSession.builder.appName(name).master(master)
    said = {**told, **asked}
    settings = {key: value for key, value in SETTINGS.items() if key not in told} | addresses(master, said)
    if said.get(_PIPELINED, "false").lower() == "true":
        settings.pop(_SOCKETS, None)
    for key, value in {**settings, **asked}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _completed(running: SparkSession, asked: dict[str, str]) -> SparkSession:
    """Return a session that runs already, with the settings that nobody has made yet and those that are asked for."""
    made: Any = running._jsparkSession.sessionState().conf()
    for key, value in {**SETTINGS, **asked}.items():
        if key in asked or (key.startswith("spark.sql.") and not made.contains(key)):
            SparkSession.builder.config(key, value).getOrCreate()
    return running


_launched: dict[str, str] = {}
"""What the JVM was started with by us: nobody else said it."""


def _told(asked: dict[str, str], master: str | None) -> dict[str, str]:
    """Return what Spark was told before: by spark-submit, PYSPARK_SUBMIT_ARGS or spark-defaults.conf.

    Only the JVM knows. It is started here if it does not run yet, with what is asked for: the driver's memory is settled then.
    What belongs to one session stays out of it, for the JVM outlives that.
    """
    if SparkContext._gateway is None:
        at_start = {key: value for key, value in asked.items() if not key.startswith(("spark.sql.", "spark.weft."))}
        at_start |= _collector(at_start)
        if "PYSPARK_GATEWAY_PORT" not in os.environ:
            _launched.update(at_start)
        with for_jvm(master, asked):
            SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(at_start.items())))
    told = dict(SparkConf().getAll())
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        told.pop("spark.ui.showConsoleProgress", None)  # what a shell has, and PySpark's JVM is started as one
    return {key: value for key, value in told.items() if _launched.get(key) != value}


def _collector(asked: dict[str, str]) -> dict[str, str]:
    """Choose the JVM's parallel collector, unless somebody has chosen one: a JVM does not start with two.

    A micro-batch makes millions of short-lived rows and nobody waits for a single one. A batch of 1,000,000 rows takes a tenth
    less time than with Java's default collector, which works beside the tasks on the same cores.
    """
    told = {**said_outside(), **asked}
    spoken = [told.get(key, "") for key in (_OPTIONS, "spark.driver.extraJavaOptions")]
    spoken += [os.environ.get(name, "") for name in _SPEAKING]
    if _OPTIONS in told or any(re.search(r"-XX:\+Use\w*GC\b", options) for options in spoken):
        return {}
    return {_OPTIONS: "-XX:+UseParallelGC"}


LOOPBACK = "127.0.0.1"
_KEYS = ("spark.driver.host", "spark.driver.bindAddress")
_NAMES = ("SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME")
_closed: list[bool] = []
"""Not empty once a JVM of ours was started on loopback: it stays there."""


def addresses(master: str, told: Mapping[str, str]) -> dict[str, str]:
    """Return the driver's settings for a master; none where something was said, or on a cluster.

    A cluster that follows a local session in the same JVM has to reach the driver all the same.
    """
    if any(key in told for key in _KEYS) or any(os.environ.get(name) for name in _NAMES):
        return {}
    if master.startswith("local"):
        return dict.fromkeys(_KEYS, LOOPBACK)
    own = _own_address() if _closed else None
    return dict.fromkeys(_KEYS, own) if own else {}


@contextmanager
def for_jvm(master: str | None, asked: Mapping[str, str]) -> Iterator[None]:
    """Let a JVM that starts inside listen on loopback, if it is for a local master and nobody said otherwise."""
    told = {**said_outside(), **asked}
    far = [told[key] for key in _KEYS if key in told and not told[key].startswith(("127.", "localhost", "::1"))]
    local = (master or told.get("spark.master", "local[*]")).startswith("local")
    running = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has started it, and knows its master
    here = local and not far and not running and not any(os.environ.get(name) for name in _NAMES)
    if here:
        os.environ[_NAMES[0]] = LOOPBACK
        _closed.append(True)
    try:
        yield
    finally:
        if here:
            del os.environ[_NAMES[0]]


def said_outside() -> dict[str, str]:
    """Return what PYSPARK_SUBMIT_ARGS and spark-defaults.conf say; later on the JVM knows, but it does not run yet."""
    said = {"spark.master": os.environ["MASTER"]} if os.environ.get("MASTER") else {}
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    words = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    options = list(pairwise(words))
    files = [value for key, value in options if key == "--properties-file"]
    home = os.environ.get("SPARK_CONF_DIR") or str(Path(_find_spark_home()) / "conf")
    for file in [str(Path(home) / "spark-defaults.conf"), *files]:
        said |= _properties(file)
    said |= dict(value.split("=", 1) for key, value in options if key in ("--conf", "-c") and "=" in value)
    masters = [value for key, value in options if key == "--master"]
    return said | ({"spark.master": masters[-1]} if masters else {})


def _properties(file: str) -> dict[str, str]:
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    said = {}
    for line in lines:
        words = line.replace("=", " ", 1).split(None, 1)
        if len(words) == 2 and not words[0].startswith(("#", "!")):
            said[words[0]] = words[1].strip()
    return said


def _own_address() -> str | None:
    """Return the address by which others reach this machine; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(probe.getsockname()[0])
