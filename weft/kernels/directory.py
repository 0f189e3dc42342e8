"""A hash directory over the groups of a run: open addressing, linear probing, half empty."""

from __future__ import annotations

import numpy as np

from weft.kernels.jit import kernel
from weft.kernels.search import advance, pass_over
from weft.types import Rows, Words

__all__ = ["directory_of", "find_grouped"]

_MIX = np.uint64(0x9E3779B97F4A7C15)


@kernel
def spot(key: int, bits: int) -> int:
    """Spread a key over `2**bits` slots (Fibonacci hashing: the leading bits of the product)."""
    at: int = np.int64((np.uint64(key) * _MIX) >> np.uint64(64 - bits))
    return at


@kernel
def count_groups(firsts: Words) -> int:
    """Count distinct words of a sorted array."""
    groups = 0
    for i in range(len(firsts)):
        groups += i == 0 or firsts[i] != firsts[i - 1]
    return groups


@kernel
def fill(firsts: Words, bits: int, slots: Rows) -> None:
    """Put `[start, end)` of every group into its slot; an empty slot has end 0."""
    mask = (1 << bits) - 1
    start = 0
    for i in range(1, len(firsts) + 1):
        if i == len(firsts) or firsts[i] != firsts[start]:
            at = spot(firsts[start], bits)
            while slots[at, 1] != 0:
                at = (at + 1) & mask
            slots[at, 0] = start
            slots[at, 1] = i
            start = i


def directory_of(firsts: Words) -> Rows:
    """Return the directory of a sorted equality column: rows of (start, end)."""
    bits = max(1, (2 * count_groups(firsts)).bit_length())
    slots = np.zeros((1 << bits, 2), np.int64)
    fill(firsts, bits, slots)
    return slots


@kernel
def find_grouped(
    firsts: Words, keys: Words, slots: Rows, equal: Words, lo: Words, hi: Words, which: Rows, start: Rows, end: Rows
) -> int:
    """Report the range of every probe whose group exists, in the probes' own order."""
    mask = len(slots) - 1
    bits = 0
    while (1 << bits) < len(slots):
        bits += 1
    hits = 0
    for i in range(len(equal)):
        at = spot(equal[i], bits)
        while slots[at, 1] != 0 and firsts[slots[at, 0]] != equal[i]:
            at = (at + 1) & mask
        stop = slots[at, 1]
        pos = advance(keys[:stop], lo[i], slots[at, 0])
        last = pass_over(keys[:stop], hi[i], pos)
        which[hits] = i
        start[hits] = pos
        end[hits] = last
        hits += last > pos
    return hits
