"""The function that Spark runs where rows are read: it cuts them into blocks, one per join task. It speaks Arrow only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from weft.engine import (
    Inputs,
    Intake,
    Job,
    Joiner,
    content_digest,
    in_content_order,
    pack_delivery,
    pack_header,
    pinned_for,
)
from weft.routing import Plan
from weft.spark.analysis import SAME, Again
from weft.spark.observed import report_state
from weft.spark.shuttle import Outbox, RunningTask, Stamp, running_task
from weft.spark.state_place import StatePlace
from weft.spark.workers import begin_task
from weft.state import Pinned
from weft.types import Side

__all__ = ["PIECE", "RouteTask", "TypedRows"]

PIECE = 1 << 20
"""Rows that are routed at a time."""


@dataclass(frozen=True)
class RouteTask:
    """Cuts the rows of a map partition into one block per join task, for each side as which it reads them."""

    joiner: Joiner[Any]
    sources: Mapping[Side, Intake]
    where: StatePlace | None
    plan: Plan | None = None
    """The plan of a static join; a streaming one reads its own."""
    again: Again = SAME
    """What may differ in the rows when they are computed again."""

    @property
    def __name__(self) -> str:
        """Return how Spark's plans call this function."""
        return "weft_route_" + "_and_".join(self.sources)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Route one partition."""
        job, sides = self.joiner.job, list(self.sources)
        here, pinned = open_route(job, self.where, self.plan)
        routers = [
            self.joiner.router(side, self.sources[side].inputs, pinned, here.batch or 0, here.partition)
            for side in sides
        ]
        outbox, content = Outbox(here.partition, sides[0]), ""
        for piece, (table, digest) in enumerate(settled(batches, whole=job.spec.counted, again=self.again)):
            content += digest
            for router in routers:
                send = partial(pack_delivery, partition=here.partition, piece=piece, derived=job.derived[router.side])
                cut = list(router.route(*self.sources[router.side].prepare(table)))
                packed = ((d.task, partial(send, delivery=self.joiner.light(d))) for d in cut)
                yield from outbox.ship(packed, Stamp.of(router.side, router.header(), pinned.clock, told=False))
        newest = Stamp.of(sides[0], routers[0].header(), pinned.clock, told=False).newest
        yield from report_state(job, self.where, here, pinned, outbox, newest)
        for side, counted in (told for router in routers for told in router.headers().items()):
            header = replace(counted, content=counted.content + content)
            if header.rows:
                write = partial(pack_header, side=side, header=header, pinned=pinned.mark)
                stamp = Stamp.of(side, header, pinned.clock)
                yield from outbox.ship(((task, write) for task in range(pinned.plan.tasks)), stamp)


@dataclass(frozen=True)
class TypedRows:
    """Gives rows the payload's types and names; mostly they have the types already."""

    inputs: Inputs
    payload: pa.Schema

    def prepare(self, table: pa.Table) -> tuple[pa.Table, int]:
        """Return the rows; each of them can be read."""
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(table.columns, self.payload, strict=False)
        ]
        rest = range(len(columns), table.num_columns)
        names = [*self.payload.names, *(table.column_names[number] for number in rest)]
        return pa.table([*columns, *(table.column(number) for number in rest)], names=names), 0


def open_route(job: Job, where: StatePlace | None, plan: Plan | None) -> tuple[RunningTask, Pinned]:
    """Return what a route task works for, and what is pinned for its batch: the plan of a static join is given."""
    begin_task()
    here = running_task()
    store = None if where is None else where.opened(job, here.query, here.run)
    return here, pinned_for(job, store, here.batch or 0) if plan is None else Pinned(plan)


def pieces(batches: Iterable[pa.RecordBatch], *, whole: bool) -> Iterator[pa.Table]:
    """Gather the batches of a partition into tables of about `PIECE` rows, or into one."""
    gathered: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        gathered.append(batch)
        rows += batch.num_rows
        if rows >= PIECE and not whole:
            yield pa.Table.from_batches(gathered).combine_chunks()
            gathered, rows = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered).combine_chunks()


def settled(batches: Iterable[pa.RecordBatch], *, whole: bool, again: Again) -> Iterator[tuple[pa.Table, str]]:
    """Return the pieces of a partition; where rows arrive in any order, all of them at once by content.

    Where they may not be the same again, a digest of all values goes with them: tasks that were sent different ones notice.
    """
    for table in pieces(batches, whole=whole or again.order):
        if again.order:
            yield in_content_order(table)
        else:
            yield table, content_digest(table) if again.values else ""
