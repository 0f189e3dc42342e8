"""Which of many words are among a few: a bitmap of hashes lets nearly all others go at a glance.

A migration asks this of every row that is held, and the few are the keys that move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel
from weft.types import Rows, Words

__all__ = ["find_listed"]

_SPARE = 64
"""Bits per listed word: one other word in so many is looked up for nothing."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def find_listed(words: Words, listed: Words) -> Rows:
    """Return the positions of the words that are listed; `listed` ascends.

    >>> find_listed(np.array([7, 1, 5, 7]), np.array([5, 7])).tolist()
    [0, 2, 3]
    """
    if not len(words) or not len(listed):
        return np.zeros(0, np.int32)
    bits = max(10, (len(listed) * _SPARE - 1).bit_length())
    return _find_listed(np.ascontiguousarray(words), listed, np.zeros(1 << (bits - 6), np.uint64), np.uint64(64 - bits))


@kernel
def _find_listed(words: Words, listed: Words, bitmap: NDArray[np.uint64], shift: np.uint64) -> Rows:
    six, low, one = np.uint64(6), np.uint64(63), np.uint64(1)
    for word in listed:
        place = (np.uint64(word) * _SPREAD) >> shift
        bitmap[place >> six] |= one << (place & low)
    found = np.empty(len(words), np.int32)
    count = 0
    for i in range(len(words)):
        place = (np.uint64(words[i]) * _SPREAD) >> shift
        if (bitmap[place >> six] >> (place & low)) & one:
            at = np.searchsorted(listed, words[i])
            if at < len(listed) and listed[at] == words[i]:
                found[count] = i
                count += 1
    return found[:count].copy()
