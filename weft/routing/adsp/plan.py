"""Algorithm 3: a tuple goes to the areas that take its key, and in each to all tasks of its row or its column.

Step 1 routes by each area's own key interval on both streams, not by F(k) and one storage range, which would let a pair
near a boundary meet twice (001-29). Step 2's random row is a function of the draw, so it survives a replay (001-28).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from typing_extensions import Self

from weft.routing.adsp.area import EVERY, Area, lay
from weft.routing.adsp.varietal import Varietal
from weft.routing.matrix import best_shape
from weft.routing.plan import Plan
from weft.types import SIDES, U32, Bools, Side, Words

__all__ = ["AreaPlan"]


@dataclass(frozen=True)
class AreaPlan(Plan):
    """Areas of the tuple matrix; a task belongs to one cell of one area, or rests.

    `columns` are the word columns (left, right) that order the matrix, () without an order. `epoch` counts changes, so
    that statistics of an older plan can be told apart.
    """

    scheme: ClassVar[str] = "areas"

    areas: tuple[Area, ...] = ()
    columns: tuple[int, ...] = ()
    epoch: int = 0

    @staticmethod
    def whole(tasks: int, columns: tuple[int, ...] = (), shape: tuple[int, int] | None = None) -> AreaPlan:
        """Return the plan of one area over all keys: 2-DSP, a plain join matrix."""
        rows, across = shape or best_shape(tasks)
        area = lay(Varietal(rows, across), EVERY, EVERY, tuple(range(rows * across)))
        return AreaPlan(tasks, (area,), columns)

    @property
    def active(self) -> tuple[int, ...]:
        """Return the tasks that have a cell."""
        return tuple(sorted(task for area in self.areas for task in area.tasks))

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        visits = np.zeros((self.tasks, len(u)), np.bool_)
        for area in self.areas:
            atoms = area.atoms(side)
            at = np.searchsorted(np.array(atoms.starts, np.int64), u.astype(np.int64), side="right") - 1
            least, most = area.keys(side)
            if not self.columns or (least, most) == EVERY:
                visits[list(area.tasks)] = atoms.hold[:, at]
                continue
            key = words[self.columns[0] if side == "left" else self.columns[1]]
            rows = np.flatnonzero((key >= least) & (key <= most))
            visits[np.array(area.tasks)[:, None], rows[None, :]] = atoms.hold[:, at[rows]]
        return visits

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return self.store(side, words, u)

    def adapt(self, tasks: int) -> Plan:
        """Keep the areas where their cells fit into the new tasks, numbered anew if need be; else one matrix."""
        active = self.active
        if len(active) > tasks:
            return replace(AreaPlan.whole(tasks, self.columns), epoch=self.epoch + 1)
        if active[-1] < tasks:
            return replace(self, tasks=tasks)
        place = {task: number for number, task in enumerate(active)}
        areas = tuple(replace(area, tasks=tuple(place[task] for task in area.tasks)) for area in self.areas)
        return replace(self, tasks=tasks, areas=areas, epoch=self.epoch + 1)

    def copies(self) -> tuple[float, float]:
        """Return the mean over areas: which keys are frequent is not the plan's knowledge."""
        left, right = (float(np.mean([area.copies(side) for area in self.areas])) for side in SIDES)
        return left, right

    def lookups(self) -> tuple[float, float]:
        return self.copies()

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Self:
        areas = tuple(Area.of_json(area) for area in data["areas"])
        return cls(data["tasks"], areas, tuple(data["columns"]), data["epoch"])
