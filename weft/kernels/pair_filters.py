"""Checks on pairs already found.

Of those that a run was searched for (`keep_...`) the ones that pass move up, in place, and no branch depends on which do.
Of those that a tree found by number, `passing` copies the ones whose row has not expired and whose remaining terms hold.
"""

from __future__ import annotations

import numpy as np

from weft.kernels.emit import Checks, holds
from weft.kernels.jit import kernel
from weft.kernels.llvm.prefetch import prefetch
from weft.types import Rows, Words

__all__ = ["keep_apart", "keep_counted", "keep_either", "keep_last", "keep_ranged", "passing"]

_AHEAD = 16


@kernel
def keep_counted(probe: Rows, stored: Rows, count: int, step: int, least: int, most: int) -> int:
    """Keep pairs with `least <= stored - step * probe <= most`: words that count, or stand still, are not looked up."""
    kept = np.uint64(0)
    for k in range(count):
        p, s = probe[np.uint64(k)], stored[np.uint64(k)]
        probe[kept], stored[kept] = p, s
        apart = s - step * p
        kept += np.uint64(apart >= least) & np.uint64(apart <= most)
    return np.int64(kept)


@kernel
def keep_either(
    probe: Rows, stored: Rows, count: int, step: int, least: int, most: int, step2: int, least2: int, most2: int
) -> int:
    """Keep the pairs of which one or the other such condition holds."""
    kept = np.uint64(0)
    for k in range(count):
        p, s = probe[np.uint64(k)], stored[np.uint64(k)]
        probe[kept], stored[kept] = p, s
        one, two = s - step * p, s - step2 * p
        kept += (np.uint64(one >= least) & np.uint64(one <= most)) | (
            np.uint64(two >= least2) & np.uint64(two <= most2)
        )
    return np.int64(kept)


@kernel
def keep_ranged(probe: Rows, stored: Rows, count: int, words: Words, lo: Words, hi: Words) -> int:
    """Keep the pairs whose stored word lies in the probe's range."""
    kept = np.uint64(0)
    for k in range(count):
        if k + _AHEAD < count:
            prefetch(words, np.int64(stored[np.uint64(k + _AHEAD)]))
        p, s = probe[np.uint64(k)], stored[np.uint64(k)]
        word = words[np.uint64(s)]
        probe[kept], stored[kept] = p, s
        kept += np.uint64(word >= lo[np.uint64(p)]) & np.uint64(word <= hi[np.uint64(p)])
    return np.int64(kept)


@kernel
def keep_apart(probe: Rows, stored: Rows, count: int, asking: Words, words: Words, least: int, most: int) -> int:
    """Keep the pairs with `least <= stored word - probe's word <= most`; no such difference may leave the domain."""
    kept = np.uint64(0)
    for k in range(count):
        if k + _AHEAD < count:
            prefetch(words, np.int64(stored[np.uint64(k + _AHEAD)]))
            prefetch(asking, np.int64(probe[np.uint64(k + _AHEAD)]))
        p, s = probe[np.uint64(k)], stored[np.uint64(k)]
        apart = words[np.uint64(s)] - asking[np.uint64(p)]
        probe[kept], stored[kept] = p, s
        kept += np.uint64(apart >= least) & np.uint64(apart <= most)
    return np.int64(kept)


@kernel
def keep_last(probe: Rows, stored: Rows, count: int, asking: Words, words: Words, n: int) -> int:
    """Keep the pairs in the count window; `asking` and `words` are (seq, opp) of the probe and of the stored rows."""
    kept = np.uint64(0)
    for k in range(count):
        p, s = np.uint64(probe[np.uint64(k)]), np.uint64(stored[np.uint64(k)])
        stored_first, probe_first = asking[1, p] - words[0, s], words[1, s] - asking[0, p]
        probe[kept], stored[kept] = p, s
        kept += (np.uint64(stored_first >= 1) & np.uint64(stored_first <= n)) | (
            np.uint64(probe_first >= 1) & np.uint64(probe_first <= n)
        )
    return np.int64(kept)


@kernel
def passing(
    probes: Rows, numbers: Rows, base: int, probe: Words, words: Words, expiry: int, before: int, checks: Checks,
    out_probe: Rows, out_stored: Rows,
) -> int:  # fmt: skip
    """Report the pairs of one run, whose rows are numbered from `base` on; return how many.

    Rows with a word below `before` in column `expiry` (-1: none) have expired (002-11).
    """
    n, filled = words.shape[1], 0
    for k in range(len(numbers)):
        s, p = numbers[k] - base, probes[k]
        if s < 0 or s >= n or (expiry >= 0 and words[expiry, s] < before):
            continue
        if holds(probe, p, words, s, checks):
            out_probe[filled], out_stored[filled] = p, s
            filled += 1
    return filled
