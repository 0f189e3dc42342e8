"""Where a join of streams keeps its state, under which name, and on how many tasks it runs."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from weft.engine import Job
from weft.errors import SpecError
from weft.planner import check_tasks
from weft.state import Care, StateStore, open_folder

__all__ = ["JOIN", "TABLE", "StatePlace", "name_for", "state_place", "tasks_for"]

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
        return max(1, spark.sparkContext.defaultParallelism)
    check_tasks(tasks, "leave it out for one per core.")
    assert isinstance(tasks, int)
    return tasks


def name_for(left: DataFrame, right: DataFrame, functions: str = JOIN) -> str:
    """Name a join by the joins of its sort that it stands on: those of a chain differ."""
    plans = [str(frame._jdf.queryExecution().analyzed().toString()) for frame in (left, right)]
    below = sum(len(re.findall(functions + r"\w*\(", plan)) for plan in plans)
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
    folder = open_folder(path, care)
    folder.check_writable()
    if folder.local:  # executors may have another working directory
        path = folder.path
    retain = int(spark.conf.get("spark.sql.streaming.minBatchesToRetain", "100") or 100)
    return StatePlace(path, retain, name, uuid.uuid4().hex, care)
