"""The intersection of two ranges over the same rows, each range being a stretch of one of two sort orders.

Every row has its position in both orders, so whether a row of one range lies in the other is two comparisons: the shorter
range is walked, the longer one asked. Resumable like `weft.kernels.emit`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.kernels.emit import Checks, holds
from weft.kernels.jit import kernel
from weft.types import Rows, Words

__all__ = ["Order", "Ranges", "emit_crossing", "order_with_ranks"]


class Order(NamedTuple):
    """A sort order of a run: the row at each position, and the position of each row (-1: not in the order)."""

    row: Rows
    rank: Rows


class Ranges(NamedTuple):
    """Per hit: the probe row, and its stretches `[start, end)` of the first and of the second order."""

    probe: Rows
    start: Rows
    end: Rows
    start2: Rows
    end2: Rows


def order_with_ranks(row: Rows, rows: int) -> Order:
    """Return an order with the position of each of the run's rows."""
    rank = np.full(rows, -1, np.int64)
    rank[row] = np.arange(len(row))
    return Order(row, rank)


@kernel
def emit_crossing(
    ranges: Ranges, first: Order, second: Order, probe: Words, words: Words, rest: Checks, state: Rows,
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
