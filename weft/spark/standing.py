"""What the state held when a batch began: one route task looks, and notes it for Spark's progress reports."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from weft.engine import Job
from weft.errors import StateError
from weft.routing import plan_from_json
from weft.spark.context import Where as Here
from weft.spark.place import Where
from weft.spark.shuttle import Outbox, Stamp, note_of
from weft.state import Pinned, StateStore
from weft.types import SIDES

__all__ = ["report_state"]


def report_state(
    job: Job, where: Where | None, here: Here, pinned: Pinned, outbox: Outbox, newest: int
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Ship a message without content to task 0, with the note beside it; the first partition does it for all."""
    store = where.opened(job, here) if where is not None and here.partition == 0 else None
    if store is not None and here.batch is not None:
        stamp = Stamp(newest, _note(store, here.batch, pinned))
        yield from outbox.ship([(0, _nothing)], stamp)


def _nothing(sink: pa.NativeFile) -> None:
    """Write a message without content."""


def _note(store: StateStore, batch: int, pinned: Pinned) -> dict[str, object]:
    """Return what the state holds when a batch begins, and whether the batch migrates it."""
    empty = note_of("state", state_rows=0, state_bytes=0, migrations=0)
    try:
        first = store.manifest(0, batch - 1) if batch else None
        if first is None:
            return empty
        others = [store.manifest(task, batch - 1) for task in range(1, int(first.plan["tasks"]))]
        migrations = int(plan_from_json(first.plan) != pinned.plan)
    except StateError:  # the join tasks read the same files and say what is wrong with them
        return empty
    found = [first, *(manifest for manifest in others if manifest is not None)]
    segments = [segment for manifest in found for side in SIDES for segment in manifest.segments[side]]
    held = {"state_rows": sum(s.rows for s in segments), "state_bytes": sum(s.bytes for s in segments)}
    return note_of("state", **held, migrations=migrations)
