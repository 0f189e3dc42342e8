"""Where each probe's partners lie in a sorted run.

A run is the bottom of a CSS-tree (002-09): every eight keys are a node of one cache line, `fences` hold the first key of
each node, `posts` the first of every eight fences. Probes come sorted, so on the highest level that is worth having
they only move forward; below it a probe looks at one node per level. In a node all eight keys are compared and the
smaller ones counted: no branch depends on the data, for a mispredicted one costs more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.kernels.jit import inlined, kernel
from weft.kernels.lanes import LANES, count_less
from weft.kernels.prefetch import prefetch
from weft.types import Rows, Words

__all__ = [
    "FAR", "NODE", "Fences", "advance", "down", "fences_of", "find_lexical", "find_range", "locate", "pass_over", "under",
    "walk",
]  # fmt: skip

NODE = LANES
FAR = 12
"""From this many fences per probe on, posts are walked instead of fences."""
_AHEAD = 12
_STEPS = 4
"""Nodes that a probe walks before it gallops."""


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
