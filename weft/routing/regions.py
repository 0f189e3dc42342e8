"""Where a plan keeps rows, as boxes: so that a migration opens only what can hold a row that a task gains.

A box is a task, an interval of one coordinate of the key, and an interval of draws. The coordinate is a word (ranges, areas) or a
hash (hash tables), so that a plan whose rows go by their hash can be compared with another one without looking at a row. Boxes
may be larger than the truth, never smaller. A plan that cannot say where its rows are has none, and everything is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from weft.types import WORD_MAX, WORD_MIN, Bools, Words

__all__ = ["Regions", "draw_cuts"]

_LAST_DRAW = (1 << 32) - 1
_Ints = NDArray[np.int64]


def draw_cuts(parts: int) -> _Ints:
    """Return where the intervals begin into which `draw_of` cuts all draws, and the end of the last one.

    >>> draw_cuts(2).tolist() == [0, 1 << 31, 1 << 32]
    True
    """
    return -(-(np.arange(parts + 1, dtype=np.int64) << 32) // parts)


@dataclass(frozen=True)
class Regions:
    """Boxes, all by the same coordinate: `axis` is ("word", columns) or ("hash", columns), and () where keys do not matter.

    Hashes are those of `hash_home`, as draws. All bounds are inclusive. `exact` boxes are not larger than the truth.
    """

    axis: tuple[str, tuple[int, ...]] | tuple[()]
    task: _Ints
    low: _Ints
    high: _Ints
    first: _Ints
    last: _Ints
    exact: bool = field(default=True, kw_only=True)

    @classmethod
    def of(
        cls, task: Sequence[int] | _Ints, *, axis: tuple[str, tuple[int, ...]] | tuple[()] = (),
        low: Sequence[int] | _Ints | None = None, high: Sequence[int] | _Ints | None = None,
        first: Sequence[int] | _Ints | None = None, last: Sequence[int] | _Ints | None = None,
    ) -> Regions:  # fmt: skip
        """Return boxes; what is left out has no bound."""
        tasks = np.asarray(task, np.int64)

        def bounds(given: Sequence[int] | _Ints | None, most: int) -> _Ints:
            return np.full(len(tasks), most, np.int64) if given is None else np.asarray(given, np.int64)

        return cls(
            axis, tasks, bounds(low, WORD_MIN), bounds(high, WORD_MAX), bounds(first, 0), bounds(last, _LAST_DRAW)
        )

    @classmethod
    def by_hash(cls, columns: tuple[int, ...], tasks: int, start: int = 0) -> Regions:
        """Return the boxes of tasks that share all hashes evenly, from task `start` on."""
        cuts = draw_cuts(tasks)
        return cls.of(np.arange(tasks) + start, axis=("hash", columns), low=cuts[:-1], high=cuts[1:] - 1)

    @classmethod
    def by_draw(cls, task: _Ints, part: _Ints, parts: int) -> Regions:
        """Return the boxes of tasks that keep one of several equal parts of all draws each."""
        cuts = draw_cuts(parts)
        return cls.of(task, first=cuts[part], last=cuts[part + 1] - 1)

    def having(self, rows: NDArray[np.bool_]) -> Regions:
        """Return some of the boxes."""
        parts = (self.task, self.low, self.high, self.first, self.last)
        return Regions(self.axis, *(part[rows] for part in parts), exact=self.exact)

    def of_task(self, task: int) -> Regions:
        """Return the boxes of one task."""
        return self.having(np.equal(self.task, task))

    def and_also(self, more: Regions) -> Regions:
        """Return these boxes, some of which may be larger than the truth now, and more of them by the same coordinate."""
        mine, theirs = ((one.task, one.low, one.high, one.first, one.last) for one in (self, more))
        return Regions(self.axis, *(np.concatenate(part) for part in zip(mine, theirs, strict=True)), exact=False)

    def but(self, held: Regions) -> Regions:
        """Return the boxes that no single box of `held` contains, as far as those say it exactly."""
        if not held.exact or held.axis not in ((), self.axis) or not len(held.task):
            return self
        inside = (
            (held.low <= self.low[:, None]) & (self.high[:, None] <= held.high)
            & (held.first <= self.first[:, None]) & (self.last[:, None] <= held.last)
        )  # fmt: skip
        return self.having(np.logical_not(inside.any(axis=1)))

    def meet(self, other: Regions) -> Bools:
        """Tell which boxes of `other` have something in common with any of these."""
        common = (self.first[:, None] <= other.last) & (other.first <= self.last[:, None])
        if self.axis == other.axis:
            common &= (self.low[:, None] <= other.high) & (other.low <= self.high[:, None])
        return np.asarray(common.any(axis=0))

    def reach(self, low: Words, high: Words, first: _Ints, last: _Ints) -> Bools:
        """Tell which files, given the bounds of their words (a row per column) and draws, may hold rows of these boxes."""
        found = (self.first[:, None] <= last) & (first <= self.last[:, None])
        if self.axis and self.axis[0] == "word":
            (column,) = self.axis[1]
            found &= (self.low[:, None] <= high[column]) & (low[column] <= self.high[:, None])
        return np.asarray(found.any(axis=0))
