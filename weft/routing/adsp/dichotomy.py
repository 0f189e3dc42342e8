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

The matrix is compressed: key intervals of both streams, their volumes, and where results can lie. Rows and columns are intervals
of the whole word space, so every key that will ever come has a place. A cell counts as a result cell when *some* pair of words in
it can satisfy the term; by monotonicity (001-18) the result cells of a row are one run of columns, and both ends of the runs only
grow: a staircase. Being conservative about unseen keys is what makes a scheme that was made from a sample exact for all tuples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.kernels.adsp_areas import chain_cuts
from weft.routing.adsp.notes import Histogram
from weft.routing.adsp.varietal import task_counts
from weft.routing.range import reach
from weft.spec import Op, Term
from weft.types import WORD_MAX, WORD_MIN, Words

__all__ = ["Mode", "Rectangle", "Staircase", "chain", "partition", "worst_case"]

Ints = NDArray[np.int64]

NONE = (WORD_MAX, WORD_MIN)
"""The interval of no keys: an area that only covers columns nothing can join, or rows."""


@dataclass(frozen=True, eq=False)
class Staircase:
    """Row `i` has result cells in columns `begin[i]` up to, not including, `end[i]`; both never fall.

    `row_cuts` and `column_cuts` are the least words of all rows and columns but the first.
    """

    rows: NDArray[np.float64]
    columns: NDArray[np.float64]
    begin: Ints
    end: Ints
    row_cuts: Words
    column_cuts: Words

    @staticmethod
    def of(term: Term, left: Histogram, right: Histogram, size: int) -> Staircase:
        """Make the matrix of about `size` rows and columns from the key histograms of both streams."""
        if term.op is Op.EQ:  # common cuts: the staircase is then the diagonal
            both = Histogram.merged([left, right]).cuts(size)
            row_cuts, column_cuts = both, both
        else:
            row_cuts, column_cuts = left.cuts(size, gaps=True), right.cuts(size, gaps=True)
        begin, end = _results(term, row_cuts, column_cuts)
        return Staircase(_volumes(left, row_cuts), _volumes(right, column_cuts), begin, end, row_cuts, column_cuts)

    @staticmethod
    def whole(left: float, right: float) -> Staircase:
        """Return the matrix without an order, one cell that may hold results: what `!=` and any θ come to (001-18)."""
        one, none = np.ones(1, np.int64), np.zeros(0, np.int64)
        return Staircase(np.array([left]), np.array([right]), 0 * one, one, none, none)

    @staticmethod
    def of_sample(term: Term, left: Words, right: Words) -> Staircase:
        """Return the full sample matrix: one row and column per distinct sampled key."""
        return Staircase.of(term, Histogram.of(left), Histogram.of(right), max(len(left), len(right), 1))

    def compress(self, size: int) -> Staircase:
        """Return a matrix of about `size` rows and columns, neighbours added up, heavy ones alone (001-27)."""
        by_row, by_column = _grouped(self.rows, size), _grouped(self.columns, size)
        starts, lasts = _edges(by_row)
        group = np.append(by_column, by_column[-1] + 1)
        column_starts, _ = _edges(by_column)
        # The first row of a group begins first, the last one ends last; a run's end is the group of its last column.
        begin = group[self.begin[starts]]
        ended = self.end[lasts]
        end = np.where(ended > 0, group[np.maximum(ended - 1, 0)] + 1, 0)
        return Staircase(
            _added(by_row, self.rows), _added(by_column, self.columns), begin, end,
            self.row_cuts[starts[1:] - 1], self.column_cuts[column_starts[1:] - 1],
        )  # fmt: skip

    def row_words(self, first: int, after: int) -> tuple[int, int]:
        """Return the least and the greatest word of the rows `first .. after - 1`."""
        return _span(self.row_cuts, first, after)

    def column_words(self, first: int, after: int) -> tuple[int, int]:
        """Return the least and the greatest word of some columns."""
        return _span(self.column_cuts, first, after)


def _span(cuts: Words, first: int, after: int) -> tuple[int, int]:
    if first >= after:
        return NONE
    return int(cuts[first - 1]) if first else WORD_MIN, int(cuts[after - 1]) - 1 if after <= len(cuts) else WORD_MAX


def _volumes(side: Histogram, cuts: Words) -> NDArray[np.float64]:
    return np.bincount(np.searchsorted(cuts, side.keys, side="right"), side.weights, len(cuts) + 1).astype(np.float64)


def _results(term: Term, row_cuts: Words, column_cuts: Words) -> tuple[Ints, Ints]:
    """Find the columns that the words of each row can reach.

    What a word reaches moves up with the word, so the first word of a row tells the least and the last word the greatest
    that the row reaches. A word that reaches nothing (infinities in a float band) leaves it to its neighbours.
    """
    first = np.concatenate([[WORD_MIN], row_cuts]).astype(np.int64)
    last = np.concatenate([row_cuts - 1, [WORD_MAX]]).astype(np.int64)
    words = np.zeros((term.left + 1, len(first)), np.int64)
    words[term.left] = first
    least, _, alive = reach(term, words)
    floor = np.maximum.accumulate(np.where(alive, least, WORD_MIN))
    words[term.left] = last
    _, most, alive = reach(term, words)
    ceiling = np.minimum.accumulate(np.where(alive, most, WORD_MAX)[::-1])[::-1]
    begin = np.searchsorted(column_cuts, floor, side="right")
    end = np.searchsorted(column_cuts, ceiling, side="right") + 1
    return begin.astype(np.int64), np.maximum(end, begin).astype(np.int64)


def _added(group: Ints, volumes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(group, volumes).astype(np.float64)


def _grouped(volumes: NDArray[np.float64], size: int) -> Ints:
    if len(volumes) <= size:
        return np.arange(len(volumes))
    return Histogram(np.arange(len(volumes)), volumes).groups(size)


def _edges(group: Ints) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the first and the last member of each group."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return starts, np.append(starts[1:], len(group)) - 1


Mode: TypeAlias = Literal["greedy", "dp"]
Rectangle: TypeAlias = tuple[int, int, int, int]
"""First row, row after the last, first column, column after the last."""


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
