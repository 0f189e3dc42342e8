"""The local runtime: any number of tasks in one process, any slicing into batches, deterministic.

It runs the same route, worker, control and state code as Spark does; only the shuffle is a dictionary. It is the test
bench, the simulator for hundreds of tasks, and the single-machine engine.

Tables go in as sources, of rows or of documents. What a result says of its order in time comes from there: `weft.spec.disorder`
has the rules; on Spark `weft.spark.analysis.watermarks` does the same with Spark's metadata.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

import numpy as np
import pyarrow as pa

from weft.documents import DocumentReader
from weft.engine import Found, Inputs, Intake, Joiner, Shipment, Worker, pinned_for
from weft.engine.natural import code_documents, document_inputs
from weft.local.analyze import Analyzed
from weft.spec import Delays, JoinSpec, TimeOrder, Tumbling, Window, Within, lags_of, window_column
from weft.spec.options import check_count
from weft.state import StateStore
from weft.types import SIDES, Side

__all__ = ["DocumentSource", "LocalRun", "Refused", "TableSource", "carried", "feed_whole", "time_orders"]


class TableSource:
    """Prepares the tables of one side: evaluates keys and filters once per table."""

    def __init__(self, spec: JoinSpec, analyzed: Analyzed, side: Side, schema: pa.Schema) -> None:
        self.spec, self.analyzed, self.side = spec, analyzed, side
        self.payload = pa.schema([field.with_name(f"{side[0]}{i}") for i, field in enumerate(schema)])
        keys = len(spec.side(side).keys)
        first = len(schema)
        self.time = window_column(spec.window, side)
        self.only = analyzed.only(side)
        following = first + keys
        time = None
        if self.time is not None:
            time, following = following, following + 1
        keep = following if self.only is not None else None
        self.inputs = Inputs(first, tuple(range(first, first + keys)), time, keep)

    def prepare(self, table: pa.Table) -> tuple[pa.Table, int]:
        """Return the engine's input for rows of this side; each of them can be read."""
        part = self.spec.side(self.side)
        arrays = list(table.columns)
        aliases = self.analyzed.aliases if self.spec.self_join else (self.analyzed.alias(self.side),)
        tables = dict.fromkeys(aliases, table)
        keep = None if self.only is None else self.only.evaluate(tables)
        arrays += [self._key(key.text, tables, table.num_rows, keep) for key in part.keys]
        if self.time is not None:
            arrays.append(_time_as_read(table, self.time))
        if keep is not None:
            arrays.append(keep)
        return pa.table(arrays, names=[f"c{number}" for number in range(len(arrays))]), 0

    def _key(self, text: str, tables: dict[str, pa.Table], rows: int, keep: object) -> pa.ChunkedArray | pa.Array:
        """Evaluate a key where the side's own condition holds: `1 / l.x` may rely on `l.x <> 0`."""
        compiled = self.analyzed.keys("left").get(text) or self.analyzed.keys("right")[text]
        if keep is None:
            return compiled.evaluate(tables)
        mask = np.asarray(pa.chunked_array([keep] if isinstance(keep, pa.Array) else keep).fill_null(False).to_numpy())
        if mask.all():
            return compiled.evaluate(tables)
        rows_kept = pa.array(np.flatnonzero(mask))
        found = compiled.evaluate({alias: table.take(rows_kept) for alias, table in tables.items()})
        place = np.full(rows, -1, np.int64)
        place[mask] = np.arange(len(rows_kept))
        return pa.chunked_array([found] if isinstance(found, pa.Array) else found).take(pa.array(place, mask=~mask))


