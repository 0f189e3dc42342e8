"""Where a session listens: on a local master nobody else has to reach it, so on this machine's loopback alone.

The driver goes by `spark.driver.host` and `spark.driver.bindAddress`. Spark's page listens on all interfaces unless the JVM finds
`SPARK_LOCAL_IP` in its environment; no setting changes that, so it must be there when the JVM starts.
"""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

__all__ = ["addresses", "for_jvm", "said_outside"]

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
