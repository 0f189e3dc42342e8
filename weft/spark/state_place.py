"""Where a join of streams keeps its state, under which name, on how many tasks; and whether the state found there is its own.

The latter is asked when the query starts, before any data.
"""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from weft.engine import Job
from weft.errors import SpecError, StateError
from weft.planner import check_tasks
from weft.spark.front import front_of
from weft.spec import JoinSpec
from weft.state import Care, StateStore, known_checkpoint, note_checkpoint, open_folder, read_sealed

__all__ = [
    "JOIN", "TABLE", "StatePlace", "check_restart", "check_whole", "checkpoint_of", "missing_state", "name_for",
    "read_checkpoint", "state_place", "tasks_for",
]  # fmt: skip

JOIN = "weft_join_"
"""How the function of a join task begins in Spark's plans; the id of its join follows."""
TABLE = "weft_table_"
"""How that of a join with a table begins, whose rows come as they do from its stream."""


@dataclass(frozen=True)
class StatePlace:
    """Where the state is, how many versions are kept, and what tells this join from others of its query.

    `name` is part of the folder, `join` is new with every call of `weft.join`.
    """

    path: str
    retain: int
    name: str = ""
    join: str = ""
    care: Care = field(default_factory=Care)

    def folder(self, query: str) -> str:
        """Return the path of the state of this join in one query."""
        return f"{self.path.rstrip('/')}/{query}" + (f".{self.name}" if self.name else "")

    def store(self, job: Job, query: str) -> StateStore:
        """Open the state of this join in one query."""
        folder = f"{query}.{self.name}" if self.name else query
        return StateStore(open_folder(self.path, self.care), folder, job.spec.fingerprint(), self.retain, job.derived)

    def opened(self, job: Job, query: str | None, run: str = "") -> StateStore | None:
        """Open the state of this join in the query that a task works for, in one run of it; a static join has none."""
        return None if query is None else self.store(job, query).working_for(run)


def tasks_for(spark: SparkSession, tasks: object) -> int:
    """Return the number of tasks: as given, or one per core."""
    if tasks is None:
        return front_of(spark).cores(spark)
    check_tasks(tasks, "leave it out for one per core.")
    assert isinstance(tasks, int)
    return tasks


def name_for(left: DataFrame, right: DataFrame, functions: str = JOIN) -> str:
    """Name a join by the joins of its sort that it stands on: those of a chain differ."""
    plans = [front_of(frame).plan(frame) for frame in (left, right)]
    below = sum(len(re.findall(functions + r"\w*\(", node.text)) for plan in plans for node in plan.nodes())
    return f"join-{below}" if below else ""


def state_place(
    spark: SparkSession,
    state: str | None,
    name: object,
    *,
    keeps: str = "Weft persists the rows that can still match there",
) -> StatePlace:
    """Return where the state goes: the path given, or that of the session's conf."""
    given: object = state
    if given is not None and not isinstance(given, str):
        raise SpecError.of(
            f"state={state!r}.", "It is the path of a folder, as text.", "write state='file:///var/weft'."
        )
    if not isinstance(name, str) or (name and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)):
        raise SpecError.of(
            f"name={name!r}.", "It becomes part of a folder's name: letters, digits, _ and -.", "write name='orders'."
        )
    path = state or spark.conf.get("spark.weft.state", None)
    if not path:
        raise SpecError.of(
            "A join of streams needs a state path.",
            f"{keeps}, one folder per query.",
            "give state='file:///var/weft', or set the conf spark.weft.state.",
        )
    durability, cache = (
        str(spark.conf.get(f"spark.weft.{key}", default))
        for key, default in (("durability", Care.durability), ("cache.bytes", str(Care.cache)))
    )
    care = Care.of(durability, cache)
    path = front_of(spark).state_path(spark, path, care)
    retain = int(spark.conf.get("spark.sql.streaming.minBatchesToRetain", "100") or 100)
    return StatePlace(path, retain, name, uuid.uuid4().hex, care)


