"""A run as an index holds it: with its zone and, once asked for, its directories.

All of it derives from the run and none of it is saved.
"""

from __future__ import annotations

from dataclasses import dataclass
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

    `low[c]` and `high[c]`, the zone, bound word column `c`: a term that no word, or every word, of the zone satisfies
    is decided once for the whole run.
    """

    run: Run
    layout: Layout

    def __len__(self) -> int:
        return len(self.run)

    @cached_property
    def low(self) -> list[int]:
        """Return the least word of each column."""
        return [int(word) for word in self.run.words.min(axis=1)]

    @cached_property
    def high(self) -> list[int]:
        """Return the greatest word of each column."""
        return [int(word) for word in self.run.words.max(axis=1)]

    @cached_property
    def leading(self) -> Words:
        """Return the column that the run is sorted by first."""
        column: Words = self.run.words[self.layout.columns[0]]
        return column

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
