"""The ordered tuple matrix, compressed: key intervals of both streams, their volumes, and where results can lie.

Rows and columns are intervals of the whole word space, so every key that will ever come has a place. A cell counts as a
result cell when *some* pair of words in it can satisfy the term; by monotonicity (001-18) the result cells of a row are
one run of columns, and both ends of the runs only grow: a staircase. Being conservative about unseen keys is what makes
a scheme that was made from a sample exact for all tuples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.routing.adsp.histogram import Histogram
from weft.routing.range import reach
from weft.spec import Op, Term
from weft.types import WORD_MAX, WORD_MIN, Words

__all__ = ["Staircase"]

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
