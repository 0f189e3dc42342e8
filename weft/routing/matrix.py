"""The join matrix: a left tuple draws a row, a right tuple a column, and every pair meets in one cell, whatever θ is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.routing.plan import Plan, draw_of
from weft.types import U32, Bools, Side, Words

__all__ = ["MatrixPlan", "best_shape"]


def best_shape(tasks: int, left: float = 1.0, right: float = 1.0) -> tuple[int, int]:
    """Return the rows and columns with the least input per task, `left / rows + right / columns`.

    Not every task need be used: 7 tasks do better as 2 x 3 than as 1 x 7.

    >>> best_shape(7), best_shape(4), best_shape(1), best_shape(4, left=100, right=1)
    ((2, 3), (2, 2), (1, 1), (4, 1))
    """
    shapes = [(rows, tasks // rows) for rows in range(1, tasks + 1)]
    return min(shapes, key=lambda shape: (left / shape[0] + right / shape[1], shape))


@dataclass(frozen=True)
class MatrixPlan(Plan):
    """`rows x columns` cells; cell (i, j) is task `i * columns + j`; a row is an interval of `u`."""

    scheme: ClassVar[str] = "matrix"

    rows: int = 1
    columns: int = 1

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        task = np.arange(self.tasks)[:, None]
        used = task < self.rows * self.columns
        if side == "left":
            return np.asarray((task // self.columns == draw_of(u, self.rows)[None, :]) & used)
        return np.asarray((task % self.columns == draw_of(u, self.columns)[None, :]) & used)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return self.store(side, words, u)

    def adapt(self, tasks: int) -> Plan:
        return MatrixPlan(tasks, *best_shape(tasks))

    def copies(self) -> tuple[float, float]:
        return float(self.columns), float(self.rows)

    def lookups(self) -> tuple[float, float]:
        return self.copies()
