"""Boxes: a stretch of the run's order and a range of a second word, as two bands leave them to each probe.

The run is cut into aligned blocks of `2**bits` positions, each sorted by the second word. A stretch is covered by at most three
blocks of the size that fits its length (`bits_for`); in each of them the rows in range stand side by side, and of those the
ones outside the stretch are left out by their position. So a probe takes time with the rows in the box, and in the blocks beside
it, and not with its stretch. Nothing is assumed of the words but their order: clusters, gaps and words of doubles are alike.

The second word may be an interval of the stored row, `low <= y <= high`. A block is then sorted by `low`; the rows whose `high`
is large enough begin no earlier than the first place where the greatest `high` so far is.

Resumable like `weft.kernels.emit`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.kernels.emit import Hits
from weft.kernels.jit import kernel
from weft.types import Rows, Words

__all__ = ["LEAST_BITS", "STEP", "Boxes", "Level", "begin_later", "bits_for", "build_level", "walk_boxes"]

LEAST_BITS = 4
STEP = 2
"""Blocks of one level are `2**STEP` times as long as those of the level below."""


class Level(NamedTuple):
    """Blocks of `2**bits` positions: where their rows stand in the run, and the second word, in the order of each block.

    `reach` has the greatest upper end up to each place of a block; it is `low` itself unless rows have intervals.
    """

    bits: int
    place: Rows
    low: Words
    reach: Words


class Boxes(NamedTuple):
    """Per probe row the range of the second word: a stored interval begins at `most` or before, and ends at `least` or later."""

    least: Words
    most: Words


def bits_for(length: Rows) -> Rows:
    """Return the level of stretches: the least blocks of which two are as long.

    >>> bits_for(np.array([1, 32, 33, 128, 129])).tolist()
    [4, 4, 6, 6, 8]
    """
    bits = np.full(len(length), LEAST_BITS, np.int64)
    longest, limit = int(length.max(initial=0)), 2 << LEAST_BITS
    while limit < longest:
        bits[length > limit] += STEP
        limit <<= STEP
    return bits


@kernel
def build_level(
    order: Rows, low: Words, high: Words, bits: int, cursor: Rows, place: Rows, out_low: Words, reach: Words
) -> None:
    """Deal positions out to their blocks in order of `low`; `high` is empty unless rows have intervals."""
    for b in range(len(cursor)):
        cursor[b] = b << bits
    intervals = len(high) > 0
    for rank in range(len(order)):
        position = order[rank]
        b = position >> bits
        at = cursor[b]
        cursor[b] = at + 1
        place[at] = position
        out_low[at] = low[rank]
        if intervals:
            first = at == b << bits
            reach[at] = high[rank] if first else max(high[rank], reach[at - 1])


@kernel
def _first_not_below(words: Words, start: int, size: int, key: int) -> int:
    """Return the first place of `[start, start + size)` whose word is not below `key`, without a branch on the data."""
    at, left = np.uint64(start), np.uint64(size)
    one = np.uint64(1)
    while left > one:
        half = left >> one
        at += half * np.uint64(words[at + half - one] < key)
        left -= half
    return np.int64(at) + np.int64(words[at] < key)


@kernel
def walk_boxes(level: Level, hits: Hits, boxes: Boxes, state: Rows, out_probe: Rows, out_position: Rows) -> int:
    """Fill the chunk with probe rows and run positions, from `state` (hit, block or -1, place or -1) on.

    Done when `state[0] == len(hits.which)`. No branch on whether a row lies in the stretch: about half of them do.
    """
    bits, place, low, reach = level
    room, filled, n = len(out_probe), 0, len(place)
    h, block, at = state[0], state[1], state[2]
    while h < len(hits.which) and filled < room:
        p = hits.rows[hits.which[h]]
        start, end, least, most = hits.start[h], hits.end[h], boxes.least[p], boxes.most[p]
        last = (end - 1) >> bits
        if block < 0:
            block = start >> bits
        while block <= last:
            begin = block << bits
            stop = min(begin + (1 << bits), n)
            if at < 0:
                at = _first_not_below(reach, begin, stop - begin, least)
            limit = min(stop, at + room - filled)
            while at < limit and low[np.uint64(at)] <= most:
                position = np.int64(place[np.uint64(at)])
                out_probe[np.uint64(filled)] = p
                out_position[np.uint64(filled)] = position
                filled += np.int64(position >= start) & np.int64(position < end)
                at += 1
            if at == limit and limit < stop:
                if filled == room:
                    break
                continue
            block, at = block + 1, -1
        else:
            h, block = h + 1, -1
    state[0], state[1], state[2] = h, block, at
    return filled


@kernel
def begin_later(hits: Hits, least: Words, so_far: Words) -> int:
    """Move each start to the first place of its stretch whose word is not below `least`; return how many stretches are left."""
    found = 0
    for h in range(len(hits.which)):
        start, end = hits.start[h], hits.end[h]
        start = _first_not_below(so_far, start, end - start, least[hits.rows[hits.which[h]]])
        hits.which[found], hits.start[found], hits.end[found] = hits.which[h], start, end
        found += np.int64(start < end)
    return found
