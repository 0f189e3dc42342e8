"""A streaming join in a process of its own, to be killed: `python driver.py FOLDER [--master M] [--tasks N]`.

Reads FOLDER/left and FOLDER/right file by file, writes FOLDER/out, and FOLDER/done when everything has been joined.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

ON = "abs(l.x - r.x) <= 40"
SAME = "(l.x & -256) = (r.x & -256)"
CONDITIONS = {"range": ON, "adsp": ON, "fastjoin": SAME}
NEAR, DELAY = "25 seconds", "3 seconds"
SCHEMA = "id bigint, ts timestamp_ntz, x bigint"


def quick_session(folder: Path, master: str, more: list[str]) -> Any:
    """Start a small Spark that keeps few versions; `more` are settings `key=value`."""
    from weft_lab.torture.small_session import small_session

    conf = dict(item.split("=", 1) for item in more)
    return small_session(folder, master, {"spark.sql.streaming.minBatchesToRetain": "2", **conf})


def join_files(spark: Any, folder: Path, tasks: int, scheme: str, state: str = "") -> None:
    """Join all files there are."""
    import weft

    # All of them as eager as they can be: there should be a migration to be killed in.
    schemes: dict[str, Any] = {
        "range": "range", "adsp": weft.schemes.Adsp(patience=1),
        "fastjoin": weft.schemes.FastJoin(threshold=1.1, enough=10, noise=0, gain=0, split_hot=True),
    }  # fmt: skip
    sides = [
        spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / side))
        for side in ("left", "right")
    ]
    pairs = weft.join(
        *sides, on=CONDITIONS[scheme], window=weft.within(NEAR, on="ts", delay=DELAY), scheme=schemes[scheme], tasks=tasks,
        select=["l.id AS l", "r.id AS r"], state=state or str(folder / "state"),
    )  # fmt: skip
    writer = pairs.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "out"))
    query.awaitTermination()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--tasks", type=int, default=3)
    parser.add_argument("--scheme", choices=sorted(CONDITIONS), default="range")
    parser.add_argument("--state", default="")
    parser.add_argument("--conf", action="append", default=[])
    args = parser.parse_args()
    spark = quick_session(args.folder, args.master, args.conf)
    join_files(spark, args.folder, args.tasks, args.scheme, args.state)
    (args.folder / "done").write_text("done")
    spark.stop()


if __name__ == "__main__":
    main()
