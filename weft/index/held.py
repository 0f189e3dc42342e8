"""A run as an index holds it: with its zone and, once asked for, its directories.

All of it derives from the run and none of it is saved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from weft.index.layout import Layout
from weft.index.run import Run
from weft.kernels.directory import directory_of
from weft.kernels.radix import Radix, radix_of
from weft.kernels.search import FENCE
from weft.types import Rows, Words

__all__ = ["Held"]


@dataclass(frozen=True)
class Held:
    """A run and what speeds up its probes.

    A column's zone bounds its words: a term that no word, or every word, of the zone satisfies is decided once for the
    whole run.
    """

    run: Run
    layout: Layout
    made: tuple[Words, ...] | None = None
    """The sorted key columns, when whoever made the run had them at hand."""
    _zones: dict[int, tuple[int, int]] = field(default_factory=dict)
    _counts: dict[int, int | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.run)

    @cached_property
    def keys(self) -> tuple[Words, ...]:
        """Return the columns of the layout in index order."""
        return self.run.sorted_by(self.layout.columns) if self.made is None else self.made

    @cached_property
    def in_order(self) -> tuple[Words, Rows]:
        """Return all words in index order, and the positions they then have: for checks of many candidates."""
        return np.ascontiguousarray(self.run.words[:, self.run.row]), np.arange(len(self.run))

    def zone(self, column: int) -> tuple[int, int]:
        """Return the least and the greatest word of a column."""
        if column not in self._zones:
            words = self.run.words[column]
            self._zones[column] = (int(words.min()), int(words.max()))
        return self._zones[column]

    def counts_from(self, column: int) -> int | None:
        """Return the first word if the column counts up by one row by row, as row numbers do; else None.

        Then the word of a row follows from the row: checking it needs no look at the words.
        """
        if column not in self._counts:
            words = self.run.words[column]
            counts = int(words[-1]) - int(words[0]) == len(words) - 1 and bool((np.diff(words) == 1).all())
            self._counts[column] = int(words[0]) if counts else None
        return self._counts[column]

    @cached_property
    def leading(self) -> Words:
        """Return the column that the run is sorted by first."""
        return self.keys[0]

    @cached_property
    def radix(self) -> Radix | None:
        """Return the radix directory of the leading words, None if they are too uneven for one."""
        return radix_of(self.leading)

    @cached_property
    def fences(self) -> Words:
        """Return every `FENCE`-th leading word."""
        return np.ascontiguousarray(self.leading[::FENCE])

    @cached_property
    def directory(self) -> Rows:
        """Return the hash directory of the equality word."""
        return directory_of(self.leading)
