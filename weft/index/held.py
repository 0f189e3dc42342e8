"""A run as an index holds it: with its sorted keys and, once asked for, its directories.

All of it derives from the run and none of it is saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from weft.index.layout import Layout
from weft.index.lines import counts_from
from weft.index.run import Run
from weft.kernels.directory import directory_of
from weft.kernels.packed import Frame, Packed, pack, pack_by
from weft.kernels.search import Fences, fences_of
from weft.types import Rows, Words, columns_at

__all__ = ["Held"]


@dataclass(eq=False)
class Held:
    """A run and what speeds up its probes.

    A column's zone bounds its words: a term that no word, or every word, of the zone satisfies is decided once for the
    whole run.
    """

    run: Run
    layout: Layout
    made: tuple[Words, ...] | None = None
    """The sorted key columns, when whoever made the run had them at hand."""
    packed: Packed | None = None
    """The one key column packed with the rows, once somebody asked for that."""
    _zones: dict[int, tuple[int, int]] = field(default_factory=dict)
    _counts: dict[int, int | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.run)

    @cached_property
    def keys(self) -> tuple[Words, ...]:
        """Return the columns of the layout in index order."""
        if self.made is None and self.packed is not None:
            return (self.packed.keys,)
        return self.run.sorted_by(self.layout.columns) if self.made is None else self.made

    @cached_property
    def in_order(self) -> tuple[Words, Rows]:
        """Return all words in index order, and the positions they then have: for checks of many candidates."""
        return columns_at(self.run.words, self.run.row), np.arange(len(self.run), dtype=np.int32)

    def pack(self, frame: Frame) -> Packed:
        """Return the keys packed in that frame; it must hold them."""
        if self.packed is None or self.packed.frame != frame:
            if self.made is None and self.packed is None and "keys" not in self.__dict__:
                self.packed = pack_by(self.run.column(self.layout.columns[0]), self.run.row, frame)
            else:
                self.packed = pack(self.leading, self.run.row, frame)
        return self.packed

    def zone(self, column: int) -> tuple[int, int]:
        """Return the least and the greatest word of a column."""
        if column not in self._zones:
            self._zones[column] = _around([part.limits[column] for part in self.run.parts])
        return self._zones[column]

    def counts_from(self, column: int) -> int | None:
        """Return the first word if the column counts up by one row by row, as row numbers do; else None.

        Then the word of a row follows from the row: checking it needs no look at the words.
        """
        if column not in self._counts:
            low, high = self.zone(column)
            next_word = low if high - low == self.run.rows - 1 else None
            for part in self.run.parts:
                if next_word is None or not counts_from(part, column, next_word):
                    next_word = None
                    break
                next_word += len(part)
            self._counts[column] = None if next_word is None else low
        return self._counts[column]

    def inherit(self, merged: Sequence[Held]) -> None:
        """Learn what is known of the runs that were merged into this one, oldest first; only oldest rows may be gone."""
        for column, first in merged[0]._counts.items():
            end = first
            for each in merged:
                end = None if end is None or each.counts_from(column) != end else end + each.run.rows
            if end is not None:
                self._counts[column], self._zones[column] = end - self.run.rows, (end - self.run.rows, end - 1)
        if self.run.rows == sum(each.run.rows for each in merged):
            for column in merged[0]._zones.keys() - self._zones.keys():
                self._zones[column] = _around([each.zone(column) for each in merged])

    @cached_property
    def leading(self) -> Words:
        """Return the column that the run is sorted by first."""
        return self.keys[0]

    @cached_property
    def fences(self) -> Fences:
        """Return the upper levels of the tree over the leading words."""
        return fences_of(self.leading)

    @cached_property
    def directory(self) -> Rows:
        """Return the hash directory of the equality word."""
        return directory_of(self.leading)


def _around(zones: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the zone around one or several."""
    return zones[0] if len(zones) == 1 else (min(low for low, _ in zones), max(high for _, high in zones))
