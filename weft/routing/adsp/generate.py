"""A whole scheme: Algorithm 2 cuts the matrix into areas, Algorithm 1 each area into tasks, Algorithm 4 names them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.routing.adsp.dichotomy import Mode, Rectangle, Staircase, chain, partition
from weft.routing.adsp.mapping import Mass, Pairing, assign
from weft.routing.adsp.plan import Area, lay
from weft.routing.adsp.varietal import Varietal, varietal

__all__ = ["AreaLayout", "fitting", "generate", "place"]


_NEAR = 0.03
"""A layout whose fullest task has so little more than any scheme must give it is not worth a search for a better one."""


@dataclass(frozen=True)
class AreaLayout:
    """A scheme before tasks have numbers: key intervals, volumes and shape of each area."""

    left: tuple[tuple[int, int], ...]
    right: tuple[tuple[int, int], ...]
    volumes: tuple[tuple[float, float], ...]
    shapes: tuple[Varietal, ...]

    @property
    def tasks(self) -> int:
        """Return the number of tasks used (the objective, Eq. 4)."""
        return sum(shape.tasks for shape in self.shapes)

    @property
    def fullest(self) -> float:
        """Return the largest input of a task (Eq. 6 holds it against V)."""
        return max(max(shape.loads(*volume)) for shape, volume in zip(self.shapes, self.volumes, strict=True))


def generate(
    stairs: Staircase, memory: float, *, mode: Mode = "greedy", tries: int | None = 2, exhaustive: bool = False,
    coarse: int = 32,
) -> AreaLayout:  # fmt: skip
    """Return the scheme with the fewest tasks of at most `memory` tuples each.

    Algorithm 2 runs on the matrix compressed to `coarse` rows and columns (all of it where it is small), a chain of
    areas is looked for on the matrix as it is, and the better one is taken.
    """
    small = stairs.compress(coarse) if max(len(stairs.rows), len(stairs.columns)) > 2 * coarse else stairs
    layout = _layout(small, partition(small, memory, mode=mode, tries=tries)[1], memory, exhaustive)
    if len(stairs.rows) > 1 or len(stairs.columns) > 1:
        chained = _layout(stairs, chain(stairs, memory)[1], memory, exhaustive)
        layout = min(layout, chained, key=lambda one: (one.tasks, one.fullest))
    return layout


def _layout(stairs: Staircase, areas: Sequence[Rectangle], memory: float, exhaustive: bool) -> AreaLayout:
    volumes = [(float(stairs.rows[r0:r1].sum()), float(stairs.columns[c0:c1].sum())) for r0, r1, c0, c1 in areas]
    return AreaLayout(
        tuple(stairs.row_words(r0, r1) for r0, r1, _, _ in areas),
        tuple(stairs.column_words(c0, c1) for _, _, c0, c1 in areas),
        tuple(volumes),
        tuple(varietal(*volume, memory, exhaustive=exhaustive).balanced(*volume) for volume in volumes),
    )


def fitting(
    stairs: Staircase, tasks: int, *, mode: Mode = "greedy", tries: int | None = 2, exhaustive: bool = False,
    steps: int = 16,
) -> AreaLayout:  # fmt: skip
    """Return the scheme of at most `tasks` tasks with the least input of the fullest.

    Chains take milliseconds, so bisection looks for the smallest memory with them; then Algorithm 2 tries to do better.
    """
    total = float(stairs.rows.sum() + stairs.columns.sum())
    ends = np.concatenate([[0.0], np.cumsum(stairs.columns)])
    cells = float(stairs.rows @ (ends[stairs.end] - ends[stairs.begin]))
    # Below the first no scheme holds all tuples or covers all result cells; the second is a single task's.
    low, high = max(total / tasks, 2 * math.sqrt(cells / tasks)), max(total, 1.0)
    enough = low * (1 + _NEAR)
    best = _layout(stairs, chain(stairs, high)[1], high, exhaustive)
    for _ in range(steps):
        if high - low < 0.005 * low or best.fullest <= enough:
            break
        middle = (low + high) / 2
        made = _layout(stairs, chain(stairs, middle)[1], middle, exhaustive)
        if made.tasks <= tasks:
            best, high = (made, middle) if made.fullest <= best.fullest else (best, middle)
        else:
            low = middle
    memory = 0.98 * high
    for _ in range(3):
        if best.fullest <= enough:
            break
        made = generate(stairs, memory, mode=mode, tries=tries, exhaustive=exhaustive)
        if made.tasks > tasks or made.fullest >= best.fullest:
            break
        best, memory = made, 0.96 * memory
    return best


def place(
    layout: AreaLayout, before: Sequence[Area], mass: Mass, tasks: int, pairing: Pairing = "greedy"
) -> tuple[Area, ...]:
    """Lay the areas out beside those before: divisions aligned to the area they share most with, tasks by Algorithm 4."""
    areas, start = [], 0
    for left, right, shape in zip(layout.left, layout.right, layout.shapes, strict=True):
        nearest = max(before, key=lambda area: _shared(area, left, right, mass), default=None)
        areas.append(lay(shape, left, right, tuple(range(start, start + shape.tasks)), nearest))
        start += shape.tasks
    return assign(before, areas, mass, tasks, pairing)


def _shared(area: Area, left: tuple[int, int], right: tuple[int, int], mass: Mass) -> float:
    total = 0.0
    for side, (low, high) in (("left", left), ("right", right)):
        own = area.keys("left" if side == "left" else "right")
        least, most = max(own[0], low), min(own[1], high)
        total += mass("left" if side == "left" else "right", least, most) if least <= most else 0.0
    return total
