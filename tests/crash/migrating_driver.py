"""Joins that move state, one after the other in one process, to be killed: `python migrating_driver.py FOLDER`.

Each reads its input below FOLDER/<its name> and writes FOLDER/<its name>/out. One that is done is soon done again: there is
no new input. FOLDER/done is written when all of them are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.crash.driver import join_files, quick_session

SPAN = 60


def join_documents(spark: Any, folder: Path) -> None:
    """Join all documents there are; partitions are made anew whenever there is any reason for it."""
    import weft

    source = spark.readStream.schema("n bigint, document string").option("maxFilesPerTrigger", 1)
    pairs = weft.natural_join(
        source.parquet(str(folder / "documents")), id="n", window=weft.within(SPAN, on="n"), tasks=3,
        scheme=weft.schemes.Association(theta=0.0, delta=1, enough=1, worth=0.0), state=str(folder / "state"),
    )  # fmt: skip
    writer = pairs.selectExpr("left_id AS l", "right_id AS r", "merged").writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.start(str(folder / "out")).awaitTermination()


JOINS: dict[str, Callable[[Any, Path], None]] = {
    "adsp": partial(join_files, tasks=4, scheme="adsp"), "fastjoin": partial(join_files, tasks=4, scheme="fastjoin"),
    "documents": join_documents,
}  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    spark = quick_session(folder, "local[2]", [])
    for name, join in JOINS.items():
        join(spark, folder / name)
    (folder / "done").write_text("done")
    spark.stop()


if __name__ == "__main__":
    main()
