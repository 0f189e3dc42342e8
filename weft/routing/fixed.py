"""Schemes whose plan never changes: hash for equal keys; matrix, broadcast and split for any condition.

In a matrix, a left tuple draws a row and a right tuple a column, and every pair meets in one cell. Its two extremes store
every tuple on every task and probe one (broadcast, BCHJ of the STA paper, 000-31), or store a tuple once and probe all tasks
(split join, 000-32; round robin of 002-05). Hash partitioning stores a tuple on one task and probes one task, but a hot key
overloads its task.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from weft.errors import SpecError
from weft.routing.conditions import Need
from weft.routing.plan import Plan, draw_of, hash_home, owned
from weft.routing.regions import Regions
from weft.routing.scheme import SCHEMES, Scheme
from weft.spec import JoinSpec
from weft.spec.options import check_count
from weft.types import U32, Bools, Side, Words

__all__ = ["Broadcast", "BroadcastPlan", "Hash", "HashPlan", "Matrix", "MatrixPlan", "Split", "SplitPlan", "best_shape"]


@dataclass(frozen=True)
class HashPlan(Plan):
    """The task is a hash of the equality word."""

    scheme: ClassVar[str] = "hash"

    left: int = 0
    right: int = 0

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        return owned(hash_home(words[self.left if side == "left" else self.right], self.tasks), self.tasks)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return self.store(side, words, u)

    def regions(self, side: Side, *, first: bool = False) -> Regions | None:
        del first
        return Regions.by_hash((self.left if side == "left" else self.right,), self.tasks)

    def keeps_whole(self, side: Side) -> bool:
        return True

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        return 1.0, 1.0

    def lookups(self) -> tuple[float, float]:
        return 1.0, 1.0


@SCHEMES.register
@dataclass(frozen=True)
class Hash(Scheme):
    """Hash partitioning: equal keys go to one task."""

    name: ClassVar[str] = "hash"
    needs = (Need.EQUALITY,)
    adapts = False

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        assert spec.access.equal is not None
        return HashPlan(tasks, *spec.access.equal)


def best_shape(tasks: int, left: float = 1.0, right: float = 1.0) -> tuple[int, int]:
    """Return the rows and columns with the least input per task, `left / rows + right / columns`.

    Not every task need be used: 7 tasks do better as 2 x 3 than as 1 x 7.

    >>> best_shape(7), best_shape(4), best_shape(1), best_shape(4, left=100, right=1)
    ((2, 3), (2, 2), (1, 1), (4, 1))
    """
    shapes = [(rows, tasks // rows) for rows in range(1, tasks + 1)]
    return min(shapes, key=lambda shape: (left / shape[0] + right / shape[1], shape))


def shape_for(preserved: tuple[Side, ...], tasks: int) -> tuple[int, int]:
    """Return the rows and columns that keep the tuples of preserved sides whole: one column, one row, or a single cell.

    >>> shape_for((), 4), shape_for(("left",), 4), shape_for(("right",), 4), shape_for(("left", "right"), 4)
    ((2, 2), (4, 1), (1, 4), (1, 1))
    """
    if not preserved:
        return best_shape(tasks)
    return tasks if "right" not in preserved else 1, tasks if "left" not in preserved else 1


@dataclass(frozen=True)
class MatrixPlan(Plan):
    """`rows x columns` cells; cell (i, j) is task `i * columns + j`; a row is an interval of `u`.

    `preserved` are the sides whose tuples must stay whole, whatever the number of tasks.
    """

    scheme: ClassVar[str] = "matrix"

    rows: int = 1
    columns: int = 1
    preserved: tuple[Side, ...] = ()

    @staticmethod
    def of(spec: JoinSpec, tasks: int) -> MatrixPlan:
        """Return the best matrix for a join of which nothing is known yet."""
        return MatrixPlan(tasks, *shape_for(spec.kind.preserved, tasks), spec.kind.preserved)

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        task = np.arange(self.tasks)[:, None]
        used = task < self.rows * self.columns
        if side == "left":
            return np.asarray((task // self.columns == draw_of(u, self.rows)[None, :]) & used)
        return np.asarray((task % self.columns == draw_of(u, self.columns)[None, :]) & used)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return self.store(side, words, u)

    def regions(self, side: Side, *, first: bool = False) -> Regions | None:
        task = np.arange(self.rows * self.columns)
        row, column = task // self.columns, task % self.columns
        found = Regions.by_draw(task, row, self.rows) if side == "left" else Regions.by_draw(task, column, self.columns)
        return found.having((column if side == "left" else row) == 0) if first else found

    def keeps_whole(self, side: Side) -> bool:
        return (self.columns if side == "left" else self.rows) == 1

    def describe(self) -> str:
        return f"a matrix of {self.rows} x {self.columns} tasks"

    def adapt(self, tasks: int) -> Plan:
        return MatrixPlan(tasks, *shape_for(self.preserved, tasks), self.preserved)

    def copies(self) -> tuple[float, float]:
        return float(self.columns), float(self.rows)

    def lookups(self) -> tuple[float, float]:
        return self.copies()


@SCHEMES.register
@dataclass(frozen=True)
class Matrix(Scheme):
    """A matrix of tasks; tuples draw a row or column. Serves any condition. By default, the best shape for equal volumes."""

    name: ClassVar[str] = "matrix"
    adapts = False

    rows: int | None = None
    columns: int | None = None

    def __post_init__(self) -> None:
        for name, count in (("rows", self.rows), ("columns", self.columns)):
            if count is not None:
                check_count(name, count, f"{name} of the matrix", "leave the shape to Weft, or give whole numbers.")

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        if self.rows is None and self.columns is None:
            return MatrixPlan.of(spec, tasks)
        rows = self.rows or tasks // (self.columns or 1)
        columns = self.columns or tasks // (self.rows or 1)
        if rows < 1 or columns < 1 or rows * columns > tasks:
            rows, columns = max(rows, 1), max(columns, 1)
            raise SpecError.of(
                f"A matrix of {rows} rows and {columns} columns needs {rows * columns} tasks.",
                f"There are {tasks}.",
                "give tasks= at least rows * columns, or leave the shape to Weft.",
            )
        return MatrixPlan(tasks, rows, columns, spec.kind.preserved)


@dataclass(frozen=True)
class BroadcastPlan(Plan):
    """Store on all tasks, look up on the one that `u` draws."""

    scheme: ClassVar[str] = "broadcast"

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        return np.ones((self.tasks, len(u)), np.bool_)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return owned(draw_of(u, self.tasks), self.tasks)

    def regions(self, side: Side, *, first: bool = False) -> Regions | None:
        del side
        return Regions.of(range(1 if first else self.tasks))

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        return float(self.tasks), float(self.tasks)

    def lookups(self) -> tuple[float, float]:
        return 1.0, 1.0


@SCHEMES.register
@dataclass(frozen=True)
class Broadcast(Scheme):
    """Stores every tuple on every task and probes one."""

    name: ClassVar[str] = "broadcast"
    adapts = False

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        return BroadcastPlan(tasks)


@dataclass(frozen=True)
class SplitPlan(Plan):
    """Store on the task that `u` draws, look up on all."""

    scheme: ClassVar[str] = "split"

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        return owned(draw_of(u, self.tasks), self.tasks)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return np.ones((self.tasks, len(u)), np.bool_)

    def regions(self, side: Side, *, first: bool = False) -> Regions | None:
        del side, first
        return Regions.by_draw(np.arange(self.tasks), np.arange(self.tasks), self.tasks)

    def describe(self) -> str:
        return "each row is stored on one random task, and all tasks are probed"

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        return 1.0, 1.0

    def lookups(self) -> tuple[float, float]:
        return float(self.tasks), float(self.tasks)


@SCHEMES.register
@dataclass(frozen=True)
class Split(Scheme):
    """Stores a tuple on one task and probes all."""

    name: ClassVar[str] = "split"
    adapts = False

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        return SplitPlan(tasks)
