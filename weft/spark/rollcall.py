"""The roll call: in every batch every join task is sent something, however empty the batch is.

A task learns its number from what it is sent, because whatever stands behind the join (`coalesce`, a union) may number
partitions anew. So the state of a batch is whole or the batch fails, also where no row arrived. The one task that calls the
roll also tells, for Spark's progress reports, what the state held when the batch began.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from weft.engine import Job
from weft.errors import StateError
from weft.routing import plan_from_json
from weft.spark.place import Where
from weft.spark.shuttle import SHIPPED_DDL, Outbox, Stamp, note_of, open_route
from weft.spark.tree import frame_of
from weft.state import Pinned, StateStore
from weft.types import SIDES

__all__ = ["RollCallTask", "roll_call"]


def roll_call(spark: SparkSession, job: Job, where: Where) -> DataFrame:
    """Return the stream that calls every task of every batch.

    Its source is one constant row that Spark takes for streaming, so there is one partition in every batch, and the sources
    of the query stay the user's own.
    """
    constant: Any = spark.sql("VALUES (0) AS roll(call)")._jdf.queryExecution().optimizedPlan()
    output, rows, _, *rest = (constant.productElement(number) for number in range(constant.productArity()))
    return frame_of(spark, constant.copy(output, rows, True, *rest)).mapInArrow(RollCallTask(job, where), SHIPPED_DDL)


@dataclass(frozen=True)
class RollCallTask:
    """Sends every join task a message without content."""

    job: Job
    where: Where

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Call the roll."""
        for _ in batches:
            pass
        here, pinned = open_route(self.job, self.where, None)
        store = self.where.opened(self.job, here)
        assert store is not None
        assert here.batch is not None
        stamp = Stamp(note=_state_note(store, here.batch, pinned))
        yield from Outbox(here.partition, "roll call").ship(
            ((task, _nothing) for task in range(pinned.plan.tasks)), stamp
        )


def _nothing(sink: pa.NativeFile) -> None:
    """Write the content of a roll call."""


def _state_note(store: StateStore, batch: int, pinned: Pinned) -> dict[str, object]:
    """Return what the state holds when a batch begins, and whether the batch migrates it."""
    try:
        first = store.manifest(0, batch - 1) if batch else None
        if first is None:
            return note_of("state")
        others = [store.manifest(task, batch - 1) for task in range(1, int(first.plan["tasks"]))]
    except StateError:  # the join tasks read the same files and say what is wrong with them
        return note_of("state")
    found = [first, *(manifest for manifest in others if manifest is not None)]
    segments = [segment for manifest in found for side in SIDES for segment in manifest.segments[side]]
    return note_of(
        "state", state_rows=sum(segment.rows for segment in segments), state_bytes=sum(s.bytes for s in segments),
        migrations=int(plan_from_json(first.plan) != pinned.plan),
    )  # fmt: skip
