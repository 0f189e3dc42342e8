"""A join of streams that come from behind a shuffle, on two executors, one of which is to be killed.

`python unordered_driver.py FOLDER [--noise] [--alone]`; `--noise` adds a column that is another one each time it is computed,
`--alone` does without executors.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.crash.driver import DELAY, NEAR, ON, SCHEMA, quick_session

TASKS = 6
LOST = "lost"
"""A file in the folder, once an executor has been killed."""


def slowly(lost: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hand the pairs of a join task on, but give a killer time to come, if he has not been here yet."""
    yield from batches
    if not lost.exists():
        time.sleep(0.5)


def noisy(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add a random column. Spark takes a function for deterministic, so it does not know that the rows do not repeat."""
    for batch in batches:
        yield batch.append_column("noise", pa.array([random.random() for _ in range(batch.num_rows)], pa.float64()))


def main() -> None:
    import weft

    folder, noise = Path(sys.argv[1]), "--noise" in sys.argv
    more = ["spark.executor.memory=512m", "spark.sql.adaptive.enabled=false"]
    # A dead executor does not answer a second time.
    more += ["spark.shuffle.io.maxRetries=1", "spark.shuffle.io.retryWait=200ms"]
    if noise:  # newer versions of Spark compare checksums and fail the job themselves; older ones leave it to Weft
        checked = "spark.sql.shuffle.orderIndependentChecksum"
        more += [f"{checked}.{name}=false" for name in ("enabled", "enableFullRetryOnMismatch")]
        more += [f"{checked}.enableQueryLevelRollbackOnMismatch=false"]
    master = "local[2]" if "--alone" in sys.argv else "local-cluster[2,1,1024]"
    spark = quick_session(folder, master, more)
    sides = []
    for side in ("left", "right"):
        source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 3).parquet(str(folder / side))
        shuffled = source.repartition(4)
        plain = shuffled.selectExpr("*", "0.0D AS noise")
        sides.append(shuffled.mapInArrow(noisy, plain.schema) if noise else plain)
    joined: Any = weft.join(
        *sides, on=ON, window=weft.within(NEAR, on="ts", delay=DELAY), scheme="matrix", tasks=TASKS,
        select=["l.id AS l", "r.id AS r", "l.noise AS noise"], state=str(folder / "state"),
    )  # fmt: skip
    pairs = joined.mapInArrow(partial(slowly, folder / LOST), joined.schema)
    writer = pairs.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "out")).awaitTermination()
    (folder / "done").write_text("done")
    spark.stop()


if __name__ == "__main__":
    main()
