"""Algorithm 2: cut the ordered matrix into coverage areas by dichotomies, so that Algorithm 1 needs the fewest tasks.

A dichotomy (Def. 5) takes from an area a top left and a bottom right part that are disjoint and together hold all its
result cells, rows and columns. Read as printed, Algorithm 2 never collects what its recursion finds; here it is a
memoised recursion that returns the count and the areas (001-22), with Def. 6's sign the right way round (001-21):

- `greedy` follows a split only if it gains at once, line 7;
- `dp` follows every split: Eq. 14, the optimum over dichotomies (001-24).

"Covers the area" means its result cells and every row and column (001-23). Of all splits at a row or a column only the
tight ones are tried: growing a part adds tuples to it and nothing else. Bounds cut the search, not the result: a task
holds V tuples and covers at most (V/2)^2 cells (Theorem 1), so an area needs at least that many.

A *chain* is a special case: Eq. 14 with N(ca^d) in place of N_AD(ca^d), dichotomies that leave their top left part whole. It
needs one pass over the corners of the staircase instead of all rectangles. With a narrow staircase and many tasks, areas are a
row of small squares along the diagonal, and what counts is where exactly to cut: on a matrix of 256 rows that takes
milliseconds, and one of 48 is too coarse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.kernels.adsp_areas import chain_cuts
from weft.routing.adsp.staircase import Staircase
from weft.routing.adsp.varietal import task_counts

__all__ = ["Mode", "Rectangle", "chain", "partition", "worst_case"]

Mode: TypeAlias = Literal["greedy", "dp"]
Rectangle: TypeAlias = tuple[int, int, int, int]
"""First row, row after the last, first column, column after the last."""

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class _Found:
    tasks: int
    areas: tuple[Rectangle, ...]


def partition(
    stairs: Staircase, memory: float, *, mode: Mode = "greedy", tries: int | None = None
) -> tuple[int, tuple[Rectangle, ...]]:  # fmt: skip
    """Return the number of tasks and the areas from top left to bottom right.

    `tries` follows no more than that many splits of an area, the most promising first; None follows all.
    """
    return _Search(stairs, memory, mode, tries).run()


def worst_case(rows: int, columns: int) -> float:
    """Return Theorem 4's bound on tasks over the least possible, for an area of `rows x columns` tasks (001-26)."""
    return rows * columns / (rows * columns - rows - columns + 3)


