"""Weighted keys of one side: mergeable, of bounded size, the statistics of which A-DSP makes its matrix (001-27).

Heavy keys keep an entry of their own, so that a hot key becomes a row of the matrix by itself; light neighbours share
one. Weights are tuples held, so summaries of different tasks and batches simply add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.types import U32, WORD_MAX, WORD_MIN, Words

__all__ = ["Histogram", "sampled"]

SAMPLE = 4096
"""Rows of a batch, or of a state, that a histogram is made from, about."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Ascending distinct keys and the tuples that each stands for: its own, or those of light keys around it too."""

    keys: Words
    weights: NDArray[np.float64]

    @staticmethod
    def of(words: Words, weight: float = 1.0) -> Histogram:
        """Count words, each standing for `weight` tuples."""
        keys, counts = np.unique(words, return_counts=True)
        return Histogram(keys, counts.astype(np.float64) * weight)

    @staticmethod
    def empty() -> Histogram:
        """Return the histogram of nothing."""
        return Histogram(np.zeros(0, np.int64), np.zeros(0))

    @property
    def total(self) -> float:
        """Return the tuples counted."""
        return float(self.weights.sum())

    @staticmethod
    def merged(parts: Sequence[Histogram]) -> Histogram:
        """Add histograms up."""
        if not parts:
            return Histogram.empty()
        keys, where = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
        weights = np.concatenate([part.weights for part in parts])
        return Histogram(keys, np.bincount(where, weights, len(keys)).astype(np.float64))

    def scaled(self, total: float) -> Histogram:
        """Return the same shape with another total; what lost all its tuples has no entries."""
        now = self.total
        return Histogram(self.keys, self.weights * (total / now)) if now > 0 and total > 0 else Histogram.empty()

    def shrunk(self, size: int) -> Histogram:
        """Return at most about `2 * size` entries: a key of at least 1 / size of the tuples alone, its neighbours by groups.

        A group is named by its median key: named by an end, repeated shrinking would drift that way.
        """
        if len(self.keys) <= size:
            return self
        group = self.groups(size)
        weights = np.bincount(group, self.weights).astype(np.float64)
        half = np.cumsum(weights) - weights / 2
        median = np.searchsorted(np.cumsum(self.weights) * (1 + 1e-12), half)
        first = np.searchsorted(group, np.arange(len(weights)))
        last = np.searchsorted(group, np.arange(len(weights)), side="right") - 1
        return Histogram(self.keys[np.clip(median, first, last)], weights)

    def groups(self, size: int) -> NDArray[np.int64]:
        """Number each entry's group: groups are runs of neighbours of about 1 / size of the tuples; heavy keys are alone."""
        if not len(self.keys):
            return np.zeros(0, np.int64)
        share = self.total / size
        heavy = self.weights >= share
        light = np.cumsum(np.where(heavy, 0.0, self.weights)) - np.where(heavy, 0.0, self.weights) / 2
        band = np.floor(light / share * (1 - 1e-12)).astype(np.int64)
        new = np.empty(len(self.keys), np.bool_)
        new[0] = True
        new[1:] = (band[1:] != band[:-1]) | heavy[1:] | heavy[:-1]
        return np.cumsum(new) - 1

    def mass(self, least: int, most: int) -> float:
        """Return the tuples with keys in `least..most`."""
        first, last = np.searchsorted(self.keys, least), np.searchsorted(self.keys, most, side="right")
        return float(self.weights[first:last].sum())

    def cuts(self, size: int, *, gaps: bool = False) -> Words:
        """Return where groups begin, after the first: a cut belongs to what is right of it.

        With `gaps` a heavy key is cut off from the unseen keys above it, so that it reaches no further than it does.
        """
        group = self.groups(size)
        if not len(group):
            return np.zeros(0, np.int64)
        ends = np.flatnonzero(np.diff(group))
        heavy = self.weights >= self.total / size
        last, following = self.keys[ends], self.keys[ends + 1]
        middle = (
            last
            + 1
            + ((following.view(np.uint64) - last.view(np.uint64) - np.uint64(1)) >> np.uint64(1)).view(np.int64)
        )
        # An entry stands for keys around it, so light groups part midway; a heavy key stands for itself.
        begins = np.where(heavy[ends + 1], following, np.where(heavy[ends], last + 1, middle))
        tails = self.keys[np.flatnonzero(heavy)] if gaps else self.keys[:0]
        tails = tails[tails < WORD_MAX] + 1
        cuts = np.unique(np.concatenate([begins, tails]))
        return cuts[cuts > WORD_MIN]

    def to_json(self) -> list[list[float]]:
        """Return keys and weights as JSON data."""
        return [[int(key) for key in self.keys], [float(weight) for weight in self.weights]]

    @staticmethod
    def of_json(data: Sequence[Sequence[float]]) -> Histogram:
        """Read them back; keys are whole numbers in JSON and stay so."""
        return Histogram(np.array(data[0], np.int64), np.array(data[1], np.float64))


def sampled(draws: U32) -> NDArray[np.int64]:
    """Choose about SAMPLE rows by the low bits of their draws: the high ones have chosen the row of the matrix already."""
    if len(draws) <= SAMPLE:
        return np.arange(len(draws))
    return np.flatnonzero(draws * np.uint32(2654435761) < np.uint32((SAMPLE << 32) // len(draws)))
