"""A stream looked up in a table, in a process of its own, to be killed: `python table_driver.py FOLDER`.

Reads FOLDER/left file by file and FOLDER/table whole, writes FOLDER/out, and FOLDER/done when everything has been joined.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.crash.driver import SCHEMA, quick_session

ON = "l.x BETWEEN r.low AND r.high"


def look_up_files(folder: Path) -> None:
    """Look up all files there are, and say that it is done."""
    import weft

    spark = quick_session(folder, "local[2]", ["spark.sql.streaming.minBatchesToRetain=20"])
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "left"))
    found = weft.join(
        rows, spark.read.parquet(str(folder / "table")), on=ON, how="left", select=["l.id AS l", "r.version AS r"],
        state=str(folder / "state"),
    )  # fmt: skip
    writer = found.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "out"))
    query.awaitTermination()
    (folder / "done").write_text("done")
    spark.stop()


if __name__ == "__main__":
    look_up_files(Path(sys.argv[1]))
