"""`weft.local.natural_join`: documents in, joined documents out, no join key named."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from weft.control import check_tasks
from weft.documents import Reader
from weft.engine import Job, Shipment, pinned_for
from weft.engine.natural import (
    INDEX,
    DocumentRouter,
    Forest,
    NaturalWorker,
    as_times,
    document_inputs,
    document_measures,
    document_payload,
    either_way,
    natural_spec,
    result_schema,
)
from weft.errors import SpecError, UnknownColumn
from weft.local.checks import check_fed, check_types, next_batch, opened
from weft.local.order import carried, time_orders
from weft.local.sources import check_window
from weft.routing.documents import DocumentScheme, document_scheme
from weft.spec import Tumbling, Unbounded, Window, Within, unbounded, with_delays
from weft.spec.options import check_count
from weft.state import MemoryStore, StateStore
from weft.types import SIDES, Side

__all__ = ["NaturalJoin", "natural_join"]


class NaturalJoin:
    """A natural join that can be fed batch by batch; `natural_join` feeds whole tables.

    `refused` counts the lines that are no documents, by reason; with `collect=True`, `rejected` lists them. With a state folder
    the batch after the last finished one is the next, also in another process; `batch` names another one.
    """

    def __init__(
        self, left: pa.Schema, right: pa.Schema | None = None, *, column: str, id: str | None = None,  # noqa: A002
        window: Window | None = None, scheme: str | DocumentScheme = "auto", tasks: int = 1, nulls: str = "absent",
        arrays: str = "whole", collect: bool = False, state: StateStore | str | None = None, batch: int | None = None,
    ) -> None:  # fmt: skip
        check_tasks(tasks, "leave it out for one.")
        self.window = window if window is not None else unbounded()
        self.column, self.id, self.single, self.collect = column, id, right is None, collect
        self.reader = Reader(nulls, arrays)
        schemas: dict[Side, pa.Schema] = {"left": left, "right": left if right is None else right}
        self.schemas = schemas
        for side in SIDES:
            check_types(side, schemas[side])
            for name in (column, *([id] if id is not None else [])):
                if name not in schemas[side].names:
                    raise UnknownColumn.on_side(side, name, schemas[side].names)
        check_window(self.window, schemas["left"], schemas["right"])
        self.window = with_delays(self.window, time_orders(self.window, schemas), one_stream=self.single)
        if self.single:
            self.window = either_way(self.window)
        kinds = tuple(pa.int64() if id is None else schemas[side].field(id).type for side in SIDES)
        times = self._times()
        self.schema = carried(
            result_schema((kinds[0], kinds[1]), times), self.window,
            {} if times is None else {"left_time": "left", "right_time": "right"},
            one_stream=self.single,
        )  # fmt: skip
        spec = natural_spec(self.window, (kinds[0], kinds[1]), f"nulls {nulls}, arrays {arrays}", self.single)
        payload = {side: document_payload(kind) for side, kind in zip(SIDES, kinds, strict=True)}
        self.job = Job(spec, document_scheme(scheme), INDEX, tasks, payload)
        fingerprint = spec.fingerprint()
        self.store: StateStore = MemoryStore(fingerprint) if state is None else opened(state, fingerprint)
        self.batch = batch if batch is not None else next_batch(self.store, spec) if isinstance(state, str) else 0
        before = self.store.manifest(0, self.batch - 1) if self.batch else None
        self.fed = {side: before.clock["count"][side] if before is not None else 0 for side in SIDES}
        self.refused: Counter[str] = Counter()
        self.rejected: list[dict[str, Any]] = []
        self.forest = Forest(time.perf_counter)
        self.reading = 0.0

    def feed(self, left: pa.Table, right: pa.Table | None = None) -> Iterator[pa.Table]:
        """Yield the result of one batch, chunk by chunk; drain it before the next. One stream is fed on the left only."""
        if self.single and right is not None:
            raise SpecError.of(
                "A natural join of one stream was fed on the right.",
                "It reads one stream.",
                "feed it on the left only.",
            )
        for side, table in zip(SIDES, (left, right), strict=True):
            if table is not None:
                check_fed(side, table, self.schemas[side])
        shipments = self._route({"left": left, "right": right})
        batch, self.batch = self.batch, self.batch + 1
        for task in range(self.job.tasks):
            worker = NaturalWorker(self.job, self.store, task, batch, now=time.perf_counter, forest=self.forest)
            for table in worker.join(shipments[task]):
                columns = table.columns
                columns[4:] = [as_times(c, f.type) for c, f in zip(columns[4:], list(self.schema)[4:], strict=True)]
                yield pa.table(columns, names=self.schema.names).cast(self.schema)

    def metrics(self, batch: int | None = None) -> dict[str, Any]:
        """Return what a finished batch (by default the last) cost, as `document_measures` has it (004-34)."""
        at = self.batch - 1 if batch is None else batch
        return document_measures([self.store.read_metrics(task, at) or {} for task in range(self.job.tasks)])

    def _route(self, tables: dict[str, pa.Table | None]) -> dict[int, list[Shipment]]:
        pinned = pinned_for(self.job, self.store, self.batch)
        shipments: dict[int, list[Shipment]] = {task: [] for task in range(self.job.tasks)}
        timed = self._time("left") is not None
        for partition, side in enumerate(SIDES):
            table = tables[side]
            if table is None or not table.num_rows:
                continue
            router = DocumentRouter(self.job.spec, side, document_inputs(timed), pinned, self.batch, partition)
            before = self.refused.total()
            prepared = self._prepared(side, table)
            refused = self.refused.total() - before
            for delivery in router.route(prepared):
                shipments[delivery.task].append(Shipment(side, partition, 0, delivery=delivery))
            roles: tuple[Side, ...] = SIDES if self.single else (side,)
            for role in roles:
                for inbox in shipments.values():
                    header = replace(router.header(), refused=refused)
                    inbox.append(Shipment(role, partition, -1, header=header))
        return shipments

    def _times(self) -> tuple[pa.DataType, pa.DataType] | None:
        """Return the types of both time columns, None where the window is not one of time."""
        if not isinstance(self.window, (Within, Tumbling)):
            return None
        return self.schemas["left"].field(self.window.left).type, self.schemas["right"].field(self.window.right).type

    def _time(self, side: Side) -> str | None:
        if isinstance(self.window, Unbounded):
            return None
        return self.window.left if side == "left" else self.window.right

    def _prepared(self, side: Side, table: pa.Table) -> pa.Table:
        """Read the documents; return id, coded document and the window's column."""
        started = time.perf_counter()
        read = self.reader.read(table.column(self.column))
        self.reading += time.perf_counter() - started
        first, self.fed[side] = self.fed[side], self.fed[side] + table.num_rows
        ids = pa.array(np.arange(first, first + table.num_rows)) if self.id is None else table.column(self.id)
        self.refused.update(read.counts())
        if self.collect and len(read.refused):
            who = ids.take(pa.array(read.refused)).to_pylist()
            self.rejected += [{"side": side, "id": i, "reason": r} for i, r in zip(who, read.reasons, strict=True)]
        arrays = [ids, *read.coded.to_table().columns]
        name = self._time(side)
        if name is not None:
            column = table.column(name)
            arrays.append(column.cast(pa.timestamp("us")) if pa.types.is_date(column.type) else column)
        return pa.table(arrays, names=[*self.job.payload[side].names, *(["time"] if name is not None else [])])


