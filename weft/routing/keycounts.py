"""How often each key occurs, in bounded space: exact while the keys are few, Space-Saving of whole batches beyond.

A batch is counted by sorting (one with many rows and many keys by a sample of them). Two counts are added key by key; a key
that one of them no longer lists counts there with `floor`, the most that an unlisted key can have, as in Space-Saving's
merge. So a listed count is never below the true one and never more than `floor` above it, samples aside, and `floor` is 0
as long as the distinct keys fit.

References
----------
[^1]: Metwally, Agrawal, El Abbadi. Efficient Computation of Frequent and Top-k Elements in Data Streams. ICDT 2005.
[^2]: Agarwal et al. Mergeable Summaries. PODS 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.types import Words

__all__ = ["SAMPLE", "KeyCounts", "count_keys"]

_WORTH = 4
"""Once a count is over its bound, keys below a share of 1 / (bound * _WORTH) are not listed: even keys stay cheap to note."""


SAMPLE = 1 << 14
"""Rows of a batch from which on many keys are counted by a sample."""


def count_keys(words: Words) -> tuple[Words, NDArray[np.float64]]:
    """Return the distinct words in order and how often each occurs."""
    if not len(words):
        return np.zeros(0, np.int64), np.zeros(0)
    ordered = np.sort(words)
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[first], np.diff(first, append=len(ordered)).astype(np.float64)


@dataclass(frozen=True)
class KeyCounts:
    """`counts[i]` occurrences of `keys[i]` (ascending), `total` of all keys, listed or not."""

    total: float
    floor: float
    keys: Words
    counts: NDArray[np.float64]

    @classmethod
    def none(cls) -> KeyCounts:
        """Return the count of nothing."""
        return cls(0.0, 0.0, np.zeros(0, np.int64), np.zeros(0))

    @classmethod
    def of(cls, words: Words, bound: int) -> KeyCounts:
        """Count the words of one batch and list at most `bound` keys: exactly where there are no more.

        Of a large batch with many keys one row of every n is counted, for n: a heavy key shows in a sample as well. Which
        one of the n is drawn, so that keys that come round in turn are seen as they are; from a fixed seed.
        """
        step = len(words) // SAMPLE
        if step > 1:
            drawn = np.random.default_rng(step).integers(0, step, SAMPLE)
            keys, counts = count_keys(words[np.arange(SAMPLE) * step + drawn])
            if len(keys) > bound:
                return cls(float(len(words)), 0.0, keys, counts * (len(words) / SAMPLE)).bounded(bound)
        return cls(float(len(words)), 0.0, *count_keys(words)).bounded(bound)

    def __add__(self, more: KeyCounts) -> KeyCounts:
        if not more.total and not more.floor:
            return self
        if not self.total and not self.floor:
            return more
        keys = np.union1d(self.keys, more.keys)
        counts = self.at(keys, missing=self.floor) + more.at(keys, missing=more.floor)
        return KeyCounts(self.total + more.total, self.floor + more.floor, keys, counts)

    def at(self, keys: Words, missing: float = 0.0) -> NDArray[np.float64]:
        """Return the counts of some keys, `missing` where a key is not listed."""
        if not len(self.keys):
            return np.full(len(keys), missing)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.counts[place], missing)

    def sure(self, keys: Words) -> NDArray[np.float64]:
        """Return how often each key occurs at least."""
        return np.maximum(self.at(keys) - self.floor, 0.0)

    def scaled(self, factor: float) -> KeyCounts:
        """Return all counts times `factor`."""
        return KeyCounts(self.total * factor, self.floor * factor, self.keys, self.counts * factor)

    def bounded(self, bound: int) -> KeyCounts:
        """Return the same with at most `bound` keys listed, the most frequent ones."""
        if len(self.keys) <= bound:
            return self
        kept = self.counts * (bound * _WORTH) > self.total
        listed = np.flatnonzero(kept)
        if len(listed) > bound:
            kept[listed[np.argpartition(-self.counts[listed], bound - 1)[bound:]]] = False
        floor = max(self.floor, float(self.counts[~kept].max()))
        return KeyCounts(self.total, floor, self.keys[kept], self.counts[kept])

    def to_json(self) -> list[Any]:
        """Return the counts as JSON data."""
        return [self.total, self.floor, self.keys.tolist(), self.counts.tolist()]

    @classmethod
    def of_json(cls, data: list[Any]) -> KeyCounts:
        """Read them back."""
        total, floor, keys, counts = data
        return cls(float(total), float(floor), np.array(keys, np.int64), np.array(counts, np.float64))