class _Search:
    """One run of Algorithm 2 over one matrix; the memo is all its state."""

    def __init__(self, stairs: Staircase, memory: float, mode: Mode, tries: int | None) -> None:
        self.memory, self.mode, self.tries = memory, mode, tries
        self.begin, self.end = stairs.begin, stairs.end
        self.left = np.concatenate([[0.0], np.cumsum(stairs.rows)])
        self.right = np.concatenate([[0.0], np.cumsum(stairs.columns)])
        columns = np.arange(len(stairs.columns) + 1)
        # The rows that have results in or right of a column begin here; those in or left of the column before it end here.
        self.first_row = np.searchsorted(stairs.end, columns, side="right")
        self.after_row = np.concatenate([[0], np.searchsorted(stairs.begin, columns[:-1], side="right")])
        self.cells = np.concatenate([[0.0], np.cumsum(stairs.rows * (self.right[self.end] - self.right[self.begin]))])
        self.memo: dict[Rectangle, _Found] = {}

    def run(self) -> tuple[int, tuple[Rectangle, ...]]:
        whole = (0, len(self.left) - 1, 0, len(self.right) - 1)
        found = self.best(whole)
        return found.tasks, found.areas

    def best(self, area: Rectangle) -> _Found:
        """Return N_AD of an area (Eq. 14)."""
        if area in self.memo:
            return self.memo[area]
        found = _Found(int(self.counts(np.array([area]))[0]), (area,))
        least = int(self.bounds(np.array([area]))[0])
        if found.tasks > least:
            found = self.split(area, found, least)
        self.memo[area] = found
        return found

    def split(self, area: Rectangle, found: _Found, least: int) -> _Found:
        upper, lower = self.dichotomies(area)
        if not len(upper):
            return found
        together = self.counts(upper) + self.counts(lower)
        hope = self.bounds(upper) + self.bounds(lower)
        follow = hope < found.tasks
        if self.mode == "greedy":
            follow &= together < found.tasks  # line 7
        order = np.lexsort(
            (np.arange(len(hope)), hope, together) if self.tries else (np.arange(len(hope)), together, hope)
        )
        order = order[follow[order]][: self.tries]
        for at in order:
            if hope[at] >= found.tasks:
                continue
            one, two = self.best(_rectangle(upper[at])), self.best(_rectangle(lower[at]))
            if one.tasks + two.tasks < found.tasks:
                found = _Found(one.tasks + two.tasks, one.areas + two.areas)
            if found.tasks == least:
                break
        return found

    def dichotomies(self, area: Rectangle) -> tuple[Ints, Ints]:
        """Return the tight splits as two arrays of rectangles, top left and bottom right."""
        r0, r1, c0, c1 = area
        row = np.arange(r0 + 1, r1)
        ends, begins = np.clip(self.end[row - 1], c0, c1), np.clip(self.begin[row], c0, c1)
        column = np.arange(c0 + 1, c1)
        row_ends = np.clip(self.after_row[column], r0, r1)
        row_begins = np.clip(self.first_row[column], r0, r1)
        # Columns between two parts hold no result, but Def. 3 wants them covered: by the one part or by the other.
        gap, row_gap = begins > ends, row_begins > row_ends
        one = _stack(
            (r0, row, c0, np.maximum(ends, begins)), (r0, row[gap], c0, ends[gap]),
            (r0, np.maximum(row_ends, row_begins), c0, column), (r0, row_ends[row_gap], c0, column[row_gap]),
        )  # fmt: skip
        two = _stack(
            (row, r1, begins, c1), (row[gap], r1, ends[gap], c1),
            (row_begins, r1, column, c1), (row_ends[row_gap], r1, column[row_gap], c1),
        )  # fmt: skip
        # A split that covers every cell again gains only where Algorithm 1 needs fewer tasks for more tuples (001-15).
        most = (r1 - r0) * (c1 - c0) - (self.mode == "greedy")
        smaller = _size(one) + _size(two) <= most
        return one[smaller], two[smaller]

    def counts(self, areas: Ints) -> NDArray[np.int64]:
        left, right = self.volumes(areas)
        return task_counts(left, right, self.memory)

    def volumes(self, areas: Ints) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r0, r1, c0, c1 = areas.T
        return self.left[r1] - self.left[r0], self.right[c1] - self.right[c0]

    def bounds(self, areas: Ints) -> NDArray[np.int64]:
        """Return a number of tasks that no scheme of the area can go below."""
        left, right = self.volumes(areas)
        r0, r1, c0, c1 = areas.T
        # Result cells of these rows, less those that lie left or right of the area (an underestimate is still a bound).
        outside = left * (
            self.right[np.minimum(c0, self.end[np.maximum(r1 - 1, 0)])]
            - self.right[self.begin[np.minimum(r0, len(self.begin) - 1)]]
        ).clip(0) + left * (self.right[self.end[np.maximum(r1 - 1, 0)]] - self.right[c1]).clip(0)
        inside = np.maximum(self.cells[r1] - self.cells[r0] - outside, 0.0)
        by_memory, by_cells = (left + right) / self.memory, inside / (self.memory / 2) ** 2
        return np.maximum(np.ceil(np.maximum(by_memory, by_cells) * (1 - 1e-9)), 1).astype(np.int64)


def _stack(*parts: tuple[int | Ints, int | Ints, int | Ints, int | Ints]) -> Ints:
    sizes = [max(np.size(edge) if isinstance(edge, np.ndarray) else 0 for edge in part) for part in parts]
    made = np.empty((sum(sizes), 4), np.int64)
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        for at, edge in enumerate(part):
            made[start : start + size, at] = edge
        start += size
    return made


def _size(areas: Ints) -> Ints:
    return (areas[:, 1] - areas[:, 0]) * (areas[:, 3] - areas[:, 2])


def _rectangle(area: Ints) -> Rectangle:
    r0, r1, c0, c1 = (int(edge) for edge in area)
    return r0, r1, c0, c1


def chain(stairs: Staircase, memory: float) -> tuple[int, tuple[Rectangle, ...]]:
    """Return the number of tasks and the areas of the best chain."""
    columns = np.arange(len(stairs.columns) + 1)
    tasks, areas = chain_cuts(
        np.concatenate([[0.0], np.cumsum(stairs.rows)]),
        np.concatenate([[0.0], np.cumsum(stairs.columns)]),
        stairs.begin.astype(np.int64),
        stairs.end.astype(np.int64),
        np.searchsorted(stairs.end, columns, side="right").astype(np.int64),
        np.concatenate([[0], np.searchsorted(stairs.begin, columns[:-1], side="right")]).astype(np.int64),
        float(memory),
    )
    return int(tasks), tuple((int(r0), int(r1), int(c0), int(c1)) for r0, r1, c0, c1 in areas)
