"""Algorithm 1: cut one area of the tuple matrix into the fewest task areas that hold at most V tuples each.

A *varietal* matrix is a regular one of `rows x columns` cells with, perhaps, one shorter line of `extra` cells. The
primary stream P is cut into P_γ equal parts; the secondary stream D fills what memory is left, `V - |P| / P_γ` a line;
what remains of it, D^L, makes the shorter line, on which P is cut anew into P_δ parts (Eqs. 10 to 13; 001-08, 001-09).

Guards that the paper leaves out (001-14): a P_γ of 0 and a line without room for D are skipped; without a full line
(D_γ^f = 0) the extra cells are the matrix; P_δ = P_γ is one more full line. Theorem 2's optimality does not hold
(001-15), so `exhaustive=True` tries every P_γ. The equations are `weft.kernels.adsp_areas.area_shape`: the search for areas asks
them millions of times. Here candidates are compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.errors import SpecError
from weft.kernels.adsp_areas import area_shape, area_task_counts

__all__ = ["Along", "Varietal", "regular_tasks", "task_counts", "varietal"]

Along: TypeAlias = Literal["none", "row", "column"]
"""Where the extra cells stand: `column` when the left stream (rows) is primary, `row` when the right one is."""

_CLOSE = 1e-9
"""Quotients this near to an integer are that integer: 7 / 3.5 must not need three lines."""

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Varietal:
    """`<α, β, P_δ, +>`: rows, columns, extra cells and their place; `rest` is the share of D on the extra line."""

    rows: int
    columns: int
    extra: int = 0
    along: Along = "none"
    rest: float = 0.0

    @property
    def tasks(self) -> int:
        """Return N_o, the number of cells (Eq. 13)."""
        return self.rows * self.columns + self.extra

    def loads(self, left: float, right: float) -> tuple[float, float]:
        """Return the input of a regular and of an extra cell (0 without extra cells), for balanced draws."""
        if not self.extra:
            return left / self.rows + right / self.columns, 0.0
        primary, lines, secondary = self._roles(left, right)
        parts = self.rows if self.along == "column" else self.columns
        return (
            primary / parts + (1 - self.rest) * secondary / lines,
            primary / self.extra + self.rest * secondary,
        )

    def memory(self, left: float, right: float) -> float:
        """Return C_m, the tuples of all cells together (Eq. 1, states of size 1)."""
        regular, extra = self.loads(left, right)
        return regular * self.rows * self.columns + extra * self.extra

    def balanced(self, left: float, right: float) -> Varietal:
        """Return the same cells with `rest` chosen so that regular and extra cells carry the same.

        The paper fills the regular lines to V and leaves the remainder to the extra line; the same number of tasks can
        share evenly, and no task then holds more than before.
        """
        if not self.extra:
            return self
        primary, lines, secondary = self._roles(left, right)
        parts = self.rows if self.along == "column" else self.columns
        if secondary <= 0:
            return self
        even = (primary / parts - primary / self.extra + secondary / lines) / (1 + 1 / lines)
        return replace(self, rest=min(max(even / secondary, 0.0), 1.0))

    def _roles(self, left: float, right: float) -> tuple[float, int, float]:
        """Return |P|, the full lines of D, and |D|."""
        return (left, self.columns, right) if self.along == "column" else (right, self.rows, left)


def regular_tasks(left: float, right: float, memory: float) -> int:
    """Return N of Eq. 9: square cells of V/2 by V/2 (Theorem 1, 001-07).

    >>> regular_tasks(6, 6, 10)
    4
    """
    return _up(2 * left / memory) * _up(2 * right / memory)


def varietal(left: float, right: float, memory: float, *, exhaustive: bool = False) -> Varietal:
    """Return the varietal matrix with the fewest tasks; of equal ones that with the least memory, then the first.

    >>> varietal(9, 7, 10)
    Varietal(rows=1, columns=2, extra=1, along='row', rest=0.277...)
    >>> varietal(6, 6, 10)
    Varietal(rows=2, columns=1, extra=0, along='none', rest=0.0)
    """
    if not memory > 0:
        raise SpecError.of(
            f"memory={memory!r} is not valid.", "It is the number of tuples a task may hold.", "give more than 0."
        )
    if left <= 0 or right <= 0:  # nothing to multiply: the one stream is just spread
        return Varietal(max(1, _up(left / memory)), max(1, _up(right / memory)))
    found: list[Varietal] = []
    for along, primary, secondary in (("column", left, right), ("row", right, left)):
        for parts in _parts(primary, memory, exhaustive, min((one.tasks for one in found), default=None)):
            one = _of(primary, secondary, parts, memory, "column" if along == "column" else "row")
            found += [] if one is None else [one]
    return min(found, key=lambda one: (one.tasks, one.memory(left, right)))


def _parts(primary: float, memory: float, exhaustive: bool, best: int | None) -> list[int]:
    """Return the P_γ to try (Alg. 1 line 1); all that could still win when `exhaustive`."""
    up, down = _up(2 * primary / memory), _down(2 * primary / memory)
    if not exhaustive:
        return [up, down]
    return [up, *range(1, max(up, best or 2 * up) + 1)]


def _of(primary: float, secondary: float, parts: int, memory: float, along: Along) -> Varietal | None:
    """Return the matrix of one P_γ, None where it has no room (001-14)."""
    used, lines, extra, rest = area_shape(float(primary), float(secondary), float(parts), float(memory))
    if not used:
        return None
    turned = _turned(int(used), int(lines), along)
    return replace(turned, extra=int(extra), along=along, rest=rest / secondary) if extra else turned


def _turned(parts: int, lines: int, along: Along) -> Varietal:
    """Alg. 1 lines 2 to 5: the primary stream's parts are rows when it is the left one."""
    return Varietal(parts, lines) if along == "column" else Varietal(lines, parts)


def task_counts(left: Floats, right: Floats, memory: float) -> Counts:
    """Return N_o of many areas at once: Algorithm 1, four candidates each."""
    return area_task_counts(left, right, float(memory))


def _up(value: float) -> int:
    return math.ceil(value * (1 - _CLOSE))


def _down(value: float) -> int:
    return math.floor(value * (1 + _CLOSE))
