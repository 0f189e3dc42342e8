"""The local runtime: any number of tasks in one process, any slicing into batches, deterministic.

It runs the same route, worker, control and state code as Spark does; only the shuffle is a dictionary. It is the test
bench, the simulator for hundreds of tasks, and the single-machine engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic

import pyarrow as pa

from weft.engine import Found, Intake, Joiner, Shipment, Worker, pinned_for
from weft.spec.options import check_count
from weft.state import StateStore
from weft.types import SIDES, Side

__all__ = ["LocalRun", "feed_whole"]


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
        Behind the `last` batch nothing follows: rows that wait for the end of their windows leave.
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
