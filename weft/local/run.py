"""The local runtime: any number of tasks in one process, any slicing into batches, deterministic.

It runs the same route, worker, control and state code as Spark does; only the shuffle is a dictionary. It is the test
bench, the simulator for hundreds of tasks, and the single-machine engine.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from weft.engine import Job, Pairs, Router, Shipment, Worker, pinned_for
from weft.local.sources import Source
from weft.state import StateStore
from weft.types import SIDES, Side

__all__ = ["LocalRun"]


class LocalRun:
    """A join that is fed batch by batch."""

    def __init__(self, job: Job, sources: dict[Side, Source], store: StateStore, batch: int = 0) -> None:
        self.job, self.sources, self.store, self.batch = job, sources, store, batch

    def feed(self, left: Sequence[pa.Table] | pa.Table, right: Sequence[pa.Table] | pa.Table) -> Iterator[Pairs]:
        """Join one batch; a list of tables stands for map partitions. Drain the pairs before feeding the next batch."""
        shipments = self._route({"left": _parts(left), "right": _parts(right)})
        batch, self.batch = self.batch, self.batch + 1
        for task in range(self.job.tasks):
            yield from Worker(self.job, self.store, task, batch, now=time.perf_counter).run(shipments[task])

    def _route(self, tables: dict[Side, list[pa.Table]]) -> dict[int, list[Shipment]]:
        pinned = pinned_for(self.job, self.store, self.batch)
        shipments: dict[int, list[Shipment]] = {task: [] for task in range(self.job.tasks)}
        partition = 0
        for side in SIDES:
            for table in tables[side]:
                sides: Iterable[Side] = SIDES if self.job.spec.self_join else (side,)
                for role in sides:
                    source = self.sources[role]
                    router = Router(self.job.spec, role, source.inputs, pinned, self.batch, partition)
                    for delivery in router.route(source.prepare(table)):
                        shipments[delivery.task].append(Shipment(role, partition, 0, delivery=delivery))
                    for inbox in shipments.values():
                        inbox.append(Shipment(role, partition, -1, header=router.header()))
                partition += 1
        return shipments


def _parts(tables: Sequence[pa.Table] | pa.Table) -> list[pa.Table]:
    return [tables] if isinstance(tables, pa.Table) else list(tables)
