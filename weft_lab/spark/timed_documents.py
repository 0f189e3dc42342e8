"""The two queries that `weft-lab bench documents` compares: the natural join, and a null join beside it.

Both read the same Parquet stream of documents and write to the noop sink. *weft* parses, routes and joins; *null* moves the
same column into Python once and brings as many rows of the same schema back, without looking at a document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from weft.routing.documents import document_measures
from weft.spark.jobs import cause
from weft.spark.natural import natural_join
from weft.spec import tumbling_rows
from weft.state import StateStore

__all__ = ["DocumentBatch", "time_documents"]

_RESULT = "left_id long, right_id long, shared array<string>, merged string"


@dataclass(frozen=True)
class DocumentBatch:
    """What Spark says of one batch; pairs, copies per document and seconds by stage where Weft's tasks tell."""

    documents: int
    seconds: float
    pairs: int | None = None
    replication: float | None = None
    stages: dict[str, float] | None = None


def time_documents(
    spark: SparkSession, kind: str, folder: Path, files: int, window: int, scratch: Path, scheme: Any = "auto", back: float = 1.0
) -> list[DocumentBatch]:  # fmt: skip
    """Run one of the queries over all files of a folder, `files` a batch; the null join brings `back` rows per document back."""
    frame = spark.readStream.schema("id long, document string").option("maxFilesPerTrigger", files).parquet(str(folder))
    state = str(scratch / "state")
    if kind == "weft":
        frame = natural_join(frame, id="id", window=tumbling_rows(window), scheme=scheme, state=state)
    else:
        frame = _null(frame, back)
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(scratch / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise cause(str(error)) from None
    found = []
    for progress in query.recentProgress:
        data: dict[str, Any] = json.loads(progress.json)
        if data["numInputRows"]:
            seconds = data["durationMs"]["triggerExecution"] / 1000
            told = _told(state, str(query.id), int(data["batchId"])) if kind == "weft" else {}
            found.append(DocumentBatch(int(data["numInputRows"]), seconds, **told))
    return found


def _told(state: str, query: str, batch: int) -> dict[str, Any]:
    store = StateStore(state, query, "")
    told = [store.read_metrics(int(task), batch) for task in store.folder.names() if task.isdigit()]
    every = [one for one in told if one is not None]
    if len(every) < len(told):  # old batches are collected
        return {}
    found = document_measures(every)
    stages = {name: max(float(m["seconds"][name]) for m in every) for name in ("state", "build", "pairs")}
    return {"pairs": found["pairs"], "replication": found["replication"], "stages": stages}


def _null(frame: DataFrame, back: float) -> DataFrame:
    shared = pa.list_(pa.string())

    def through(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = ["left_id", "right_id", "shared", "merged"]
        owed = 0.0
        for batch in batches:
            owed += back * batch.num_rows
            lists = pa.array([["Server", "User"]] * batch.num_rows, shared)
            made = pa.record_batch([batch.column(0), batch.column(0), lists, batch.column(1)], names=names)
            while owed >= 1:
                part = made.slice(0, min(int(owed), batch.num_rows))
                owed -= part.num_rows
                yield part

    return frame.mapInArrow(through, _RESULT)
