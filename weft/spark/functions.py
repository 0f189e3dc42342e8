"""The two functions that Spark runs: route where rows are read, join where they meet. Both speak Arrow only."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from weft.engine import Inputs, Job, Router, Worker, pack_delivery, pack_header
from weft.routing import Plan
from weft.spark.place import JOIN, Where
from weft.spark.shuttle import Inbox, Outbox, Stamp, open_route, pieces
from weft.spark.standing import report_state
from weft.types import Side

__all__ = ["JoinTask", "RouteTask"]


@dataclass(frozen=True)
class RouteTask:
    """Cuts the rows of a map partition into one block per join task. A self join reads once and routes in both roles."""

    job: Job
    sides: tuple[Side, ...]
    inputs: dict[Side, Inputs]
    where: Where | None
    plan: Plan | None = None
    """The plan of a static join; a streaming one reads its own."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Route one partition."""
        here, pinned = open_route(self.job, self.where, self.plan)
        routers = [
            Router(self.job.spec, side, self.inputs[side], pinned, here.batch or 0, here.partition)
            for side in self.sides
        ]
        outbox = Outbox(here.partition, self.sides[0])
        for piece, table in enumerate(pieces(batches, whole=self.job.spec.counted)):
            for router in routers:
                derived = self.job.derived[router.side]
                cut = list(router.route(_typed(table, self.job.payload[router.side])))
                packed = (
                    (d.task, partial(pack_delivery, delivery=d, partition=here.partition, piece=piece, derived=derived))
                    for d in cut
                )
                yield from outbox.ship(packed, Stamp.of(router.side, router.header(), pinned.clock, told=False))
        newest = Stamp.of(self.sides[0], routers[0].header(), pinned.clock, told=False).newest
        yield from report_state(self.job, self.where, here, pinned, outbox, newest)
        for router in routers:
            header = router.header()
            if header.rows:
                write = partial(pack_header, side=router.side, header=header, pinned=pinned.mark)
                stamp = Stamp.of(router.side, header, pinned.clock)
                yield from outbox.ship(((task, write) for task in range(pinned.plan.tasks)), stamp)


def _typed(table: pa.Table, payload: pa.Schema) -> pa.Table:
    """Return the table with the payload's types and names; mostly it has the types already."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(table.columns, payload, strict=False)
    ]
    rest = range(len(columns), table.num_columns)
    names = [*payload.names, *(table.column_names[number] for number in rest)]
    return pa.table([*columns, *(table.column(number) for number in rest)], names=names)


@dataclass(frozen=True)
class JoinTask:
    """Joins what was shipped to one task, and yields the payload of both rows of every pair."""

    job: Job
    where: Where | None
    output: pa.Schema
    plan: Plan | None = None

    @property
    def __name__(self) -> str:
        """Return how Spark's plans call this function."""
        return JOIN + (self.where.join if self.where is not None else "static")

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        inbox = Inbox.open(self.job, self.where, batches)
        worker = Worker(self.job, inbox.store, inbox.task, inbox.batch, self.plan, time.perf_counter)
        for pairs in worker.run(inbox.shipments()):
            columns = [*pairs.left.columns, *pairs.right.columns]
            if len(columns) < len(self.output):
                columns.append(pairs.swapped)
            yield from pa.table(columns, schema=self.output).to_batches()
