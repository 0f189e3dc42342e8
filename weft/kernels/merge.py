"""Merging sorted runs: keys and row numbers move, rows do not.

Both kernels are free of branches on the data (a coin-flip branch costs more than the move). Rows numbered below `dead`
have expired and are left behind on the way; the others are renumbered by `shift`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.kernels.jit import kernel
from weft.types import Rows, Words

__all__ = ["Sorted", "merge_all"]


class Sorted(NamedTuple):
    """Sorted keys (none, one or two columns) with their rows; rows below `dead` are to go, others to move by `shift`."""

    keys: tuple[Words, ...]
    row: Rows
    dead: int = 0
    shift: int = 0


@kernel
def merge_single(
    a: Words,
    a_row: Rows,
    a_dead: int,
    a_shift: int,
    b: Words,
    b_row: Rows,
    b_dead: int,
    b_shift: int,
    out: Words,
    row: Rows,
) -> int:
    """Merge by one key; equal keys keep their order."""
    i, j, k, one = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(1)  # unsigned: no test for indices from the end
    n, m = np.uint64(len(a)), np.uint64(len(b))
    while i < n and j < m:
        x, y, p, q = a[i], b[j], a_row[i], b_row[j]  # all loads first: a load behind a condition becomes a branch
        first = x <= y
        out[k] = x if first else y
        row[k] = p + a_shift if first else q + b_shift
        k += np.uint64(p >= a_dead) if first else np.uint64(q >= b_dead)
        i += np.uint64(first)
        j += np.uint64(not first)
    while i < n:
        out[k], row[k] = a[i], a_row[i] + a_shift
        k += np.uint64(a_row[i] >= a_dead)
        i += one
    while j < m:
        out[k], row[k] = b[j], b_row[j] + b_shift
        k += np.uint64(b_row[j] >= b_dead)
        j += one
    return k


@kernel
def merge_double(
    a: Words, a2: Words, a_row: Rows, a_dead: int, a_shift: int,
    b: Words, b2: Words, b_row: Rows, b_dead: int, b_shift: int, out: Words, out2: Words, row: Rows,
) -> int:  # fmt: skip
    """Merge by two keys, the first one leading."""
    i = j = k = 0
    n, m = len(a), len(b)
    while i < n or j < m:
        if j == m:
            first = True
        elif i == n:
            first = False
        else:
            first = a[i] < b[j] or (a[i] == b[j] and a2[i] <= b2[j])
        if first:
            out[k], out2[k], row[k] = a[i], a2[i], a_row[i] + a_shift
            k += a_row[i] >= a_dead
            i += 1
        else:
            out[k], out2[k], row[k] = b[j], b2[j], b_row[j] + b_shift
            k += b_row[j] >= b_dead
            j += 1
    return k


def merge_all(pieces: list[Sorted]) -> Sorted:
    """Merge neighbouring pieces, the smallest pair first, so that big pieces move once."""
    pieces = list(pieces)
    if len(pieces) == 1:
        pieces.append(Sorted(tuple(key[:0] for key in pieces[0].keys), pieces[0].row[:0]))
    while len(pieces) > 1:
        at = min(range(len(pieces) - 1), key=lambda i: len(pieces[i].row) + len(pieces[i + 1].row))
        pieces[at : at + 2] = [_merge(pieces[at], pieces[at + 1])]
    return pieces[0]


def _merge(a: Sorted, b: Sorted) -> Sorted:
    if not a.keys:
        return Sorted((), np.concatenate([p.row[p.row >= p.dead] + p.shift for p in (a, b)]))
    n = len(a.row) + len(b.row)
    row = np.empty(n + 1, np.int64)  # one more than needed: a dead row is written before it is left behind
    out = [np.empty(n + 1, np.int64) for _ in a.keys]
    if len(a.keys) == 1:
        count = merge_single(a.keys[0], a.row, a.dead, a.shift, b.keys[0], b.row, b.dead, b.shift, out[0], row)
    else:
        (a1, a2), (b1, b2) = a.keys, b.keys
        count = merge_double(a1, a2, a.row, a.dead, a.shift, b1, b2, b.row, b.dead, b.shift, out[0], out[1], row)
    return Sorted(tuple(key[:count] for key in out), row[:count])
