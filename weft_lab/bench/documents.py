"""`weft-lab bench documents`: natural joins of a stream of log documents on Spark, beside a null join.

Documents of the server log with eight attributes each (`server_log(wide=True)`), as JSON text in Parquet. About seven in a
hundred of all pairs of documents join, so the pairs per document follow from the window: 3.4 with 100 documents, 34
with 1,000. Every batch has a share of users, files and messages never seen before.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft_lab.workloads import server_log

__all__ = ["WARM", "run", "write_documents"]

WARM = 3
"""Batches that do not count: the first starts the workers, the first partitions come with the third."""

DIFFERENT = 100_000


def run(
    rows: int = 400_000, windows: Sequence[int] = (100, 1_000), batches: int = 7, scheme: str = "auto",
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure every window; documents per second of the join and of the null join, in one run."""
    from weft.spark.jobs import quiet_session

    folder = Path(tempfile.mkdtemp(prefix="weft-lab-"))
    try:
        say("writing documents")
        files = write_documents(folder / "documents", rows, WARM + batches)
        conf = {"spark.driver.memory": "2g", "spark.sql.streaming.numRecentProgressUpdates": "1000"}
        spark = quiet_session("weft-lab bench", master="local[2]", state=None, conf=conf, log=folder / "spark.log")
        try:
            return [_measured(spark, folder, files, window, scheme, say) for window in windows]
        finally:
            spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measured(
    spark: Any, folder: Path, files: int, window: int, scheme: str, say: Callable[[str], None]
) -> dict[str, Any]:  # fmt: skip
    from weft_lab.spark.timed_documents import time_documents

    say(f"windows of {window:,} documents")
    documents = folder / "documents"
    found = time_documents(spark, "weft", documents, files, window, folder / f"weft-{window}", scheme)[WARM:]
    seconds = statistics.median(batch.seconds for batch in found)
    per = sum(batch.pairs or 0 for batch in found) / sum(batch.documents for batch in found)
    say(f"windows of {window:,} documents: null join")
    null = time_documents(spark, "null", documents, files, window, folder / f"null-{window}", back=per)[WARM:]
    beside = statistics.median(batch.seconds for batch in null)
    size = found[0].documents
    return {
        "window": window, "documents": size, "pairs_per_document": round(per, 2),
        "selectivity": round(2 * per / (window - 1), 4), "replication": round(found[-1].replication or 0.0, 2),
        "weft_documents_per_s": round(size / seconds), "weft_pairs_per_s": round(size * per / seconds),
        "null_documents_per_s": round(size / beside), "weft_over_null": round(beside / seconds, 3),
        "stages": {name: round(value, 2) for name, value in (found[-1].stages or {}).items()},
    }  # fmt: skip


def write_documents(folder: Path, rows: int, batches: int, files: int = 2) -> int:
    """Write `rows` documents per batch in so many files; return the files of a batch.

    Every batch has its unseen values. A large one repeats `DIFFERENT` documents, in their order: windows are far smaller.
    """
    folder.mkdir(parents=True, exist_ok=True)
    each = max(1, rows // files)
    for batch in range(batches):
        some = server_log(min(each * files, DIFFERENT), window=batch, wide=True)
        texts = pa.concat_arrays([some] * -(-each * files // len(some)))
        for file in range(files):
            number = batch * files + file
            ids = pa.array(np.arange(number * each, (number + 1) * each))
            table = pa.table({"id": ids, "document": texts.slice(file * each, each).cast(pa.string())})
            path = folder / f"{number:06d}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # streams take files in order of their age
    return files
