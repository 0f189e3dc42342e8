"""Load models for two systems that stand beside A-DSP in its figures: the join-biclique and the ideal matrix.

They count tuples per task as the simulation does and route nothing. `BicliqueLoad` follows BiStream as 001-43 describes it:
each side has groups of tasks, a key is hashed to a group, a tuple is kept by one task of its own side's group and asks all
tasks of the other side's groups that may hold partners; a group grows and shrinks by one task. `IdealLoad` is Square with
as many tasks as it wants at once and no migration.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from weft_lab.schemes import square_shape
from weft_lab.simulation import Arrival, Seen

__all__ = ["BicliqueLoad", "IdealLoad"]

Counts = NDArray[np.int64]


def _group(keys: NDArray[np.int64], groups: int) -> Counts:
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(40)) % np.uint64(groups)).astype(np.int64)


@dataclass
class BicliqueLoad:
    """Bi with one group a side, Bi6 with six; `reach` is how far apart partners' keys lie (None: anywhere)."""

    groups: int
    memory: float
    reach: int | None
    window: int | None = None
    limit: int = 1 << 30
    high: float = 0.8
    low: float = 0.5
    tasks: dict[int, Counts] = field(default_factory=dict)
    kept: dict[int, deque[Counts]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tasks = {side: np.ones(self.groups, np.int64) for side in (0, 1)}
        self.kept = {side: deque(maxlen=self.window and self.window + 1) for side in (0, 1)}

    def step(self, left: Arrival, right: Arrival) -> Seen:
        """Count one batch."""
        keys = (left.words[0], right.words[0])
        moved, taken, why = 0, 0, []
        held = {}
        for side in (0, 1):
            self.kept[side].append(np.bincount(_group(keys[side], self.groups), minlength=self.groups))
            held[side] = np.sum(self.kept[side], axis=0)
            for group in range(self.groups):
                count, tuples = int(self.tasks[side][group]), int(held[side][group])
                wanted = count
                while (
                    tuples / wanted > self.high * self.memory and sum(t.sum() for t in self.tasks.values()) < self.limit
                ):
                    wanted += 1
                    self.tasks[side][group] = wanted
                while wanted > 1 and tuples / wanted < self.low * self.memory and wanted <= count:
                    wanted -= 1
                self.tasks[side][group] = wanted
                if wanted != count:  # tasks that come or go move their share, nobody else does
                    share = tuples * abs(wanted - count) // max(wanted, count)
                    moved, taken = moved + share, max(taken, share // min(wanted, abs(wanted - count) + 1))
                    why.append(f"{count} -> {wanted}")
        parts_held, parts_asked, parts_new = [], [], []
        for side in (0, 1):
            asked = self._asked(keys[1 - side])
            for group in range(self.groups):
                count = int(self.tasks[side][group])
                parts_held.append(np.full(count, held[side][group] // count))
                parts_asked.append(np.full(count, asked[group]))
                parts_new.append(np.full(count, self.kept[side][-1][group] // count))
        requests = np.concatenate(parts_asked)
        handled = requests + np.concatenate(parts_new)
        kept = np.concatenate(parts_held)
        return Seen(None, kept, requests, handled, requests * kept.astype(np.float64), moved, taken, ", ".join(why))

    def _asked(self, keys: NDArray[np.int64]) -> Counts:
        """Return how many of these tuples ask each group of the other side."""
        if self.reach is None or 2 * self.reach + 1 >= 4 * self.groups:
            return np.full(self.groups, len(keys))
        asks = np.zeros((self.groups, len(keys)), np.bool_)
        for offset in range(-self.reach, self.reach + 1):
            asks[_group(keys + offset, self.groups), np.arange(len(keys))] = True
        return np.asarray(asks.sum(axis=1))


@dataclass
class IdealLoad:
    """Square, sized for the batch before it starts."""

    memory: float
    window: int | None = None
    kept: list[tuple[int, int]] = field(default_factory=list)

    def step(self, left: Arrival, right: Arrival) -> Seen:
        """Count one batch."""
        self.kept = [*self.kept, (len(left.u), len(right.u))][-(self.window + 1) if self.window else 0 :]
        volumes = [sum(side) for side in zip(*self.kept, strict=True)]
        rows, columns = square_shape(volumes[0], volumes[1], self.memory)
        cells = rows * columns
        asked = np.full(cells, len(left.u) // rows + len(right.u) // columns)
        compared = len(left.u) / rows * volumes[1] / columns + len(right.u) / columns * volumes[0] / rows
        return Seen(
            None, np.full(cells, volumes[0] // rows + volumes[1] // columns), asked, asked, np.full(cells, compared)
        )