def _time_as_read(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return the window's column; a day is the time at which it begins."""
    column = table.column(name)
    return column.cast(pa.timestamp("us")) if pa.types.is_date(column.type) else column


@dataclass(frozen=True)
class Refused:
    """Lines that are no documents: how many for each reason, and, on request, each of them."""

    counts: Counter[str] = field(default_factory=Counter)
    rows: list[dict[str, Any]] | None = None


@dataclass
class DocumentSource:
    """Prepares the tables of one side: reads the documents, and numbers them where they have no id."""

    side: Side
    payload: pa.Schema
    reader: DocumentReader
    column: str
    id: str | None
    time: str | None
    refused: Refused
    fed: int = 0

    @property
    def inputs(self) -> Inputs:
        """Return where a prepared table has its parts."""
        return document_inputs(self.time is not None)

    def prepare(self, table: pa.Table) -> tuple[pa.Table, int]:
        """Return the documents, coded, and how many lines are none."""
        first, self.fed = self.fed, self.fed + table.num_rows
        ids = pa.array(np.arange(first, first + table.num_rows)) if self.id is None else table.column(self.id)
        given = {"id": ids, "document": table.column(self.column)}
        if self.time is not None:
            given["time"] = _time_as_read(table, self.time)
        made, read = code_documents(self.reader, self.payload, pa.table(given))
        self.refused.counts.update(read.counts())
        if self.refused.rows is not None and len(read.refused):
            who = ids.take(pa.array(read.refused)).to_pylist()
            self.refused.rows.extend(
                {"side": self.side, "id": i, "reason": reason} for i, reason in zip(who, read.reasons, strict=True)
            )
        return made, len(read.refused)


_LAG = b"weft.lag"
_ENDLESS = b"endless"


def time_orders(window: Window, schemas: Mapping[Side, pa.Schema]) -> dict[Side, TimeOrder]:
    """Return what is known of the order of both time columns of a window."""
    if not isinstance(window, (Within, Tumbling)):
        return {side: TimeOrder() for side in SIDES}
    names: dict[Side, str] = {"left": window.left, "right": window.right}
    return {side: _order(schemas[side].field(names[side])) for side in SIDES}


def _order(field: pa.Field) -> TimeOrder:
    said = (field.metadata or {}).get(_LAG)
    return TimeOrder(None if said in (None, _ENDLESS) else int(said), endless=said == _ENDLESS)


def carried(
    schema: pa.Schema, window: Window, times: Mapping[str, Side], *, one_stream: bool, lags: Delays | None = None
) -> pa.Schema:  # fmt: skip
    """Return the schema of a result whose columns `times` are the times of the sides, with what they say of their order."""
    lags = lags_of(window, one_stream=one_stream) if lags is None else lags
    for name, side in times.items():
        lag = lags.of(side)
        said = _ENDLESS if lag is None else str(lag).encode()
        number = schema.get_field_index(name)
        schema = schema.set(number, schema.field(number).with_metadata({_LAG: said}))
    return schema


class LocalRun(Generic[Found]):
    """A join that is fed batch by batch; `now` is the clock of its metrics."""

    def __init__(
        self, joiner: Joiner[Found], sources: Mapping[Side, Intake], store: StateStore, batch: int = 0,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:  # fmt: skip
        self.joiner, self.job, self.sources, self.store, self.batch = joiner, joiner.job, sources, store, batch
        self.now = now

    def feed(
        self, left: Sequence[pa.Table] | pa.Table, right: Sequence[pa.Table] | pa.Table,
        tasks: Iterable[int] | None = None, *, last: bool = False,
    ) -> Iterator[Found]:  # fmt: skip
        """Join one batch; a list of tables stands for map partitions. Drain the pairs before feeding the next batch.

        `tasks` says which tasks run and in which order, as a cluster would with its retries; by default all do, each once.
        Nothing follows the `last` batch, so rows that wait for their windows to end are emitted.
        """
        shipments = self._route({"left": _parts(left), "right": _parts(right)})
        batch, self.batch = self.batch, self.batch + 1
        for task in range(self.job.tasks) if tasks is None else tasks:
            yield from Worker(self.joiner, self.store, task, batch, now=self.now, last=last).run(shipments[task])

    def _route(self, tables: dict[Side, list[pa.Table]]) -> dict[int, list[Shipment]]:
        pinned = pinned_for(self.job, self.store, self.batch)
        shipments: dict[int, list[Shipment]] = {task: [] for task in range(self.job.tasks)}
        inputs = [(side, table) for side in SIDES for table in tables[side]]
        for partition, (side, table) in enumerate(inputs):
            for role in self.joiner.roles(side):
                source = self.sources[role]
                router = self.joiner.router(role, source.inputs, pinned, self.batch, partition)
                for delivery in router.route(*source.prepare(table)):
                    shipments[delivery.task].append(Shipment(role, partition, 0, delivery=delivery))
                for told, header in router.headers().items():
                    for inbox in shipments.values():
                        inbox.append(Shipment(told, partition, -1, header=header))
        return shipments


def feed_whole(
    feed: Callable[..., Iterator[pa.Table]], schema: pa.Schema, batch: int | None, *tables: pa.Table,
    finish: Callable[[], Iterator[pa.Table]] | None = None,
) -> pa.Table:  # fmt: skip
    """Feed whole tables, `batch` rows of each at a time or all at once, and return the whole result."""
    if batch is not None:
        check_count("batch", batch, "rows per side and batch", "leave it out for the default.")
    rows = max(1, *(table.num_rows for table in tables))
    chunks = [schema.empty_table()]
    for start in range(0, rows, batch or rows):
        chunks += feed(*(table.slice(start, batch or rows) for table in tables))
    chunks += finish() if finish is not None else ()
    return pa.concat_tables(chunks)


def _parts(tables: Sequence[pa.Table] | pa.Table) -> list[pa.Table]:
    return [tables] if isinstance(tables, pa.Table) else list(tables)
