"""A streaming join in a process of its own, to be killed: `python driver.py FOLDER [--master M] [--tasks N]`.

Reads FOLDER/left and FOLDER/right file by file, writes FOLDER/out, and FOLDER/done when everything has been joined.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

ON = "abs(l.x - r.x) <= 40"
SAME = "(l.x & -256) = (r.x & -256)"
CONDITIONS = {"range": ON, "adsp": ON, "fastjoin": SAME}
NEAR, DELAY = "25 seconds", "3 seconds"
SCHEMA = "id bigint, ts timestamp_ntz, x bigint"


def quick_session(folder: Path, master: str, more: list[str]) -> Any:
    """Start a small Spark; `more` are settings `key=value`."""
    from pyspark.sql import SparkSession

    conf = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        # It starts a dozen times and works for seconds: what pays off later is left out.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **dict(item.split("=", 1) for item in more),
    }
    builder = SparkSession.builder.master(master).appName("weft crash test")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--tasks", type=int, default=3)
    parser.add_argument("--scheme", choices=sorted(CONDITIONS), default="range")
    parser.add_argument("--conf", action="append", default=[])
    args = parser.parse_args()

    import weft

    folder: Path = args.folder
    # All of them as eager as they can be: there should be a migration to be killed in.
    schemes: dict[str, Any] = {
        "range": "range", "adsp": weft.Adsp(patience=1),
        "fastjoin": weft.FastJoin(threshold=1.1, enough=10, noise=0, gain=0, split_hot=True),
    }  # fmt: skip
    spark = quick_session(folder, args.master, args.conf)
    sides = [
        spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / side))
        for side in ("left", "right")
    ]
    pairs = weft.join(
        *sides, on=CONDITIONS[args.scheme], window=weft.within(NEAR, on="ts", delay=DELAY), scheme=schemes[args.scheme],
        tasks=args.tasks,
        select=["l.id AS l", "r.id AS r"], state=str(folder / "state"),
    )  # fmt: skip
    writer = pairs.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "out"))
    query.awaitTermination()
    (folder / "done").write_text("done")
    spark.stop()


if __name__ == "__main__":
    main()
