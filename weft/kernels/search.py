"""Where words stand among sorted ones: the partners of each probe in a run, and the few that a migration asks for among many.

A run is the bottom of a CSS-tree (002-09): every eight keys are a node of one cache line, `fences` hold the first key of
each node, `posts` the first of every eight fences. Probes come sorted, so on the highest level that is worth having
they only move forward; below it a probe looks at one node per level. In a node all eight keys are compared and the
smaller ones counted: no branch depends on the data, for a mispredicted one costs more.

Groups of equal words can also be found by hash (`find_grouped`): a directory over the groups of a run, open addressing, linear
probing, half empty. A migration asks of every row that is held whether its word is among a few (`find_listed`): a bitmap of
hashes lets nearly all others go at a glance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import inlined, kernel
from weft.kernels.llvm import LANES, count_less, prefetch
from weft.types import Rows, Words

__all__ = [
    "FAR", "NODE", "Fences", "advance", "directory_of", "down", "fences_of", "find_grouped", "find_lexical", "find_listed",
    "find_range", "locate", "pass_over", "under", "walk",
]  # fmt: skip

NODE = LANES
FAR = 12
"""From this many fences per probe on, posts are walked instead of fences."""
_AHEAD = 12
_STEPS = 4
"""Nodes that a probe walks before it gallops."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Fences(NamedTuple):
    """The first keys of the nodes, and the first of every eight of those."""

    fences: Words
    posts: Words

    @classmethod
    def over(cls, fences: Words) -> Fences:
        """Put the posts above the fences."""
        return cls(fences, np.ascontiguousarray(fences[::NODE]))


def fences_of(keys: Words) -> Fences:
    """Return both levels over sorted keys."""
    return Fences.over(np.ascontiguousarray(keys[::NODE]))


@kernel
def advance(keys: Words, key: int, pos: int) -> int:
    """Return the first position from `pos` on whose word is not less than `key`: double the step, then bisect."""
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
def walk(keys: Words, lo: Words, found: Rows) -> None:
    """Write for every probe the first position whose key is not below `lo`; `lo` ascends.

    A step waits for the count of the step before. So the probes go in four quarters side by side: four chains wait together.
    """
    n, m = len(keys), len(lo)
    quarter = m // 4 if n >= NODE else 0
    first, second, third = np.uint64(quarter), np.uint64(2 * quarter), np.uint64(3 * quarter)
    a, b, c, d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    if quarter:
        b, c, d = (
            np.uint64(np.searchsorted(keys, lo[first])),
            np.uint64(np.searchsorted(keys, lo[second])),
            np.uint64(np.searchsorted(keys, lo[third])),
        )
    last = np.uint64(max(n - NODE, 0))
    for k in range(quarter):
        i = np.uint64(k)
        for_a, for_b, for_c, for_d = lo[i], lo[i + first], lo[i + second], lo[i + third]
        for _ in range(_STEPS):
            # At the end a node begins before the position: what lies between is smaller, and counts.
            at_a, at_b, at_c, at_d = min(a, last), min(b, last), min(c, last), min(d, last)
            a, b = at_a + count_less(keys, at_a, for_a), at_b + count_less(keys, at_b, for_b)
            c, d = at_c + count_less(keys, at_c, for_c), at_d + count_less(keys, at_d, for_d)
            if max(a - at_a, b - at_b, c - at_c, d - at_d) < np.uint64(NODE):
                break
        else:  # further than a few nodes: gallop
            a, b = np.uint64(advance(keys, for_a, np.int64(a))), np.uint64(advance(keys, for_b, np.int64(b)))
            c, d = np.uint64(advance(keys, for_c, np.int64(c))), np.uint64(advance(keys, for_d, np.int64(d)))
        found[i], found[i + first], found[i + second], found[i + third] = a, b, c, d
    rest = np.int64(d)
    for k in range(4 * quarter, m):
        rest = advance(keys, lo[k], rest)
        found[k] = rest


@inlined
def under(found: int) -> int:
    """Return where the node begins that holds the first key not below `lo`, or the last one below; `found` is one level up."""
    return max(found - 1, 0) * NODE


@inlined
def down(keys: Words, key: int, found: int) -> int:
    """Turn the first position not below `key` one level up into that on this level."""
    pos = under(found)
    if pos + NODE <= len(keys):
        return pos + np.int64(count_less(keys, np.uint64(pos), key))
    return advance(keys, key, pos)


@kernel
def locate(fences: Fences, lo: Words, found: Rows) -> None:
    """Write for every probe the first fence that is not below `lo`; `lo` ascends."""
    m = len(lo)
    if len(fences.fences) < FAR * m:
        walk(fences.fences, lo, found)
        return
    walk(fences.posts, lo, found)
    for i in range(m):
        if i + _AHEAD < m:
            prefetch(fences.fences, under(np.int64(found[i + _AHEAD])))
        found[i] = down(fences.fences, lo[i], np.int64(found[i]))


@kernel
def find_range(keys: Words, fences: Fences, lo: Words, hi: Words, which: Rows, start: Rows, end: Rows) -> int:
    """Report `[start, end)` of the keys in `[lo, hi]` for every probe that has any; `lo` ascends."""
    m, hits = len(lo), 0
    locate(fences, lo, end)  # `end` holds the fences until they are looked at
    for i in range(m):
        if i + _AHEAD < m:
            prefetch(keys, under(end[i + _AHEAD]))
        pos = down(keys, lo[i], end[i])
        last = pass_over(keys, hi[i], pos)
        which[hits] = i
        start[hits] = pos
        end[hits] = last
        hits += np.int64(last > pos)
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


_SPARE = 64
"""Bits per listed word: one other word in so many is looked up for nothing."""


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
        place = (np.uint64(word) * _MIX) >> shift
        bitmap[place >> six] |= one << (place & low)
    found = np.empty(len(words), np.int32)
    count = 0
    for i in range(len(words)):
        place = (np.uint64(words[i]) * _MIX) >> shift
        if (bitmap[place >> six] >> (place & low)) & one:
            at = np.searchsorted(listed, words[i])
            if at < len(listed) and listed[at] == words[i]:
                found[count] = i
                count += 1
    return found[:count].copy()