def check_restart(query: StreamingQuery, store: StateStore, spec: JoinSpec) -> None:
    """Refuse state of another join, and a checkpoint whose state is gone; else note where the checkpoint is."""
    checkpoint = checkpoint_of(query)
    if checkpoint is not None:
        _check_copy(query.id, store, checkpoint)
    if not store.folder.exists("spec.json"):
        _, done = (None, []) if checkpoint is None else read_checkpoint(SparkSession.active(), checkpoint)
        # The first batch writes spec.json before it is committed: if it was committed by now, spec.json is there by now.
        if checkpoint is not None and done and not store.folder.exists("spec.json"):
            raise missing_state(checkpoint, query.id, str(store.folder), max(done))
    else:
        store.check(str(read_sealed(store.folder, "spec.json")["fingerprint"]), spec.identity())
    if checkpoint is not None:
        with contextlib.suppress(OSError, StateError):  # it serves people only, and no batch waits for it
            note_checkpoint(store.folder, checkpoint, _sink_of(query))


def _check_copy(query: str, store: StateStore, checkpoint: str) -> None:
    """Refuse a second checkpoint of one query beside the one that its state goes with: both would write the same state."""
    known = known_checkpoint(store.folder)
    if known in (None, checkpoint):
        return
    assert known is not None
    try:
        there, _ = read_checkpoint(SparkSession.active(), known)
        before = _planned(SparkSession.active(), known)
        same = before <= _planned(SparkSession.active(), checkpoint)  # one folder under two names, or moved as it was
    except (Py4JError, StateError):  # it cannot be looked at from here, or is no longer one
        return
    if there == query and not same:
        raise StateError.of(
            f"The state in {store.folder} belongs to the checkpoint {known}.",
            f"{checkpoint} is a copy of it. Both have the same query id, so both would continue from the same state and mix "
            "their rows.",
            "remove the one that you no longer need; a second query needs a new checkpoint.",
        )


def check_whole(store: StateStore, batch: int, tasks: int) -> None:
    """Refuse a batch that was consumed in part: a task whose rows nobody reads never runs, and its state would be missing."""
    found = store.manifests(range(tasks), batch)
    missing = [task for task in range(tasks) if found[task] is None]
    others = [task for task, one in enumerate(found) if one and found[0] and one.history != found[0].history]
    if others and not missing:
        raise StateError.parted(batch, (0, others[0]))
    if missing:
        raise StateError.of(
            f"foreachBatch did not read all of batch {batch}: {len(missing)} of {tasks} join tasks never ran.",
            "Their state would be missing, and the query could not continue after this batch.",
            "consume the whole DataFrame in foreachBatch, for example write it, or call .count() on it.",
        )


def missing_state(checkpoint: str, query: str, state: str, batch: int) -> StateError:
    """Say that a checkpoint goes on where there is no state."""
    return StateError.of(
        f"The checkpoint {checkpoint} belongs to query {query}, whose state is not in {state}.",
        f"It has finished batch {batch}, and cannot continue without the rows it stored.",
        "give the join its previous state path, or start over with a new checkpoint.",
    )


def checkpoint_of(query: StreamingQuery) -> str | None:
    """Return where a query that runs keeps its checkpoint; None where this Spark does not say."""
    try:
        running: Any = query._jsq.streamingQuery()
        return str(running.resolvedCheckpointRoot())
    except (Py4JError, AttributeError, TypeError):
        return None


def _sink_of(query: StreamingQuery) -> str:
    """Return what a query writes to, as Spark calls it; "" where this Spark does not say."""
    try:
        running: Any = query._jsq.streamingQuery()
        return str(running.sink().toString())
    except (Py4JError, AttributeError, TypeError):
        return ""


def _planned(spark: SparkSession, path: str) -> set[tuple[str, int]]:
    """Return the batches that a checkpoint has planned, and when."""
    jvm: Any = spark._jvm
    offsets = jvm.org.apache.hadoop.fs.Path(path, "offsets")
    system = offsets.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    found = system.listStatus(offsets) if system.exists(offsets) else []
    return {(str(status.getPath().getName()), int(status.getModificationTime())) for status in found}


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
