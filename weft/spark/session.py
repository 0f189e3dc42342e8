"""A SparkSession with the settings that Weft runs best with."""

from __future__ import annotations

import os
import sys

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

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

    Parameters
    ----------
    name
        The application's name.
    master
        Where to run; by default what spark-submit says, or local with all cores.
    state
        The default state path of joins, conf `spark.weft.state`.
    conf
        More settings.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    asked = {**({"spark.weft.state": state} if state else {}), **(conf or {})}
    told = _told(asked)
    builder = SparkSession.builder.appName(name).master(master or told.get("spark.master", "local[*]") or "local[*]")
    for key, value in {**{key: value for key, value in SETTINGS.items() if not told.contains(key)}, **asked}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _told(asked: dict[str, str]) -> SparkConf:
    """Return what Spark was told before: by spark-submit, PYSPARK_SUBMIT_ARGS or spark-defaults.conf.

    Only the JVM knows. It is started here if it does not run yet, with what is asked for: the driver's memory is settled then.
    """
    early = SparkConf(loadDefaults=False).setAll(list(asked.items()))
    SparkContext._ensure_initialized(conf=early)
    return SparkConf()
