"""Of a range of rows, those whose word is large enough: a tree of maxima finds them without looking at the others.

A table of intervals is sorted by their starts. Those that have started before x are a prefix, mostly nearly all of the table;
those of them that have not ended yet are few. Over the ends stands a tree: every node has the greatest word of the eight
below it. A walk from the last row of the range backward goes up while nothing below a node is large enough, and
down to the last row that is: O(log n) per row found, whatever lies between two of them.

Where the range begins with its group (the prefix of all rows with an equal first word), the greatest word *so far* tells at once
that nothing is left: for intervals that do not overlap, a probe looks at two rows. This is a priority search tree
(McCreight 1985) laid out as arrays, with the run itself as its bottom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.kernels.emit import Checks, Hits, holds
from weft.kernels.jit import inlined, kernel
from weft.types import Bools, Rows, Words

__all__ = ["NODE", "Peaks", "emit_high", "greatest_so_far", "in_probe_order", "mark_any", "peaks_of"]

NODE = 8
"""Words below one node: a line of the cache."""
_BITS = 3


class Peaks(NamedTuple):
    """All levels, the rows' own words first, one behind the other; level k begins at `first[k]`.

    `so_far` has the greatest word of each row's group up to that row.
    """

    levels: Words
    first: Rows
    so_far: Words


@kernel
def _fill_levels(levels: Words, first: Rows) -> None:
    for level in range(1, len(first) - 1):
        below, size = first[level - 1], first[level] - first[level - 1]
        for node in range(first[level + 1] - first[level]):
            begin = node << _BITS
            most = levels[below + begin]
            for at in range(begin + 1, min(begin + NODE, size)):
                most = max(most, levels[below + at])
            levels[first[level] + node] = most


@kernel
def _fill_so_far(words: Words, groups: Words, so_far: Words) -> None:
    for at in range(len(words)):
        first = at == 0 or (len(groups) > 0 and groups[at] != groups[at - 1])
        so_far[at] = words[at] if first else max(so_far[at - 1], words[at])


def greatest_so_far(words: Words, groups: Words | None = None) -> Words:
    """Return the greatest word of each row's group up to that row."""
    so_far = np.empty(len(words), np.int64)
    _fill_so_far(words, np.empty(0, np.int64) if groups is None else groups, so_far)
    return so_far


def peaks_of(words: Words, groups: Words | None = None) -> Peaks:
    """Build the tree over words in index order; `groups` are the words that rows of one range have in common."""
    sizes = [len(words)]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + NODE - 1) >> _BITS)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    levels = np.empty(int(first[-1]), np.int64)
    levels[: len(words)] = words
    _fill_levels(levels, first)
    return Peaks(levels, first, greatest_so_far(levels[: len(words)], groups))


@inlined
def _last_high(levels: Words, first: Rows, at: int, least: int) -> int:
    """Return the last position up to `at` whose word is at least `least`; there must be one."""
    level, i = 0, at
    while True:
        base, node = first[level], (i >> _BITS) << _BITS
        while i >= node and levels[base + i] < least:
            i -= 1
        if i >= node:
            break
        i = (node >> _BITS) - 1
        level += 1
    while level > 0:
        size = first[level] - first[level - 1]
        level -= 1
        i = min((i << _BITS) + NODE, size) - 1
        while levels[first[level] + i] < least:
            i -= 1
    return i


@kernel
def emit_high(
    hits: Hits, peaks: Peaks, least: Words, row: Rows, probe: Words, words: Words, rest: Checks, once: bool,
    state: Rows, out_probe: Rows, out_stored: Rows,
) -> int:  # fmt: skip
    """Fill the chunk with candidates whose word is at least `least` of their probe row, each range from its end.

    With `once` a probe row's first match is enough.
    `state` is (hit, position to go on from, or -1); done when `state[0] == len(hits.which)`.
    """
    levels, first, so_far = peaks
    room, filled = len(out_probe), 0
    h, at, total = state[0], state[1], len(hits.which)
    bare = len(rest.column) == 0 and len(rest.odd) == 0
    while h < total:
        p, start = hits.rows[hits.which[h]], hits.start[h]
        wanted = least[p]
        if at < 0:
            at = hits.end[h] - 1
        while at >= start and so_far[at] >= wanted:
            if filled == room:
                state[0], state[1] = h, at
                return filled
            at = _last_high(levels, first, at, wanted)
            if at < start:
                break
            if bare or holds(probe, p, words, row[at], rest):
                out_probe[filled] = p
                out_stored[filled] = row[at]
                filled += 1
                if once:
                    break
            at -= 1
        h, at = h + 1, -1
    state[0], state[1] = h, at
    return filled


@kernel
def mark_any(hits: Hits, row: Rows, probe: Words, words: Words, checks: Checks, found: Bools) -> None:
    """Mark the probe rows that have a candidate that passes."""
    for h in range(len(hits.which)):
        p = hits.rows[hits.which[h]]
        for at in range(hits.start[h], hits.end[h]):
            if holds(probe, p, words, row[at], checks):
                found[p] = True
                break


@kernel
def _ordered(probe: Rows, stored: Rows, first: Rows, out_probe: Rows, out_stored: Rows) -> None:
    for k in range(len(probe)):
        p = probe[k]
        at = first[p]
        first[p] = at + 1
        out_probe[at] = p
        out_stored[at] = stored[k]


def in_probe_order(probe: Rows, stored: Rows, rows: int) -> tuple[Rows, Rows]:
    """Return pairs in the order of their probe rows, those of one row as they came: a counting sort.

    >>> [found.tolist() for found in in_probe_order(np.array([2, 0, 2]), np.array([5, 6, 7]), 3)]
    [[0, 2, 2], [6, 5, 7]]
    """
    counts = np.bincount(probe, minlength=rows)
    first = np.cumsum(counts) - counts
    out_probe, out_stored = np.empty(len(probe), np.int32), np.empty(len(probe), np.int32)
    _ordered(probe, stored, first, out_probe, out_stored)
    return out_probe, out_stored
