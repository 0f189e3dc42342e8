"""Voltage falls while current rises: a join of two sensor streams, as a program for spark-submit.

    spark-submit examples/spark_submit/alarms.py
    spark-submit --master spark://host:7077 examples/spark_submit/alarms.py \
        --data hdfs:///plant --state hdfs:///weft --out hdfs:///alarms --every "10 seconds"

Without --data it makes a small plant. Stop it whenever you like and start it again: it continues where it stopped, with any
number of tasks.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.sql import SparkSession

import weft

SCHEMA = "generator INT, ts TIMESTAMP, volts DOUBLE, amps DOUBLE"


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with before/ and after/, Parquet files of: " + SCHEMA)
    parser.add_argument("--state", default="out/alarms/state", help="all executors must be able to write it")
    parser.add_argument("--out", default="out/alarms")
    parser.add_argument("--every", help="run for ever, with a batch this often; otherwise stop when all data is joined")
    parser.add_argument("--tasks", type=int, help="join tasks; by default one per core")
    return parser.parse_args(words)


def make_plant(spark: SparkSession, folder: str) -> None:
    """Write two minutes of readings; generator 2 has a fault from second 60 to 70."""
    for name, volts, amps in (
        ("before", "230.0", "10.0"),
        ("after", "if(fault, 226.0, 230.5)", "if(fault, 10.6, 9.5)"),
    ):
        spark.sql(f"""
            SELECT generator, ts, {volts} AS volts, {amps} AS amps FROM (
              SELECT CAST(id % 4 AS INT) AS generator, timestamp_seconds(1700000000 + id DIV 4) AS ts,
                     id % 4 = 2 AND id DIV 4 BETWEEN 60 AND 70 AS fault
              FROM range(480))""").write.mode("ignore").parquet(f"{folder}/{name}")


def main(words: list[str] | None = None) -> None:
    """Run the join until all data is joined, or for ever with --every."""
    asked = arguments(words)
    spark = weft.session("alarms", state=asked.state)
    data = asked.data or f"{asked.out}/plant"
    if asked.data is None:
        make_plant(spark, data)
    before, after = (spark.readStream.schema(SCHEMA).parquet(f"{data}/{name}") for name in ("before", "after"))
    alarms = weft.join(
        before, after,
        on="l.generator = r.generator AND l.volts > r.volts + 1 AND l.amps < r.amps - 0.2",
        window=weft.within("10 seconds", on="ts", delay="5 seconds"),
        select=["l.generator", "l.ts", "r.ts AS after_ts", "l.volts", "r.volts AS after_volts"],
        tasks=asked.tasks,
    )  # fmt: skip
    writer = alarms.writeStream.format("parquet").option("checkpointLocation", f"{asked.out}/checkpoint")
    writer = writer.trigger(processingTime=asked.every) if asked.every else writer.trigger(availableNow=True)
    query = writer.start(f"{asked.out}/pairs")
    query.awaitTermination()
    if not asked.every and Path(asked.out).exists():
        print(f"{spark.read.parquet(f'{asked.out}/pairs').count():,} pairs in {asked.out}/pairs")


if __name__ == "__main__":
    main()
