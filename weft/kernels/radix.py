"""A radix directory: where the keys of each equal slice of the key domain begin.

Its look-ups do not depend on each other, so the processor overlaps their waits; a walk over fences cannot. It serves
keys spread evenly enough that slices hold few of them, and says when they are not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel
from weft.kernels.prefetch import prefetch
from weft.kernels.search import advance, pass_over
from weft.types import Rows, Words

__all__ = ["Radix", "find_sliced", "radix_of"]

_AHEAD = 16
_UNEVEN = 64  # a key of such company costs more than walking the fences


class Radix(NamedTuple):
    """Slice `(key - low) >> shift` begins at `first[slice]`."""

    first: NDArray[np.int32]
    low: int
    shift: int


@kernel
def slice_of(key: int, low: int, shift: int) -> int:
    """Return the slice of a key not below `low`."""
    at: int = np.int64((np.uint64(key) - np.uint64(low)) >> np.uint64(shift))
    return at


@kernel
def fill(keys: Words, low: int, shift: int, first: NDArray[np.int32]) -> float:
    """Write the beginning of each slice; return how much company a key has on average."""
    n, filled, company = len(keys), 0, 0.0
    start = 0
    for i in range(n):
        at = slice_of(keys[i], low, shift)
        if at >= filled:
            company += float(i - start) * float(i - start)
            start = i
            while filled <= at:
                first[filled] = i
                filled += 1
    while filled < len(first):
        first[filled] = n
        filled += 1
    return (company + float(n - start) * float(n - start)) / n


def radix_of(keys: Words) -> Radix | None:
    """Return the directory of sorted keys; None when they are too uneven or too many."""
    n = len(keys)
    if not 0 < n < 1 << 31:
        return None
    low, span = int(keys[0]), int(keys[-1]) - int(keys[0])
    shift = min(63, max(0, span.bit_length() - max(0, n.bit_length() - 2)))  # shifting all 64 bits out is undefined
    first = np.empty((span >> shift) + 2, np.int32)
    return None if fill(keys, low, shift, first) > _UNEVEN else Radix(first, low, shift)


@kernel
def find_sliced(keys: Words, radix: Radix, lo: Words, hi: Words, which: Rows, start: Rows, end: Rows) -> int:
    """Report `[start, end)` of the keys in `[lo, hi]` for every probe that has any, in any order of probes."""
    n, m = len(keys), len(lo)
    base, shift, top = np.uint64(radix.low), np.uint64(radix.shift), np.uint64(len(radix.first) - 1)
    for i in range(m):  # `end` holds the slices' beginnings until they are looked at
        end[i] = radix.first[min((np.uint64(max(lo[i], radix.low)) - base) >> shift, top)]
    # Slices are short and so are most ranges: bisect seven steps without a branch, for a mispredicted one costs more.
    # Unsigned indices spare the test for indices from the end. Written out, because calls here cost reference counts.
    hits, safe = 0, n - 8
    for i in range(m):
        if i + _AHEAD < m:
            ahead = end[i + _AHEAD]
            prefetch(keys, ahead)
            prefetch(keys, ahead + 8)
        low, high, pos = lo[i], hi[i], end[i]
        if pos < safe:
            pos += np.int64(keys[np.uint64(pos + 3)] < low) << 2
            pos += np.int64(keys[np.uint64(pos + 1)] < low) << 1
            pos += np.int64(keys[np.uint64(pos)] < low)
        if pos >= safe or keys[np.uint64(pos)] < low:
            pos = advance(keys, low, pos)
        last = pos
        if pos < safe:
            last += np.int64(keys[np.uint64(last + 3)] <= high) << 2
            last += np.int64(keys[np.uint64(last + 1)] <= high) << 1
            last += np.int64(keys[np.uint64(last)] <= high)
        if last >= safe or keys[np.uint64(last)] <= high:
            last = pass_over(keys, high, last)
        which[hits] = i
        start[hits] = pos
        end[hits] = last
        hits += np.int64(last > pos)
    return hits
