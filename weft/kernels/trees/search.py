"""Bisection inside a node: a fixed number of steps and no branch on the data, which a processor would guess wrong."""

from __future__ import annotations

import numpy as np

from weft.kernels.jit import kernel
from weft.types import Words

__all__ = ["count_below", "count_upto"]


@kernel
def count_below(keys: Words, base: int, n: int, key: int) -> int:
    """Return how many of the sorted `keys[base : base + n]` are less than `key`."""
    if n == 0:
        return 0
    at = base
    while n > 1:
        half = n >> 1
        at += half * np.int64(keys[np.uint64(at + half - 1)] < key)  # unsigned: no test for indices from the end
        n -= half
    return at - base + np.int64(keys[np.uint64(at)] < key)


@kernel
def count_upto(keys: Words, base: int, n: int, key: int) -> int:
    """Return how many of the sorted `keys[base : base + n]` are not greater than `key`."""
    if n == 0:
        return 0
    at = base
    while n > 1:
        half = n >> 1
        at += half * np.int64(keys[np.uint64(at + half - 1)] <= key)
        n -= half
    return at - base + np.int64(keys[np.uint64(at)] <= key)
