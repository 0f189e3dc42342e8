"""Split keys: a key that no migration can help gets a small matrix of tasks of its own (ours, not the paper's; 003-13).

A left tuple draws a row of the matrix by `u` and goes to all tasks in it, a right tuple draws a column, so each pair meets on
one task. A key that is hot on one side only gets one column (or one row): its many tuples go to one task each, as under a
hash, and the few partners to all. A group of a biclique keeps one side, each tuple of it once: there the matrix always has
one column (or one row), and what arrives asks all of its tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.routing.plan import draw_of
from weft.types import SIDES, U32, Side

__all__ = ["Shape", "Split", "shapes_of"]


class Shape(NamedTuple):
    """Rows and columns of a matrix of tasks. What is said of sides follows the order of `sides`."""

    rows: int
    columns: int

    @property
    def tasks(self) -> int:
        """Return how many tasks it has."""
        return self.rows * self.columns

    def kept_parts(self, sides: Sequence[Side]) -> NDArray[np.int64]:
        """Return into how many parts the kept tuples of each side are cut: a task keeps one of them."""
        return np.array([self.rows if side == "left" else self.columns for side in sides])

    def asked_parts(self, sides: Sequence[Side]) -> NDArray[np.int64]:
        """Return into how many parts those are cut that look among the kept tuples of each side: they are of the other."""
        return np.array([self.columns if side == "left" else self.rows for side in sides])


def shapes_of(tasks: int, sides: Sequence[Side]) -> list[Shape]:
    """Return the matrices of so many tasks, for tasks that keep these sides.

    >>> shapes_of(6, ("left", "right"))
    [Shape(rows=1, columns=6), Shape(rows=2, columns=3), Shape(rows=3, columns=2), Shape(rows=6, columns=1)]
    """
    if len(sides) < len(SIDES):
        return [Shape(tasks, 1) if sides[0] == "left" else Shape(1, tasks)]
    return [Shape(rows, tasks // rows) for rows in range(1, tasks + 1) if tasks % rows == 0]


class Split(NamedTuple):
    """A key and its tasks, row by row of its matrix."""

    key: int
    rows: int
    tasks: tuple[int, ...]

    @property
    def shape(self) -> Shape:
        """Return rows and columns."""
        return Shape(self.rows, len(self.tasks) // self.rows)

    def tasks_of(self, side: Side, u: U32) -> NDArray[np.int64]:
        """Return the tasks that tuples of one side go to: tuples x tasks."""
        grid = np.array(self.tasks, np.int64).reshape(self.shape)
        grid = grid if side == "left" else grid.T
        return np.asarray(grid[draw_of(u, len(grid))])

    def on(self, tasks: Sequence[int]) -> Split:
        """Return the key on other tasks: in one column or row if it was, else in as many rows as still fit."""
        rows, columns = self.shape
        fit = len(tasks) if columns == 1 else gcd(rows, len(tasks))
        return Split(self.key, fit, tuple(tasks))
