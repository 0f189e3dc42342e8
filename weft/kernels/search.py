"""Where each probe's partners lie in a sorted run.

Probes come sorted, so positions only move forward. Each probe *gallops*: it doubles its step from where the last one
stood, then bisects. That is a two-pointer walk when probes are dense and a bisection when they are sparse.

A run larger than the cache has *fences*, every 16th key: they are galloped over first, then each probe looks at one or
two cache lines of the run, whose fetch overlaps with that of its neighbours (this is the CSS-tree, 002-09, cut to two
levels because sorted probes need no more). Only probes with candidates are reported.
"""

from __future__ import annotations

import numpy as np

from weft.kernels.jit import kernel
from weft.kernels.prefetch import prefetch
from weft.types import Rows, Words

__all__ = ["FENCE", "find_fenced", "find_lexical", "find_range", "first_from", "past_from"]

FENCE = 16
LANES = 8
_AHEAD = 12


@kernel
def advance(keys: Words, key: int, pos: int) -> int:
    """Return the first position from `pos` on whose word is not less than `key`."""
    n = len(keys)
    if pos >= n or keys[pos] >= key:
        return pos
    step = 1
    while pos + step < n and keys[pos + step] < key:
        pos += step
        step *= 2
    high = min(pos + step, n)
    pos += 1
    while pos < high:
        mid = (pos + high) >> 1
        if keys[mid] < key:
            pos = mid + 1
        else:
            high = mid
    return pos


@kernel
def pass_over(keys: Words, key: int, pos: int) -> int:
    """Return the first position from `pos` on whose word is greater than `key`."""
    n = len(keys)
    if pos >= n or keys[pos] > key:
        return pos
    step = 1
    while pos + step < n and keys[pos + step] <= key:
        pos += step
        step *= 2
    high = min(pos + step, n)
    pos += 1
    while pos < high:
        mid = (pos + high) >> 1
        if keys[mid] <= key:
            pos = mid + 1
        else:
            high = mid
    return pos


@kernel
def first_from(keys: Words, key: int, pos: int) -> int:
    """Do as `advance`, expecting to go at most seven steps: bisect those without a branch (a mispredicted one costs more)."""
    if pos + LANES > len(keys):
        return advance(keys, key, pos)
    pos += np.int64(keys[np.uint64(pos + 3)] < key) << 2  # unsigned: no test for indices from the end
    pos += np.int64(keys[np.uint64(pos + 1)] < key) << 1
    pos += np.int64(keys[np.uint64(pos)] < key)
    return pos if keys[np.uint64(pos)] >= key else advance(keys, key, pos)


@kernel
def past_from(keys: Words, key: int, pos: int) -> int:
    """Do as `pass_over` in the same way."""
    if pos + LANES > len(keys):
        return pass_over(keys, key, pos)
    pos += np.int64(keys[np.uint64(pos + 3)] <= key) << 2
    pos += np.int64(keys[np.uint64(pos + 1)] <= key) << 1
    pos += np.int64(keys[np.uint64(pos)] <= key)
    return pos if keys[np.uint64(pos)] > key else pass_over(keys, key, pos)


@kernel
def find_range(keys: Words, lo: Words, hi: Words, which: Rows, start: Rows, end: Rows) -> int:
    """Report `[start, end)` of the keys in `[lo, hi]` for every probe that has any; `lo` ascends."""
    hits = pos = 0
    for i in range(len(lo)):
        pos = first_from(keys, lo[i], pos)
        last = past_from(keys, hi[i], pos)
        which[hits] = i
        start[hits] = pos
        end[hits] = last
        hits += last > pos
    return hits


@kernel
def find_fenced(keys: Words, fences: Words, lo: Words, hi: Words, which: Rows, start: Rows, end: Rows) -> int:
    """Do the same over a run with fences: `fences[b]` is `keys[FENCE * b]`."""
    m = len(lo)
    pos = 0
    for i in range(m):
        pos = advance(fences, lo[i], pos)
        end[i] = max(pos - 1, 0) * FENCE  # `end` holds the blocks until they are looked at
    for i in range(min(_AHEAD, m)):
        prefetch(keys, end[i])
    hits = 0
    for i in range(m):
        if i + _AHEAD < m:
            prefetch(keys, end[i + _AHEAD])
            prefetch(keys, end[i + _AHEAD] + 8)
        low, first = lo[i], end[i]
        pos = first_from(keys, low, first_from(keys, low, first))
        last = past_from(keys, hi[i], pos)
        which[hits] = i
        start[hits] = pos
        end[hits] = last
        hits += last > pos
    return hits


@kernel
def find_lexical(
    firsts: Words, keys: Words, equal: Words, lo: Words, hi: Words, which: Rows, start: Rows, end: Rows
) -> int:
    """Do the same within the group of equal `firsts`; probes ascend by (equal, lo)."""
    n = len(keys)
    hits = group = stop = 0
    for i in range(len(lo)):
        if i == 0 or equal[i] != equal[i - 1]:
            group = advance(firsts, equal[i], stop)
            stop = pass_over(firsts, equal[i], group)
        group = advance(keys[:stop], lo[i], group)
        last = pass_over(keys[:stop], hi[i], group)
        which[hits] = i
        start[hits] = group
        end[hits] = last
        hits += last > group
    return hits if n else 0
