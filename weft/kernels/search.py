"""Where each probe's partners lie in a sorted run.

A run is the bottom of a CSS-tree (002-09): every eight keys are a node of one cache line, `fences` hold the first key of
each node, `posts` the first of every eight fences. Probes come sorted, so on the highest level that is worth having
they only move forward; below it a probe looks at one node per level. In a node all eight keys are compared and the
smaller ones counted: no branch depends on the data, for a mispredicted one costs more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.kernels.jit import kernel
from weft.kernels.prefetch import prefetch
from weft.types import Rows, Words

__all__ = ["NODE", "Fences", "advance", "fences_of", "find_lexical", "find_range", "locate", "pass_over"]

NODE = 8
_AHEAD = 12
_FAR = 6
"""From this many fences per probe on, posts are walked instead of fences."""


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
def walk(keys: Words, lo: Words, node: Rows) -> None:
    """Write for every probe the last position whose key is below `lo`, 0 if there is none; `lo` ascends."""
    n, pos = len(keys), 0
    safe = n - NODE
    for i in range(len(lo)):
        low = lo[i]
        below = NODE
        while below == NODE and pos <= safe:
            below = 0
            for d in range(NODE):
                below += np.int64(keys[np.uint64(pos + d)] < low)
            pos += below
            if below == NODE and pos < n and keys[pos] < low:
                pos = advance(keys, low, pos)  # further than a node: gallop
                below = 0
        if below == NODE:
            pos = advance(keys, low, pos)
        node[i] = max(pos - 1, 0)


@kernel
def descend(keys: Words, lo: Words, node: Rows) -> None:
    """Turn node numbers into positions one level lower, by the same rule."""
    m, safe = len(lo), len(keys) - NODE
    for i in range(m):
        if i + _AHEAD < m:
            prefetch(keys, np.int64(node[i + _AHEAD]) * NODE)
        pos = np.int64(node[i]) * NODE
        if pos <= safe:
            below = 0
            for d in range(NODE):
                below += np.int64(keys[np.uint64(pos + d)] < lo[i])
            node[i] = max(pos + below - 1, pos)
        else:
            node[i] = max(advance(keys, lo[i], pos) - 1, pos)


@kernel
def locate(fences: Fences, lo: Words, node: Rows) -> None:
    """Write for every probe the node that its first partner is in or behind; `lo` ascends."""
    if len(fences.fences) >= _FAR * len(lo):
        walk(fences.posts, lo, node)
        descend(fences.fences, lo, node)
    else:
        walk(fences.fences, lo, node)


@kernel
def find_range(keys: Words, fences: Fences, lo: Words, hi: Words, which: Rows, start: Rows, end: Rows) -> int:
    """Report `[start, end)` of the keys in `[lo, hi]` for every probe that has any; `lo` ascends."""
    m, hits = len(lo), 0
    locate(fences, lo, end)  # `end` holds the nodes until they are looked at
    for i in range(m):
        if i + _AHEAD < m:
            prefetch(keys, end[i + _AHEAD] * NODE)
        pos = advance(keys, lo[i], end[i] * NODE)
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
