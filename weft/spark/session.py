"""A SparkSession with the settings that Weft runs best with."""

from __future__ import annotations

import os
import sys

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
"""What `session` sets unless told otherwise."""


def session(
    name: str = "weft", *, master: str | None = None, state: str | None = None, conf: dict[str, str] | None = None
) -> SparkSession:
    """Return a SparkSession with the recommended settings; `conf` wins over them.

    Parameters
    ----------
    name
        The application's name.
    master
        Where to run; local with all cores by default (or what spark-submit says).
    state
        The default state path of joins, conf `spark.weft.state`.
    conf
        More settings.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    if master is not None or "MASTER" not in os.environ:
        builder = builder.master(master or "local[*]")
    settings = {**SETTINGS, **({"spark.weft.state": state} if state else {}), **(conf or {})}
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
