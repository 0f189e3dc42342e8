"""A small Spark that starts quickly, works for seconds, and is not missed when it is killed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["small_session"]


def small_session(folder: Path, master: str, more: Mapping[str, str]) -> Any:
    """Start Spark with its scratch files below `folder`; `more` are further settings."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    conf = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        # It starts a dozen times and works for seconds: what pays off later is left out.
        "spark.driver.extraJavaOptions": quick,
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", quick),
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **more,
    }
    builder = SparkSession.builder.master(master).appName("weft torture")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
