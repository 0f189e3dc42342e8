"""A natural join in a process of its own, to be killed: `python natural_driver.py FOLDER`.

Reads FOLDER/documents file by file, writes FOLDER/out, and FOLDER/done when everything has been joined.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.crash.driver import quick_session

SPAN = 60


def main() -> None:
    import weft

    folder = Path(sys.argv[1])
    spark = quick_session(folder, "local[2]", [])
    source = spark.readStream.schema("n bigint, document string").option("maxFilesPerTrigger", 1)
    pairs = weft.natural_join(
        source.parquet(str(folder / "documents")), id="n", window=weft.within(SPAN, on="n"), tasks=3,
        scheme=weft.schemes.Association(theta=0.0, delta=1, enough=1, worth=0.0), state=str(folder / "state"),
    )  # fmt: skip
    writer = pairs.selectExpr("left_id AS l", "right_id AS r", "merged").writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.start(str(folder / "out")).awaitTermination()
    (folder / "done").write_text("done")
    spark.stop()


if __name__ == "__main__":
    main()
