"""Search and emission in one: for ranges that hold a handful of rows, as those of a band or an equality mostly do.

From a probe's node its first partner is a count of smaller keys away, and four rows are copied whether they belong or
not; only then is it known how many did. A longer range is finished by galloping to its end and copying. Nodes are found
some probes ahead, so that their lines are on the way while others are worked on. A run that is not much longer than the
probe block needs no nodes: both are walked side by side.

Like all emission it is resumable: `state` holds the probe, the position within a long range to go on from (-1: none),
and where the walk stands; it begins as (0, -1, 0). Whatever the range does not decide is checked afterwards, on the
pairs found, in place (`weft.kernels.keep`).

Rows stand beside the keys or, packed, in the same word (`weft.kernels.packed`): the kernels are compiled for either.
"""

from __future__ import annotations

import numpy as np

from weft.kernels.jit import kernel
from weft.kernels.packed import Beside, prefetch_row, row_at
from weft.kernels.prefetch import prefetch
from weft.kernels.search import NODE, Fences, advance, pass_over
from weft.types import Rows, Words

__all__ = ["emit_near"]

_AHEAD = 20
_RING = 64  # more than twice as far ahead, a power of two
_FEW = 4
_DENSE = 3
"""Up to this many rows per probe, run and probes are walked side by side."""
_FAR = 12
"""From this many fences per probe on, posts are walked instead of fences."""


@kernel
def emit_dense(
    keys: Words, row: Beside, rows: Rows, lo: Words, hi: Words, state: Rows, out_probe: Rows, out_stored: Rows
) -> int:
    """Walk a run beside the probes."""
    n, m, room = len(keys), np.uint64(len(lo)), len(out_probe)
    safe = np.uint64(max(n - NODE - _FEW, 0))  # from here on the end is near, and nothing is read past it
    full = np.uint64(max(room - _FEW, 0))
    one, few, node = np.uint64(1), np.uint64(_FEW), np.uint64(NODE)  # unsigned: no test for indices from the end
    i, pos, filled, at = np.uint64(state[0]), np.uint64(state[2]), np.uint64(0), np.int64(state[1])
    while i < m and np.int64(filled) < room:
        low, high, p = lo[i], hi[i], rows[i]
        if at < 0:
            below = node
            if pos < safe and filled < full:
                below = np.uint64(0)
                for d in range(NODE):
                    below += np.uint64(keys[pos + np.uint64(d)] < low)
                pos += below
            if below < node and pos < safe:
                count = np.uint64(0)
                for d in range(_FEW):
                    count += np.uint64(keys[pos + np.uint64(d)] <= high)
                for d in range(_FEW):
                    out_probe[filled + np.uint64(d)] = p
                for d in range(_FEW):
                    out_stored[filled + np.uint64(d)] = row_at(keys, row, pos + np.uint64(d))
                filled += count
                if count < few:
                    i += one
                    continue
                at = np.int64(pos + few)
            else:
                at = advance(keys, low, np.int64(pos))
                pos = np.uint64(at)
        end = pass_over(keys, high, at)
        taken = min(end - at, room - np.int64(filled))
        for d in range(taken):
            out_probe[filled + np.uint64(d)] = p
            out_stored[filled + np.uint64(d)] = row_at(keys, row, np.uint64(at + d))
        filled += np.uint64(taken)
        at += taken
        if at == end:
            i, at = i + one, -1
    state[0], state[1], state[2] = i, at, pos
    return np.int64(filled)


