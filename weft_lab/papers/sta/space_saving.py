"""Space-Saving: `size` counters; a new key takes the place of the least one and inherits its count (for comparison, Y04).

Of `n` tuples no key's estimate is too small, and none is too great by more than `n / size`. Whole batches and other
summaries are taken in by the merge of Agarwal et al. (Mergeable Summaries): counts less the least counter add up exactly
like those of Misra and Gries, and the bound stays.
"""

from __future__ import annotations

import numpy as np

from weft.errors import SpecError
from weft.sketch import Counts
from weft.types import Words

__all__ = ["SpaceSaving"]


class SpaceSaving:
    """The `size` most frequent keys, approximately."""

    def __init__(self, size: int = 32) -> None:
        if size < 2:
            raise SpecError.of(f"A summary of {size} counters.", "It needs at least two.", "try 32.")
        self.size = size
        self._counts: dict[int, int] = {}
        self._floor = 0
        """What a key without a counter may have been counted, when a merge has left fewer counters than `size`."""

    def add(self, key: int) -> None:
        """Count one tuple, as printed by Metwally et al."""
        if key in self._counts:
            self._counts[key] += 1
        elif len(self._counts) < self.size:
            self._counts[key] = self._floor + 1
        else:
            least = min(self._counts, key=self._counts.__getitem__)
            self._counts[key] = self._counts.pop(least) + 1

    def update(self, keys: Words) -> None:
        """Count a batch: its exact counts are a summary without error, and are merged."""
        found, counts = np.unique(keys, return_counts=True)
        self._take_in(found, counts.astype(np.int64), 0)

    def merge(self, other: SpaceSaving) -> SpaceSaving:
        """Return the summary of both streams."""
        made = SpaceSaving(self.size)
        made._counts, made._floor = dict(self._counts), self._floor
        floor = other.floor
        keys = np.fromiter(other._counts, np.int64, len(other._counts))
        counts = np.fromiter(other._counts.values(), np.int64, len(keys))
        made._take_in(keys, counts - floor, floor)
        return made

    @property
    def floor(self) -> int:
        """Return the most that a key without a counter can have been counted."""
        return min(self._counts.values()) if len(self._counts) == self.size else self._floor

    def _take_in(self, keys: Words, counts: Counts, floor: int) -> None:
        """Add counts above `floor` to the counts above the own floor, keep `size - 1`, raise the floor by what goes."""
        own = self.floor
        mine = np.fromiter(self._counts, np.int64, len(self._counts))
        above = np.fromiter(self._counts.values(), np.int64, len(mine)) - own
        every, place = np.unique(np.concatenate([mine, keys]), return_inverse=True)
        total = np.bincount(place, np.concatenate([above, counts]), len(every)).astype(np.int64)
        cut = 0
        if len(every) >= self.size:  # Misra and Gries keep size - 1 counters
            cut = int(np.partition(total, len(every) - self.size)[len(every) - self.size])
        kept = total > cut
        self._floor = own + floor + cut
        self._counts = dict(zip(every[kept].tolist(), (total[kept] - cut + self._floor).tolist(), strict=True))

    def estimate(self, keys: Words) -> Counts:
        """Return the counts, for keys without a counter the most they can have been."""
        floor = self.floor
        return np.array([self._counts.get(int(key), floor) for key in keys], np.int64)

    def hottest(self) -> tuple[Words, Counts]:
        """Return all keys with a counter, the heaviest first, ties by key."""
        keys = np.fromiter(self._counts, np.int64, len(self._counts))
        counts = np.fromiter(self._counts.values(), np.int64, len(keys))
        order = np.lexsort((keys, -counts))
        return keys[order], counts[order]
