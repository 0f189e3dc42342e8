"""The driver's part: a table is read when its query starts, and again where it is to be refreshed.

`weft.join` returns a plain DataFrame, so this hangs on PySpark's `start` (`weft.spark.hooks`). What was read is told to the tasks
as a local property of the jobs of this start: Spark hands those of the thread that starts a query on to the query.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from weft.errors import StateError
from weft.spark.analysis import children, frame_of, kind, quoted
from weft.spark.hooks import around_starts, weft_error
from weft.spark.state_place import TABLE, StatePlace
from weft.spark.table.lookup_task import PROPERTY, IndexTask
from weft.state import TableShelf, TableVersion

__all__ = ["Table", "register_table"]

_LOG = logging.getLogger("weft")
_MOST = 10_000
"""Joins that are remembered."""
_POLL = 0.25
"""Seconds between two looks at whether it is time to read a table again."""


@dataclass(frozen=True)
class Table:
    """The table of a join: as given, the part of it that is kept, and what writes its index.

    It is read again `every` so many microseconds, or when the greatest value of `column` has changed.
    """

    where: StatePlace
    given: DataFrame
    kept: DataFrame
    task: IndexTask
    every: int | None = None
    column: str | None = None

    def read(self, start: str, number: int) -> TableVersion:
        """Let a task read the table as it is now and write its index."""
        task = replace(self.task, start=start, number=number)
        try:
            rows = renewed(self.kept, again=number > 0).coalesce(1).mapInArrow(task, "version string").collect()
        except PySparkException as error:
            raise weft_error(str(error)) or error from None
        except Py4JJavaError as error:
            raise weft_error(str(error)) or _unreadable(str(error.java_exception.getMessage())) from None
        # Spark leaves a function out where it knows that no row reaches it.
        said = rows[0]["version"] if rows else next(task([])).column(0)[0].as_py()
        return TableVersion.of_json(json.loads(said))

    def mark(self, *, again: bool = False) -> Any:
        """Return what tells one version from the next; None without such a column."""
        if self.column is None:
            return None
        (row,) = renewed(self.given, again=again).agg(F.max(F.col(quoted(self.column)))).collect()
        return row[0]


_TABLES: dict[str, Table] = {}


def register_table(table: Table) -> None:
    """Remember the table of a join, so that it is read when a query that holds the join starts."""
    _TABLES[table.where.join] = table
    if len(_TABLES) > _MOST:
        _TABLES.pop(next(iter(_TABLES)))
    around_starts(_reading)


@contextmanager
def _reading(frame: DataFrame) -> Iterator[Callable[[StreamingQuery], None]]:
    """Read the tables of a query that is about to start; what is yielded keeps them fresh once it runs."""
    tables = _tables_of(frame)
    context, begun = frame.sparkSession.sparkContext, list[tuple[Table, TableVersion, Any]]()
    try:
        for table in tables:
            mark = table.mark()  # before the table: what changes in between is read once too often
            version = table.read(uuid.uuid4().hex, 0)
            begun.append((table, version, mark))
            context.setLocalProperty(PROPERTY + table.where.join, json.dumps(version.to_json()))
        yield lambda query: _follow(query, begun)
    except BaseException:
        for table, version, _ in begun:
            with contextlib.suppress(Exception):  # the first error is the one to tell
                TableShelf(table.where.path).forget(version.start)
        raise
    finally:
        for table in tables:
            context.setLocalProperty(PROPERTY + table.where.join, None)  # type: ignore[arg-type]


def _tables_of(frame: DataFrame) -> list[Table]:
    plan = str(frame._jdf.queryExecution().analyzed().toString())
    found = dict.fromkeys(re.findall(TABLE + r"([0-9a-f]{32})\(", plan))
    return [_TABLES[join] for join in found if join in _TABLES]


def renewed(frame: DataFrame, *, again: bool) -> DataFrame:
    """Return a frame that reads its files as they are now: Spark lists them when a frame is made.

    Spark takes a folder that is gone for an empty table. So does it, while a table is overwritten, one without files; if it is
    read `again`, it cannot be read now.
    """
    plan = frame._jdf.queryExecution().analyzed()
    conf: Any = frame.sparkSession.sparkContext._jsc
    for leaf in _leaves(plan):
        if kind(leaf) == "LogicalRelation" and kind(leaf.relation()) == "HadoopFsRelation":
            location = leaf.relation().location()
            location.refresh()
            roots = location.rootPaths()
            for root in (roots.apply(number) for number in range(roots.size())):
                if not root.getFileSystem(conf.hadoopConfiguration()).exists(root):
                    raise _unreadable(f"{root.toString()} does not exist")
            if again and not len(location.inputFiles()):
                raise _unreadable(f"it has no files in {roots.mkString(', ')}")
    return frame_of(frame.sparkSession, plan)


def _unreadable(why: str) -> StateError:
    first = (why.splitlines() or ["no reason given"])[0].rstrip(".")
    return StateError.of(
        f"The table of this join cannot be read: {first}.",
        "Weft reads it when the query starts, and again as refresh= says.",
        "restore its files; an empty table needs a file without rows.",
    )


def _leaves(node: Any) -> Iterator[Any]:
    below = children(node)
    if not below:
        yield node
    for child in below:
        yield from _leaves(child)


def _follow(query: StreamingQuery, begun: list[tuple[Table, TableVersion, Any]]) -> None:
    for table, version, mark in begun:
        if table.every is not None or table.column is not None:
            Refresher(query, table, version, mark).start()


class Refresher(Thread):
    """Reads a table again as long as its query runs; batches see a new version from the next but one on at the latest."""

    def __init__(self, query: StreamingQuery, table: Table, version: TableVersion, mark: Any) -> None:
        super().__init__(name=f"weft-refresh-{query.id}", daemon=True)
        self.query, self.table, self.version, self.mark = query, table, version, mark
        self.read_at, self.batch = time.monotonic(), -1

    def run(self) -> None:
        """Look now and then whether there is something new."""
        while self._active():
            try:
                self.look()
            except Exception as error:  # noqa: BLE001  a table that cannot be read now may be readable later
                if self._active():
                    said = str(error).split("\n", 1)[0]
                    _LOG.warning(
                        "Query %s could not read its table again and keeps the old version: %s", self.query.id, said
                    )
            time.sleep(_POLL)

    def look(self) -> None:
        """Read the table if it is time to, and let later batches see it."""
        mark = self.mark
        if self.table.every is not None:
            if time.monotonic() - self.read_at < self.table.every / 1e6:
                return
            self.read_at = time.monotonic()
        else:
            progress = self.query.lastProgress
            batch = -1 if progress is None else int(progress["batchId"])
            if batch == self.batch:  # asked once per batch
                return
            self.batch, mark = batch, self.table.mark(again=True)
            if mark == self.mark:
                return
        self.version = self.table.read(self.version.start, self.version.number + 1)
        TableShelf(self.table.where.path).publish(self.version)
        self.mark = mark

    def _active(self) -> bool:
        try:
            return bool(self.query.isActive)
        except Exception:  # noqa: BLE001  the session has ended, in one way or another
            return False