def natural_join(
    left: pa.Table, right: pa.Table | None = None, *, column: str = "document", id: str | None = None,  # noqa: A002
    window: Window | None = None, scheme: str | DocumentScheme = "auto", tasks: int = 1, batch: int | None = None,
    nulls: str = "absent", arrays: str = "whole",
) -> pa.Table:  # fmt: skip
    """Join documents that share at least one attribute-value pair and agree on every attribute they have in common.

    Parameters
    ----------
    left, right
        Tables with a column of documents: JSON text, structs or maps. Without `right`, the documents of one stream join each
        other, each pair once, the earlier document on the left.
    column, id
        The names of the documents and of what identifies them in the result (by default their number in the stream).
    window
        `weft.tumbling`, `weft.tumbling_rows`, `weft.within`, `weft.last`, or all of it by default.
    scheme, tasks
        "auto", "association", "disjoint", "set-cover", "everywhere", or a configured one; how many tasks join.
    batch
        Rows that arrive at a time; all at once by default.
    nulls, arrays
        null is "absent" or a "value"; arrays compare as "whole" values or as "sets".

    >>> import pyarrow as pa
    >>> docs = pa.table({"document": ['{"user": "A", "ip": 1}', '{"user": "A", "file": "x"}', '{"user": "B", "ip": 1}']})
    >>> natural_join(docs).to_pylist()
    [{'left_id': 0, 'right_id': 1, 'shared': ['user'], 'merged': '{"user":"A","ip":1,"file":"x"}'}]
    """
    for side, table in (("left", left), ("right", right)):
        if not isinstance(table, pa.Table) and not (side == "right" and table is None):
            raise SpecError.of(
                f"The {side} side is a {type(table).__name__}.", "natural_join takes pyarrow Tables.", "make it one."
            )
    if batch is not None:
        check_count("batch", batch, "rows per side and batch", "leave it out for the default.")
    made = NaturalJoin(
        left.schema, None if right is None else right.schema, column=column, id=id, window=window, scheme=scheme,
        tasks=tasks, nulls=nulls, arrays=arrays,
    )  # fmt: skip
    rows = max(1, left.num_rows, 0 if right is None else right.num_rows)
    size = batch or rows
    chunks = [made.schema.empty_table()]
    for start in range(0, rows, size):
        chunks += made.feed(left.slice(start, size), None if right is None else right.slice(start, size))
    return pa.concat_tables(chunks)
