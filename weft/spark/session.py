"""A SparkSession with the settings that Weft runs best with."""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from weft.spark.loopback import addresses, for_jvm

__all__ = ["SETTINGS", "session"]

SETTINGS = {
    # Larger Arrow batches: a hop between the JVM and Python costs per batch.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Tasks are told apart by their number: there is nothing to adapt, and each micro-batch would be planned twice.
    "spark.sql.adaptive.streaming.stateless.enabled": "false",
    # Smaller ones where rows are large, as the blocks between route and join are: buffers that grow are copied.
    "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
    # Blocks are Arrow already; compressing them again costs more than the local wire.
    "spark.shuffle.compress": "false",
    # The micro-batch plan has few, large tasks; two hundred shuffle partitions for what follows the join are too many.
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    # Spark replays only the last batch; a hundred old versions of a window are a hundred windows on disk.
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What `session` sets where nothing else was said."""


def session(
    name: str = "weft", *, master: str | None = None, state: str | None = None, conf: dict[str, str] | None = None
) -> SparkSession:
    """Return a SparkSession with the recommended settings; what `conf`, spark-submit or spark-defaults.conf say wins.

    A session that runs already is returned as it is, with those of the settings that nobody has made. A local one listens on this
    machine's loopback alone, unless spark.driver.host, spark.driver.bindAddress or the environment (SPARK_LOCAL_IP) say where.

    Parameters
    ----------
    name
        The application's name.
    master
        Where to run; by default what spark-submit says, or local with all cores. A running session stays where it is.
    state
        The default state path of joins, conf `spark.weft.state`.
    conf
        More settings.
    """
    asked = {**({"spark.weft.state": state} if state else {}), **(conf or {})}
    running = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if running is not None and SparkContext._active_spark_context is not None:
        return _completed(running, asked)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    told = _told(asked, master)
    master = master or told.get("spark.master", "local[*]")
    builder = SparkSession.builder.appName(name).master(master)
    settings = {key: value for key, value in SETTINGS.items() if key not in told} | addresses(master, {**told, **asked})
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
        if "PYSPARK_GATEWAY_PORT" not in os.environ:
            _launched.update(at_start)
        with for_jvm(master, asked):
            SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(at_start.items())))
    told = dict(SparkConf().getAll())
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        told.pop("spark.ui.showConsoleProgress", None)  # what a shell has, and PySpark's JVM is started as one
    return {key: value for key, value in told.items() if _launched.get(key) != value}