@kernel
def emit_sparse(  # noqa: PLR0915 - three stages of one loop: a call between them costs more than the work
    keys: Words, row: Beside, low_level: Words, top: Words, far: bool, rows: Rows, lo: Words, hi: Words, state: Rows,
    out_probe: Rows, out_stored: Rows,
) -> int:  # fmt: skip
    """Look up each probe's node: walk the top level, some probes ahead; if it is not the low one (`far`), go down."""
    m, room = len(lo), len(out_probe)
    node, few = np.uint64(NODE), np.uint64(_FEW)
    safe_top = np.uint64(max(len(top) - NODE, 0))
    safe_fence, safe, full = len(low_level) - NODE, len(keys) - NODE - _FEW, room - _FEW
    tops, nodes = np.empty(_RING, np.int64), np.empty(_RING, np.int64)
    mask = np.uint64(_RING - 1)
    j, at, walked, filled = np.int64(state[0]), np.int64(state[1]), np.uint64(state[2]), np.uint64(0)
    h = i = j
    lead = 2 * _AHEAD if far else _AHEAD
    while j < m and np.int64(filled) < room:
        while h < m and h <= j + lead:
            low = lo[np.uint64(h)]
            while True:
                if walked >= safe_top:
                    walked = np.uint64(advance(top, low, np.int64(walked)))
                    break
                below = np.uint64(0)
                for d in range(NODE):
                    below += np.uint64(top[walked + np.uint64(d)] < low)
                walked += below
                if below < node:
                    break
            under = max(np.int64(walked) - 1, 0) * NODE
            tops[np.uint64(h) & mask] = under
            if far:
                prefetch(low_level, under)
            h += 1
        while i < m and i <= j + _AHEAD:
            under = tops[np.uint64(i) & mask]
            if far:
                low = lo[np.uint64(i)]
                if under <= safe_fence:
                    below = np.uint64(0)
                    for d in range(NODE):
                        below += np.uint64(low_level[np.uint64(under + d)] < low)
                    under = max(under + np.int64(below) - 1, under) * NODE
                else:
                    under = max(advance(low_level, low, under) - 1, under) * NODE
            nodes[np.uint64(i) & mask] = under
            prefetch(keys, under)
            prefetch_row(row, under)
            prefetch(keys, under + NODE)
            prefetch_row(row, under + NODE)
            i += 1
        low, high, p = lo[np.uint64(j)], hi[np.uint64(j)], rows[np.uint64(j)]
        if at < 0:
            under = nodes[np.uint64(j) & mask]
            if under <= safe and np.int64(filled) <= full:
                pos = np.uint64(under)
                below = np.uint64(0)
                for d in range(NODE):
                    below += np.uint64(keys[pos + np.uint64(d)] < low)
                pos += below
                count = np.uint64(0)
                for d in range(_FEW):
                    count += np.uint64(keys[pos + np.uint64(d)] <= high)
                for d in range(_FEW):
                    out_probe[filled + np.uint64(d)] = p
                for d in range(_FEW):
                    out_stored[filled + np.uint64(d)] = row_at(keys, row, pos + np.uint64(d))
                filled += count
                if count < few:
                    j += 1
                    continue
                at = np.int64(pos + few)
            else:
                at = advance(keys, low, under)
        end = pass_over(keys, high, at)
        taken = min(end - at, room - np.int64(filled))
        for d in range(taken):
            out_probe[filled + np.uint64(d)] = p
            out_stored[filled + np.uint64(d)] = row_at(keys, row, np.uint64(at + d))
        filled += np.uint64(taken)
        at += taken
        if at == end:
            j, at = j + 1, -1
    state[0], state[1] = j, at
    if j < m:
        state[2] = tops[np.uint64(j) & mask] // NODE  # not past what probe j needs
    return np.int64(filled)


def emit_near(
    keys: Words, row: Beside, fences: Fences, lo: Words, hi: Words, rows: Rows, state: Rows,
    out_probe: Rows, out_stored: Rows,
) -> int:  # fmt: skip
    """Fill the chunk with the rows of `[lo, hi]`, `lo` ascending; done when `state[0] == len(lo)`."""
    if len(keys) <= _DENSE * len(lo):
        return emit_dense(keys, row, rows, lo, hi, state, out_probe, out_stored)
    far = len(fences.fences) >= _FAR * len(lo)
    top = fences.posts if far else fences.fences
    return emit_sparse(keys, row, fences.fences, top, far, rows, lo, hi, state, out_probe, out_stored)
