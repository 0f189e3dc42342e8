"""Loads that change: the ratio of the streams' volumes, and key frequencies that swap (001-45, 001-47)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["fluctuating", "ratios"]


def ratios(total: int, sequence: Sequence[float]) -> list[tuple[int, int]]:
    """Return left and right volumes of one total for each ϱ = |R| / |S|.

    >>> ratios(100, [1, 4, 0.25])
    [(50, 50), (80, 20), (20, 80)]
    """
    return [(round(total * ratio / (1 + ratio)), total - round(total * ratio / (1 + ratio))) for ratio in sequence]


def fluctuating(
    counts: NDArray[np.float64], owner: NDArray[np.int64], tasks: int, f: float, seed: int
) -> Iterator[NDArray[np.float64]]:
    """Yield key frequencies, interval by interval, endlessly: the first as given, each next one changed by f.

    Frequencies of keys of different tasks are swapped until some task's load has changed by at least f times the mean
    load. `owner` is the task of each key. f = 0 changes nothing. When no swap can do it, after as many swaps as there are
    keys, the interval is as different as it gets.
    """
    draw = np.random.default_rng(seed)
    now = counts.astype(np.float64)
    yield now.copy()
    while True:
        before = np.bincount(owner, now, tasks)
        change = np.zeros(tasks)
        for _ in range(len(now)):
            if np.abs(change).max() >= f * before.mean():
                break
            # Swap a frequent key (drawn by its weight) with any key of another task.
            one = int(draw.choice(len(now), p=now / now.sum()))
            two = int(draw.integers(len(now)))
            if owner[one] == owner[two]:
                continue
            change[owner[one]] += now[two] - now[one]
            change[owner[two]] += now[one] - now[two]
            now[one], now[two] = now[two], now[one]
        yield now.copy()
