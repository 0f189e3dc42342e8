"""Whether the state that a query finds is its own: asked when it starts, before any data."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from weft.errors import StateError
from weft.spec import JoinSpec
from weft.state import StateStore
from weft.state.checkpoints import note_checkpoint
from weft.state.documents import read_document

__all__ = ["check_restart", "check_whole", "checkpoint_of", "missing_state", "read_checkpoint"]


def check_restart(query: StreamingQuery, store: StateStore, spec: JoinSpec) -> None:
    """Refuse state of another join, and a checkpoint whose state is gone; else note where the checkpoint is."""
    checkpoint = checkpoint_of(query)
    if not store.folder.exists("spec.json"):
        _, done = (None, []) if checkpoint is None else read_checkpoint(SparkSession.active(), checkpoint)
        # The first batch writes spec.json before it is committed: if it was committed by now, spec.json is there by now.
        if checkpoint is not None and done and not store.folder.exists("spec.json"):
            raise missing_state(checkpoint, query.id, str(store.folder), max(done))
    else:
        store.check(str(read_document(store.folder, "spec.json")["fingerprint"]), spec.identity())
    if checkpoint is not None:
        with contextlib.suppress(OSError, StateError):  # it serves people only, and no batch waits for it
            note_checkpoint(store.folder, checkpoint)


def check_whole(store: StateStore, batch: int, tasks: int) -> None:
    """Refuse a batch that was consumed in part: a task whose rows nobody reads never runs, and its state would be missing."""
    missing = [task for task in range(tasks) if not (store.folder / str(task)).exists(f"{batch}.json")]
    if missing:
        raise StateError.of(
            f"foreachBatch did not read all of batch {batch}: {len(missing)} of {tasks} join tasks never ran.",
            "Their state would be missing, and the query could not go on after this batch.",
            "consume the whole DataFrame in foreachBatch, for example write it, or call .count() on it.",
        )


def missing_state(checkpoint: str, query: str, state: str, batch: int) -> StateError:
    """Say that a checkpoint goes on where there is no state."""
    return StateError.of(
        f"The checkpoint {checkpoint} belongs to query {query}, whose state is not in {state}.",
        f"It has finished batch {batch}, and cannot go on without the rows it held.",
        "give the join the state path it had, or start anew with another checkpoint.",
    )


def checkpoint_of(query: StreamingQuery) -> str | None:
    """Return where a query that runs keeps its checkpoint; None where this Spark does not say."""
    try:
        running: Any = query._jsq.streamingQuery()
        return str(running.resolvedCheckpointRoot())
    except (Py4JError, AttributeError, TypeError):
        return None


def read_checkpoint(spark: SparkSession, path: str) -> tuple[str | None, list[int]]:
    """Return the id of a checkpoint's query (None if it is new) and the batches it has finished.

    Read by Hadoop, as Spark reads it: it may lie where pyarrow cannot look.
    """
    jvm: Any = spark._jvm
    hadoop = jvm.org.apache.hadoop.fs
    root = hadoop.Path(path)
    system = root.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    metadata, commits = hadoop.Path(root, "metadata"), hadoop.Path(root, "commits")
    if not system.exists(metadata):
        return None, []
    stream = system.open(metadata)
    try:
        text = str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()
    try:
        query = str(json.loads(text)["id"])
    except (ValueError, KeyError, TypeError):
        raise StateError.torn(f"{path}/metadata", "it is not the metadata of a Spark checkpoint") from None
    names = [str(status.getPath().getName()) for status in system.listStatus(commits)] if system.exists(commits) else []
    return query, [int(name) for name in names if name.isdigit()]
