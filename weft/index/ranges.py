"""The ranges that the rows of a probe search: in search order, and in the words of whoever is searched."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from weft.kernels.packed import Frame, pack_ends
from weft.types import Rows, Words

__all__ = ["Ranges"]


@dataclass(frozen=True)
class Ranges:
    """Probe rows in search order, with the range of each; rows that can have no partner are left out.

    A range is `[low + least, high + most]`; no end leaves the domain. It is made of these when it is asked for: packed
    ends are made without the plain ones.
    """

    rows: Rows
    equal: Words
    low: Words
    high: Words
    least: int = 0
    most: int = 0
    _packed: dict[Frame, tuple[Words, Words]] = field(default_factory=dict)

    @cached_property
    def lo(self) -> Words:
        """Return the lower ends, ascending."""
        return self.low + self.least if self.least else self.low

    @cached_property
    def hi(self) -> Words:
        """Return the upper ends."""
        return self.high + self.most if self.most else self.high

    def packed(self, frame: Frame) -> tuple[Words, Words]:
        """Return both ends as words of a frame."""
        if frame not in self._packed:
            self._packed[frame] = pack_ends(self.low, self.high, self.least, self.most, frame)
        return self._packed[frame]
