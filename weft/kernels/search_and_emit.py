"""Search and emission in one: for ranges that hold a handful of rows, as those of a band or an equality mostly do.

First all probes walk the highest level worth having (`approach`): a run that is not much longer than the probe block itself,
its fences, or the posts above them. From there each goes down to its first partner, and eight rows are copied whether they
belong or not; only then is it known how many did. A longer range is finished by galloping to its end and copying.

Lines are asked for some probes ahead. Below the fences a range is taken to lie in two lines. Where posts were walked the run is
much larger than any cache and each line counts: there the fence behind a node tells whether the range goes on in the next one,
and a probe touches the lines it needs and no other.

Like all emission it is resumable: `state` holds the probe, the position within a long range to go on from (-1: none),
and the first probe whose lines were not asked for; it begins as (0, -1, 0). Whatever the range does not decide is checked
afterwards, on the pairs found, in place (`weft.kernels.emit`).

Rows stand beside the keys or, packed, in the same word (`weft.kernels.packed`): the kernels are compiled for either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.kernels.jit import inlined, kernel
from weft.kernels.llvm import count_less, count_upto, fill_lanes, prefetch
from weft.kernels.packed import Beside, copy_rows, prefetch_row, row_at
from weft.kernels.search import FAR, NODE, Fences, advance, down, pass_over, under, walk
from weft.types import Rows, Words

__all__ = ["Approach", "approach", "emit_near"]

_AHEAD = 24
_DENSE = 3
"""Up to this many rows per probe, run and probes are walked side by side."""
_KEYS, _FENCES, _POSTS = 0, 1, 2


class Approach(NamedTuple):
    """For every probe the first position not below its range: on which level, and where."""

    level: int
    found: Rows


def approach(keys: Words, fences: Fences, lo: Words) -> Approach:
    """Walk the highest level worth having; `lo` ascends."""
    found = np.empty(len(lo), np.int32)
    if len(keys) <= _DENSE * len(lo):
        walk(keys, lo, found)
        return Approach(_KEYS, found)
    if len(fences.fences) < FAR * len(lo):
        walk(fences.fences, lo, found)
        return Approach(_FENCES, found)
    walk(fences.posts, lo, found)
    return Approach(_POSTS, found)


@inlined
def _goes_on(fences: Words, found: int, high: int) -> int:
    """Return 1 if a range goes on in the node behind the one that it begins in, else 0; no branch."""
    last = np.int64(len(fences) - 1)
    return np.int64(fences[np.uint64(min(found, last))] <= high) & np.int64(found <= last)


@inlined
def _ask_for(keys: Words, row: Beside, node: int) -> None:
    """Ask for the line of a node."""
    prefetch(keys, node)
    prefetch_row(row, node)


@kernel
def emit_near(
    keys: Words, row: Beside, fences: Words, level: int, found: Rows, lo: Words, hi: Words, rows: Rows, state: Rows,
    out_probe: Rows, out_stored: Rows,
) -> int:  # fmt: skip
    """Fill the chunk with the rows of `[lo, hi]`, `lo` ascending; done when `state[0] == len(lo)`."""
    m, room = np.uint64(len(lo)), len(out_probe)
    safe, full = len(keys) - 2 * NODE, room - 2 * NODE  # beyond, the end is near: nothing is read or written past it
    one, node, ahead = np.uint64(1), np.uint64(NODE), np.uint64(_AHEAD)  # unsigned: no test for indices from the end
    i, at, asked, filled = np.uint64(state[0]), np.int64(state[1]), np.uint64(state[2]), np.uint64(0)
    while i < m and np.int64(filled) < room:
        while level != _KEYS and asked < m and asked <= i + ahead:
            if level == _FENCES:
                begin = under(np.int64(found[asked]))
                _ask_for(keys, row, begin)
                _ask_for(keys, row, begin + NODE)
            else:
                if asked + ahead < m:
                    prefetch(fences, under(np.int64(found[asked + ahead])))
                fence = down(fences, lo[asked], np.int64(found[asked]))
                begin, more = under(fence), _goes_on(fences, fence, hi[asked])
                _ask_for(keys, row, begin)
                _ask_for(keys, row, begin + NODE * more)
                found[asked] = (
                    begin // NODE * 2 + more
                )  # from here on: the node, and whether the next one is needed too
            asked += one
        low, high, p = lo[i], hi[i], np.int32(rows[i])
        if at < 0:
            begin = np.int64(found[i])
            if level == _FENCES:
                begin = under(begin)
            elif level == _POSTS:
                begin = begin // 2 * NODE
            if begin <= safe and np.int64(filled) <= full:
                pos = np.uint64(begin)
                if level == _POSTS:
                    below, more = count_less(keys, pos, low), np.uint64(found[i] & 1)
                    upto = max(count_upto(keys, pos, high), below)  # an empty range may end before it begins
                    fill_lanes(out_probe, filled, p)
                    copy_rows(keys, row, pos, below, out_stored, filled)
                    filled += upto - below
                    pos += node * more  # the next node, or this one again and nothing of it
                    count = more * count_upto(keys, pos, high)
                else:
                    if level == _FENCES:
                        pos += count_less(keys, pos, low)
                    count = count_upto(keys, pos, high)
                fill_lanes(out_probe, filled, p)
                copy_rows(keys, row, pos, np.uint64(0), out_stored, filled)
                filled += count
                if count < node:
                    i += one
                    continue
                at = np.int64(pos + node)
            else:
                at = advance(keys, low, begin)
        end = pass_over(keys, high, at)
        taken = min(end - at, room - np.int64(filled))
        for d in range(taken):
            out_probe[filled + np.uint64(d)] = p
            out_stored[filled + np.uint64(d)] = row_at(keys, row, np.uint64(at + d))
        filled += np.uint64(taken)
        at += taken
        if at == end:
            i, at = i + one, -1
    state[0], state[1], state[2] = i, at, asked
    return np.int64(filled)
