"""The two functions that Spark runs for a join with a table: one makes its index, one looks rows up. Both speak Arrow only."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from weft.engine import Pairs, TableLookup
from weft.errors import SpecError, StateError
from weft.index import Run
from weft.spark.route_task import TypedRows
from weft.spark.shuttle import RunningTask, running_task
from weft.spark.state_place import TABLE, StatePlace
from weft.spark.workers import begin_task
from weft.state import TablePin, TableShelf, TableVersion
from weft.types import Block

__all__ = ["PROPERTY", "IndexTask", "LookupTask"]

PROPERTY = "weft.table."
"""The local property of a query's jobs that names the version its start has read; the id of the join follows."""

_ENOUGH = 1 << 16
"""Rows that are looked up together, if they come in smaller batches."""
_BYTES = 1 << 25
"""Bytes that are, at most."""
_MOST_ROWS = (1 << 31) - 1
_MOST_TEXT = (1 << 31) - 1
_SELDOM = 4
"""A task looks for what can be deleted in one of so many batches."""
_MAPPED = 4
"""Tables that a worker keeps ready."""


@dataclass(frozen=True)
class IndexTask:
    """Makes the index of a table, in one task; its one row says what was written."""

    look_up: TableLookup
    source: TypedRows
    path: str
    start: str
    number: int
    limit: int | None
    """Bytes that the index may have; None: what is free on the disk where it will be mapped."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the index of all rows."""
        begin_task()
        shelf, gathered, rows, size = TableShelf(self.path), list[pa.RecordBatch](), 0, 0
        limit, there_is = self._limit(shelf)
        words = 8 * (self.look_up.spec.side(self.look_up.stored).columns + 1)
        for batch in batches:
            gathered.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes + words * batch.num_rows
            if size > limit or rows > _MOST_ROWS:
                raise _too_large(rows, size, there_is)
        name = f"{self.number}-0-{uuid.uuid4().hex[:8]}.arrow"  # of two attempts each has a file of its own
        written = shelf.write(self.start, name, self._run(gathered))
        yield pa.record_batch([pa.array([json.dumps(written.to_json())])], names=["version"])

    def _run(self, gathered: list[pa.RecordBatch]) -> Run:
        side = self.look_up.stored
        if not sum(batch.num_rows for batch in gathered):
            payload = self.look_up.payload[side].empty_table()
            words = np.zeros((self.look_up.spec.side(side).columns, 0), np.int64)
            return Run.of(Block(words, np.zeros(0, np.uint32), payload), np.zeros(0, np.int32))
        table, _ = self.source.prepare(pa.Table.from_batches(gathered))
        for field, column in zip(table.schema, table.columns, strict=True):
            if (pa.types.is_string(field.type) or pa.types.is_binary(field.type)) and column.nbytes > _MOST_TEXT:
                raise _too_large(
                    table.num_rows, column.nbytes, "One column of text or bytes of a table holds at most 2 GiB."
                )
        return self.look_up.run_of(self.source.inputs, table)

    def _limit(self, shelf: TableShelf) -> tuple[int, str]:
        if self.limit is not None:
            return self.limit, f"spark.weft.table.maxBytes allows {self.limit:,}."
        where = Path(shelf.folder.path if shelf.folder.local else tempfile.gettempdir())
        where = next(folder for folder in (where, *where.parents) if folder.is_dir())
        free = shutil.disk_usage(where).free
        return free, f"Every executor maps the whole index, and {where} has {free:,} bytes free."


def _too_large(rows: int, size: int, there_is: str) -> SpecError:
    return SpecError.of(
        f"The table is too large: its first {rows:,} rows take {size:,} bytes as an index.",
        there_is,
        "select fewer columns (select=) or filter it before the join; or read it as a stream and join both with "
        "window=weft.unbounded(), which spreads it over the tasks.",
    )


@dataclass(frozen=True)
class LookupTask:
    """Looks the rows of a stream up in the version of the table that their batch sees."""

    look_up: TableLookup
    source: TypedRows
    where: StatePlace
    shown: Callable[[Pairs], pa.Table]
    refreshed: bool

    @property
    def __name__(self) -> str:
        """Return how Spark's plans call this function."""
        return TABLE + self.where.join

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Look up one partition."""
        begin_task()
        here = running_task()
        mapped = None
        for rows in _gathered(batches):
            table, _ = self.source.prepare(rows)
            if mapped is None:
                mapped = self._mapped(self._pinned(here))
            run, index = mapped
            for pairs in self.look_up.pairs(index, run, self.source.inputs, table):
                yield from self.shown(pairs).to_batches()
        if here.batch is not None:
            self._tidy(here, here.batch)

    @property
    def _shelf(self) -> TableShelf:
        return TableShelf(self.where.path)

    def _query(self, here: RunningTask) -> str:
        return f"{here.query}.{self.where.name}" if self.where.name else str(here.query)

    def _mine(self, here: RunningTask) -> TablePin:
        """Return what the start of this query has read."""
        context = TaskContext.get()
        given = None if context is None else context.getLocalProperty(PROPERTY + self.where.join)
        if given is None or here.batch is None:
            raise StateError.of(
                "The table of this join was not read when the query started.",
                "Weft reads it in DataStreamWriter.start() and toTable() of PySpark.",
                "start the query from the Python program that built the join, in one thread.",
            )
        return TablePin(
            TableVersion.of_json(json.loads(given)), here.run, self.where.join, self.look_up.spec.fingerprint()
        )

    def _pinned(self, here: RunningTask) -> TableVersion:
        return self._shelf.pinned(self._query(here), here.batch or 0, self._mine(here)).version

    def _mapped(self, version: TableVersion) -> tuple[Run, Any]:
        """Return a version ready to be asked; a worker maps it once, however many batches it serves."""
        key = self.where.path, version.start, version.segment.name, version.segment.checksum
        found = _OPEN.pop(key, None)
        if found is None:
            run = self._shelf.read(version, self.look_up.payload[self.look_up.stored])
            found = run, self.look_up.index(run)
        _OPEN[key] = found
        while len(_OPEN) > _MAPPED:
            _OPEN.pop(next(iter(_OPEN)))
        return found

    def _tidy(self, here: RunningTask, batch: int) -> None:
        """Pin a newer version for the next batch, and now and then delete what no batch needs any more.

        Which tasks there are nobody knows here: a union in front of or behind the join numbers partitions anew. So all of them
        pin, and before the next batch begins one of them was last.
        """
        mine, query = self._mine(here), self._query(here)
        if self.refreshed:
            self._shelf.pin_next(query, batch, self._shelf.pinned(query, batch, mine), mine)
        if (here.partition - batch) % _SELDOM == 0:
            with contextlib.suppress(StateError):  # another task may be deleting the same
                self._shelf.collect(query, batch, self.where.retain, mine)


_OPEN: dict[tuple[str, ...], tuple[Run, Any]] = {}


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Gather small batches; large ones pass as they are. No row is copied."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ENOUGH or size >= _BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)
