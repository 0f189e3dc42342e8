"""What the STA paper measures, as functions of what was seen (000-04, 000-05, 000-38..000-42)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from weft.types import Rows, Words

__all__ = [
    "aggregation", "completeness", "index_updates", "latency", "load_imbalance", "redundancy", "throughput",
]  # fmt: skip


def index_updates(keys: Words, asked: Words) -> Rows:
    """Return `I_u = max rank - min rank` of each asked key while the window fills, Eq. (3), Def. 3.4.

    A key's rank is the number of distinct keys below it in the index. It is least when the key arrives and grows with
    each smaller key that is seen for the first time later.
    """
    found, first = np.unique(keys, return_index=True)
    updates = np.zeros(len(asked), np.int64)
    for at, key in enumerate(asked):  # the paper asks for 32
        place = np.searchsorted(found, key)
        if place < len(found) and found[place] == key:
            updates[at] = int((first[:place] > first[place]).sum())
    return updates


def redundancy(keys: Words, link: Rows, asked: Words) -> Rows:
    """Return in how many sub-indexes each asked key occurs; `link[i]` is the sub-index of tuple i (000-05)."""
    pairs = np.unique(np.stack([keys, link]), axis=1)
    found, counts = np.unique(pairs[0], return_counts=True)
    place = np.minimum(np.searchsorted(found, asked), len(found) - 1)
    return np.where(found[place] == asked, counts[place], 0)


def load_imbalance(loads: NDArray[np.int64]) -> float:
    """Return max - average, in tuples (000-38)."""
    return float(loads.max() - loads.mean())


def aggregation(owners: Rows, draws: int) -> float:
    """Return how many tasks the results of `draws` tuples in a row come from, on average over the stream (000-39)."""
    whole = owners[: len(owners) // draws * draws].reshape(-1, draws)
    ordered = np.sort(whole, axis=1)
    return float((1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)).mean())


def throughput(tuples: int, seconds: float) -> float:
    """Return processed tuples a second (000-40), for insertions and for lookups alike."""
    return tuples / seconds if seconds > 0 else float("inf")


def latency(collector: NDArray[np.float64], preprocessing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each tuple's time at the collector less its time at the pre-processing node (000-41)."""
    return collector - preprocessing


def completeness(ideal: Iterable[Hashable], found: Iterable[Hashable]) -> float:
    """Return `1 - |X - X~| / |X|`, X being the ideal result: invented pairs do not help (000-42).

    >>> completeness([1, 2, 3, 4], [1, 2, 3, 99])
    0.75
    """
    wanted, seen = Counter(ideal), Counter(found)
    total = sum(wanted.values())
    return 1.0 if not total else 1 - sum((wanted - seen).values()) / total
