"""Where a task has to look when a plan changes: the old tasks, and of their segments those that may hold a row it gains.

Plans say where rows are, as far as they know (`Plan.gained`), and manifests say between which words and draws those of a
segment lie. So a migration over many tasks opens a few files in each of them, and not all files of all tasks in every one.
Whatever is not known is opened: which rows are taken is decided by the rows (`weft.engine.migrate`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from weft.routing import Plan, Regions
from weft.state import Manifest, Segment
from weft.types import SIDES, Bools, Side

__all__ = ["Sources"]


@dataclass(frozen=True)
class Sources:
    """What `task` may gain: per side the old tasks that may have it, and the boxes that it lies in."""

    task: int
    owners: dict[Side, Bools]
    boxes: dict[Side, Regions | None]
    waiting: Regions
    waiters: Bools

    @classmethod
    def of(cls, plan: Plan, old: Plan, task: int, *, waits: bool = False) -> Sources:
        """Compare two plans; `waits` says that rows of this join may wait for their windows to end."""
        owners: dict[Side, Bools] = {}
        boxes: dict[Side, Regions | None] = {}
        for side in SIDES:
            gained = plan.gained(old, side, task)
            owners[side], boxes[side] = (np.ones(old.tasks, np.bool_), None) if gained is None else gained
        # Rows that wait for their windows to end are on the task that they draw, whatever the plan.
        here, there = (Regions.by_draw(np.arange(tasks), np.arange(tasks), tasks) for tasks in (plan.tasks, old.tasks))
        waiting = here.of_task(task)
        waiters = waiting.meet(there) & (waits and plan.tasks != old.tasks)
        return cls(task, owners, boxes, waiting, waiters)

    @property
    def tasks(self) -> list[int]:
        """Return the old tasks to ask, this one itself among them if it is one."""
        asked = np.logical_or.reduce([*self.owners.values(), self.waiters])
        asked[self.task : self.task + 1] = True
        return [int(task) for task in np.flatnonzero(asked)]

    def wants(self, owner: int, side: Side, segment: Segment, *, waits: bool) -> bool:
        """Tell whether a segment of an old task may hold anything that is gained; the task's own are all kept."""
        if owner == self.task:
            return True
        boxes = self.waiting if waits else self.boxes[side]
        if not (self.waiters if waits else self.owners[side])[owner]:
            return False
        if boxes is None or not segment.low:
            return True
        low, high = (np.array(bounds, np.int64)[:, None] for bounds in (segment.low, segment.high))
        return bool(boxes.reach(low[:-1], high[:-1], low[-1], high[-1])[0])

    def cost(self, manifests: Iterable[Manifest]) -> dict[str, int]:
        """Count the files of other tasks that are opened, and the bytes of the segments in them.

        The manifest of task 0 does not count: every task reads it in every batch.
        """
        opened = read = 0
        for manifest in manifests:
            if manifest.task == self.task:
                continue
            kinds = ((False, manifest.segments), (True, manifest.waiting))
            wanted = [
                entry
                for waits, entries in kinds
                for side in SIDES
                for entry in entries.get(side, ())
                if self.wants(manifest.task, side, entry, waits=waits)
            ]
            opened += bool(manifest.task) + len({entry.file for entry in wanted if entry.file})
            read += sum(entry.bytes for entry in wanted)
        return {"opened": opened, "read": read}
