"""Merging sorted runs: keys and row numbers move, rows do not.

The kernel for one key is free of branches on the data (a coin-flip branch costs more than the move), and it merges the
lower and the upper half of the result side by side: each step waits for the one before, two chains wait together.
Rows whose new number is negative have expired and are left behind on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from weft.kernels.jit import kernel
from weft.kernels.memory import aligned
from weft.types import Rows, Words

__all__ = ["Sorted", "merge_all", "merge_neighbours"]

P = TypeVar("P")


class Sorted(NamedTuple):
    """Sorted keys (none, one or two columns) with their rows, which are to be renumbered by `shift`."""

    keys: tuple[Words, ...]
    row: Rows
    shift: int = 0


@kernel
def split(a: Words, b: Words, want: int) -> int:
    """Return how many of the first `want` merged keys come from `a`."""
    low, high = max(0, want - len(b)), min(want, len(a))
    while low < high:
        mid = (low + high) >> 1
        if b[want - 1 - mid] < a[mid]:
            high = mid
        else:
            low = mid + 1
    return low


@kernel
def staying(row: Rows, stop: int, shift: int) -> int:
    """Count the rows among the first `stop` whose new number is not negative."""
    count = 0
    for i in range(stop):
        count += np.int64(row[np.uint64(i)] >= -shift)
    return count


@kernel
def merge_rest(
    a: Words, a_row: Rows, a_shift: int, i: int, n: int,
    b: Words, b_row: Rows, b_shift: int, j: int, m: int, out: Words, row: Rows, k: int, most: int,
) -> int:  # fmt: skip
    """Merge `a[i:n]` with `b[j:m]` into the output from `k` on, at most up to `most`; return where it ends."""
    while (i < n or j < m) and k < most:
        if j == m or (i < n and a[i] <= b[j]):
            out[k], row[k] = a[i], a_row[i] + a_shift
            i += 1
        else:
            out[k], row[k] = b[j], b_row[j] + b_shift
            j += 1
        k += np.int64(row[k] >= 0)
    return k


@kernel
def merge_single(
    a: Words, a_row: Rows, a_shift: int, b: Words, b_row: Rows, b_shift: int, out: Words, row: Rows
) -> int:  # fmt: skip
    """Merge by one key; equal keys keep their order. `out` and `row` have room for one more than there are."""
    half = (len(a) + len(b)) // 2
    a_half = split(a, b, half)
    b_half = half - a_half
    upper = half  # where the upper half begins: above what stays of the lower one
    if a_shift < 0 or b_shift < 0:
        upper = staying(a_row, a_half, a_shift) + staying(b_row, b_half, b_shift)
    one = np.uint64(1)  # unsigned throughout: no test for indices from the end
    i, j, k, n, m = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(a_half), np.uint64(b_half)
    i2, j2, k2, n2, m2 = np.uint64(a_half), np.uint64(b_half), np.uint64(upper), np.uint64(len(a)), np.uint64(len(b))
    while True:
        safe = min(n - i, m - j, n2 - i2, m2 - j2)  # steps in which nobody runs out
        if safe == np.uint64(0):
            break
        for _ in range(safe):
            x, y, p, q = (
                a[i],
                b[j],
                a_row[i] + a_shift,
                b_row[j] + b_shift,
            )  # loads first: a conditional load is a branch
            second = np.uint64(y < x)
            r = q if second else p
            out[k], row[k] = min(x, y), r
            k += np.uint64(r >= 0)
            j += second
            i += one - second
            x, y, p, q = a[i2], b[j2], a_row[i2] + a_shift, b_row[j2] + b_shift
            second = np.uint64(y < x)
            r = q if second else p
            out[k2], row[k2] = min(x, y), r
            k2 += np.uint64(r >= 0)
            j2 += second
            i2 += one - second
    i_, j_, k_, i2_, j2_, k2_ = np.int64(i), np.int64(j), np.int64(k), np.int64(i2), np.int64(j2), np.int64(k2)
    merge_rest(a, a_row, a_shift, i_, a_half, b, b_row, b_shift, j_, b_half, out, row, k_, upper)
    end = merge_rest(a, a_row, a_shift, i2_, len(a), b, b_row, b_shift, j2_, len(b), out, row, k2_, len(out))
    if end > upper:  # a row that went from the lower half may have been written over the upper half's first: once more
        merge_rest(a, a_row, a_shift, a_half, len(a), b, b_row, b_shift, b_half, len(b), out, row, upper, upper + 1)
    return end


@kernel
def merge_double(
    a: Words, a2: Words, a_row: Rows, a_shift: int, b: Words, b2: Words, b_row: Rows, b_shift: int,
    out: Words, out2: Words, row: Rows,
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
            i += 1
        else:
            out[k], out2[k], row[k] = b[j], b2[j], b_row[j] + b_shift
            j += 1
        k += np.int64(row[k] >= 0)
    return k


def merge_neighbours(pieces: Sequence[P], size: Callable[[P], int], merge: Callable[[P, P], P]) -> P:
    """Merge neighbouring pieces, the smallest pair first, so that big pieces move once."""
    left = list(pieces)
    while len(left) > 1:
        at = min(range(len(left) - 1), key=lambda i: size(left[i]) + size(left[i + 1]))
        left[at : at + 2] = [merge(left[at], left[at + 1])]
    return left[0]


def merge_all(pieces: Sequence[Sorted]) -> Sorted:
    """Merge pieces, oldest first; rows renumbered below 0 go."""
    if len(pieces) == 1:
        pieces = [*pieces, Sorted(tuple(key[:0] for key in pieces[0].keys), pieces[0].row[:0])]
    return merge_neighbours(pieces, lambda piece: len(piece.row), _merge)


def _merge(a: Sorted, b: Sorted) -> Sorted:
    if not a.keys:
        moved = [piece.row + np.int32(piece.shift) for piece in (a, b)]
        return Sorted((), np.concatenate([row[row >= 0] for row in moved]))
    n = len(a.row) + len(b.row)
    row = aligned(n + 1, np.int32)  # one more than needed: a row that goes is written before it is left behind
    out = [aligned(n + 1, np.int64) for _ in a.keys]
    if len(a.keys) == 1:
        count = merge_single(a.keys[0], a.row, a.shift, b.keys[0], b.row, b.shift, out[0], row)
    else:
        (a1, a2), (b1, b2) = a.keys, b.keys
        count = merge_double(a1, a2, a.row, a.shift, b1, b2, b.row, b.shift, out[0], out[1], row)
    return Sorted(tuple(key[:count] for key in out), row[:count])
