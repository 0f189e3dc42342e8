"""Two inequalities at once: by blocks, in time that follows the output and not the candidates; or by intersection.

The run is sorted by x, so the first inequality leaves each probe a prefix (or, mirrored, a suffix) of it. A prefix of
length e falls into aligned blocks, at most three of each size 4**k, by the base-4 digits of e. Were each block sorted by
y, its matches for the second inequality would stand at its head: look at the head, go on while it matches. So the
levels are built one after the other, each in one pass over the rows in y order, and all probes walk the level.
O((n + m) log n + pairs), and memory for one level.

IEJoin (Y10, permutation + bit array) scans a bit array per probe, which is quadratic / 64; this is not. Equal values
need no care here: the place of the first qualifying y is searched for, not derived by an offset.

The intersection (000-50) needs both orders of the same rows, and each range is a stretch of one of them. Every row has its
position in both orders, so whether a row of one range lies in the other is two comparisons: the shorter range is walked, the
longer one asked. Resumable like `weft.kernels.emit`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kernels.emit import Checks, holds
from weft.kernels.jit import kernel
from weft.types import Rows, Words

__all__ = [
    "RADIX", "RankedOrder", "TwoRanges", "build_level", "emit_crossing", "head_limits", "levels", "order_with_ranks",
    "walk_level", "worthwhile",
]  # fmt: skip

RADIX = 2  # bits per digit: four blocks make one of the next level
I32 = NDArray[np.int32]


def levels(n: int) -> int:
    """Return how many block sizes a run of `n` rows needs.

    >>> levels(16), levels(17)
    (3, 3)
    """
    return max(1, (n.bit_length() + RADIX - 1) // RADIX)


def worthwhile(n: int, probes: int, candidates: int) -> bool:
    """Tell whether blocks beat looking at every candidate (about 3 ns a row and level against 1 ns a candidate)."""
    return candidates > 4 * (n + probes) * levels(n)


@kernel
def build_level(places: I32, bits: int, level: I32, cursor: I32) -> None:
    """Sort every block of `2**bits` places by rank: deal the ranks out in order. `places[rank]` is a position."""
    for b in range(len(cursor)):
        cursor[b] = b << bits
    for rank in range(len(places)):
        b = places[rank] >> bits
        level[cursor[b]] = rank
        cursor[b] += 1


def head_limits(ordered: Words, ends: Words, upward: bool) -> Rows:
    """Return how many ranks match: `y <= end` counted from the least, or (`upward`) `y >= end` from the greatest."""
    if upward:
        return len(ordered) - np.searchsorted(ordered, ends, side="left")
    return np.searchsorted(ordered, ends, side="right")


@kernel
def walk_level(
    level: I32, bits: int, length: Rows, limit: Rows, rows: Rows, row: Rows, probe: Words, words: Words,
    checks: Checks, state: Rows, out_probe: Rows, out_stored: Rows,
) -> int:  # fmt: skip
    """Fill the chunk from the heads of this level's blocks; `state` is (probe, block, offset).

    `length[i]` is the prefix of probe i and `limit[i]` the ranks it accepts; `row[rank]` leads back to the run's rows.
    Done when `state[0] == len(length)`.
    """
    room, filled = len(out_probe), 0
    i, block, offset = state[0], state[1], state[2]
    size, mask = 1 << bits, (1 << RADIX) - 1
    bare = len(checks.column) == 0 and len(checks.odd) == 0
    while i < len(length):
        digit = (length[i] >> bits) & mask
        base = (length[i] >> (bits + RADIX)) << (bits + RADIX)
        top, p = limit[i], rows[i]
        while block < digit:
            at = base + (block << bits)
            while offset < size:
                rank = level[at + offset]
                if rank >= top:
                    break
                if filled == room:
                    state[0], state[1], state[2] = i, block, offset
                    return filled
                if bare or holds(probe, p, words, row[rank], checks):
                    out_probe[filled] = p
                    out_stored[filled] = row[rank]
                    filled += 1
                offset += 1
            block, offset = block + 1, 0
        i, block = i + 1, 0
    state[0], state[1], state[2] = i, block, offset
    return filled


class RankedOrder(NamedTuple):
    """A sort order of a run: the row at each position, and the position of each row (-1: not in the order)."""

    row: Rows
    rank: Rows


class TwoRanges(NamedTuple):
    """Per hit: the probe row, and its stretches `[start, end)` of the first and of the second order."""

    probe: Rows
    start: Rows
    end: Rows
    start2: Rows
    end2: Rows


def order_with_ranks(row: Rows, rows: int) -> RankedOrder:
    """Return an order with the position of each of the run's rows."""
    rank = np.full(rows, -1, np.int64)
    rank[row] = np.arange(len(row))
    return RankedOrder(row, rank)


@kernel
def emit_crossing(
    ranges: TwoRanges, first: RankedOrder, second: RankedOrder, probe: Words, words: Words, rest: Checks, state: Rows,
    out_probe: Rows, out_stored: Rows,
) -> int:  # fmt: skip
    """Fill the chunk from `state` (hit, offset) on; return how many. Done when `state[0] == len(ranges.probe)`."""
    room, filled = len(out_probe), 0
    h, at = state[0], state[1]
    while h < len(ranges.probe) and filled < room:
        p = ranges.probe[h]
        if ranges.end[h] - ranges.start[h] <= ranges.end2[h] - ranges.start2[h]:
            walked, asked = first.row, second.rank
            begin, stop, low, high = ranges.start[h], ranges.end[h], ranges.start2[h], ranges.end2[h]
        else:
            walked, asked = second.row, first.rank
            begin, stop, low, high = ranges.start2[h], ranges.end2[h], ranges.start[h], ranges.end[h]
        j = begin + at
        while j < stop and filled < room:
            s = walked[j]
            if low <= asked[s] < high and holds(probe, p, words, s, rest):
                out_probe[filled] = p
                out_stored[filled] = s
                filled += 1
            j += 1
        if j >= stop:
            h, at = h + 1, 0
        else:
            at = j - begin
    state[0], state[1] = h, at
    return filled
