"""An alerting rule: each job must be followed by a heartbeat of its machine within 30 seconds; tell the machines without one.

    python examples/alerting/silent.py [FOLDER]

Without data it makes some: machine 3 never sends a heartbeat. Alerts go to FOLDER/alerts, a JSON line each, exactly once, so any
forwarder can take them from there. Run it again: nothing is told twice.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import weft

RULE: dict[str, Any] = {
    "on": "l.machine = r.machine",
    "how": "left_anti",
    "window": weft.within(before="0 seconds", after="30 seconds", on="ts", delay="10 seconds"),
}


def make_data(spark: SparkSession, folder: Path) -> None:
    """Write ten minutes of jobs on four machines, and heartbeats of three of them."""
    jobs = "SELECT id AS job, id % 4 AS machine, timestamp_seconds(1700000000 + 20 * id) AS ts FROM range(30)"
    beats = "SELECT id % 3 AS machine, timestamp_seconds(1700000000 + 5 * id) AS ts FROM range(150)"
    for name, query in (("jobs", jobs), ("beats", beats)):
        spark.sql(query).write.parquet(str(folder / name))


def silent(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the jobs that no heartbeat followed."""
    jobs = spark.readStream.schema("job BIGINT, machine BIGINT, ts TIMESTAMP").parquet(str(folder / "jobs"))
    beats = spark.readStream.schema("machine BIGINT, ts TIMESTAMP").parquet(str(folder / "beats"))
    return weft.join(jobs, beats, **RULE, state=str(folder / "state"))


def main(folder: Path) -> None:
    """Apply the rule to all data that is there."""
    spark = weft.session("silent machines")
    if not (folder / "jobs").exists():
        make_data(spark, folder)
    query = (
        silent(spark, folder)
        .writeStream.format("json")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)  # or processingTime="10 seconds", to keep watching
        .start(str(folder / "alerts"))
    )
    query.awaitTermination()
    alerts = spark.read.schema("job BIGINT, machine BIGINT, ts TIMESTAMP").json(str(folder / "alerts"))
    for row in alerts.groupBy("machine").count().orderBy("machine").collect():
        print(f"machine {row.machine}: {row['count']} jobs without a heartbeat")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/alerting"))
