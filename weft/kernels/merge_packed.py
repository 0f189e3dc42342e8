"""Merging packed runs: four quarters of the result side by side.

A step waits for the comparison of the step before; four chains wait together. No branch depends on the data. The fences of the
result are taken every few hundred steps, while its words are still in the cache: later each would be fetched again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.kernels.jit import kernel
from weft.kernels.memory import aligned
from weft.kernels.merge import merge_neighbours
from weft.kernels.packed import Packed
from weft.kernels.search import NODE, Fences
from weft.types import Words

__all__ = ["Piece", "merge_pieces", "without_first"]

_ROUND = 512
"""Steps of a round: what four chains write in it stays in the first cache."""


class Piece(NamedTuple):
    """Sorted words, what is to be added to each of them, and every eighth if whoever made them had these at hand."""

    words: Words
    shift: int
    fences: Words | None = None


@kernel
def split(a: Words, a_shift: int, b: Words, b_shift: int, want: int) -> int:
    """Return how many of the first `want` merged words come from `a`."""
    low, high = max(0, want - len(b)), min(want, len(a))
    while low < high:
        mid = (low + high) >> 1
        if b[want - 1 - mid] + b_shift < a[mid] + a_shift:
            high = mid
        else:
            low = mid + 1
    return low


@kernel
def merge_rest(
    a: Words, a_shift: int, i: int, n: int, b: Words, b_shift: int, j: int, m: int, out: Words, k: int
) -> None:
    """Merge `a[i:n]` with `b[j:m]` into the output from `k` on."""
    while i < n and j < m:
        x, y = a[i] + a_shift, b[j] + b_shift
        out[k] = min(x, y)
        i += np.int64(x < y)
        k += 1
        j = j + 1 if y < x else j
    for d in range(i, n):
        out[k + d - i] = a[d] + a_shift
    for d in range(j, m):
        out[k + d - j] = b[d] + b_shift


@kernel
def fence(words: Words, begin: int, end: int, fences: Words) -> None:
    """Note every eighth of all words, as far as it is one of those from `begin` to `end`."""
    for node in range((begin + NODE - 1) // NODE, (end + NODE - 1) // NODE):
        fences[np.uint64(node)] = words[np.uint64(node * NODE)]


@kernel
def merge_four(a: Words, a_shift: int, b: Words, b_shift: int, out: Words, fences: Words) -> None:
    """Merge sorted words, all different, after adding a shift to each of a side; note every eighth."""
    quarter = (len(a) + len(b)) // 4
    a1, a2, a3 = (
        split(a, a_shift, b, b_shift, quarter),
        split(a, a_shift, b, b_shift, 2 * quarter),
        split(a, a_shift, b, b_shift, 3 * quarter),
    )
    b1, b2, b3 = quarter - a1, 2 * quarter - a2, 3 * quarter - a3
    # Unsigned: no test for indices from the end.
    i, i1, i2, i3, i4 = np.uint64(0), np.uint64(a1), np.uint64(a2), np.uint64(a3), np.uint64(len(a))
    j, j1, j2, j3, j4 = np.uint64(0), np.uint64(b1), np.uint64(b2), np.uint64(b3), np.uint64(len(b))
    n, n1, n2, m, m1, m2 = i1, i2, i3, j1, j2, j3  # where the first three quarters end
    k, one = np.uint64(0), np.uint64(1)
    k1, k2, k3 = np.uint64(quarter), np.uint64(2 * quarter), np.uint64(3 * quarter)
    while True:
        safe = min(n - i, m - j, n1 - i1, m1 - j1, n2 - i2, m2 - j2, i4 - i3, j4 - j3)  # steps in which nobody runs out
        if safe == np.uint64(0):
            break
        before = np.int64(k)
        for _ in range(min(safe, np.uint64(_ROUND))):
            x, y = a[i] + a_shift, b[j] + b_shift
            second = np.uint64(y < x)
            out[k] = min(x, y)
            i, j = i + one - second, j + second
            x, y = a[i1] + a_shift, b[j1] + b_shift
            second = np.uint64(y < x)
            out[k + k1] = min(x, y)
            i1, j1 = i1 + one - second, j1 + second
            x, y = a[i2] + a_shift, b[j2] + b_shift
            second = np.uint64(y < x)
            out[k + k2] = min(x, y)
            i2, j2 = i2 + one - second, j2 + second
            x, y = a[i3] + a_shift, b[j3] + b_shift
            second = np.uint64(y < x)
            out[k + k3] = min(x, y)
            i3, j3 = i3 + one - second, j3 + second
            k += one
        for chain in range(4):
            fence(out, before + chain * quarter, np.int64(k) + chain * quarter, fences)
    done, q = np.int64(k), quarter
    merge_rest(a, a_shift, np.int64(i), a1, b, b_shift, np.int64(j), b1, out, done)
    merge_rest(a, a_shift, np.int64(i1), a2, b, b_shift, np.int64(j1), b2, out, done + q)
    merge_rest(a, a_shift, np.int64(i2), a3, b, b_shift, np.int64(j2), b3, out, done + 2 * q)
    merge_rest(a, a_shift, np.int64(i3), len(a), b, b_shift, np.int64(j3), len(b), out, done + 3 * q)
    for chain in range(4):
        fence(out, done + chain * q, len(out) if chain == 3 else (chain + 1) * q, fences)


@kernel
def leave_out(words: Words, mask: int, first: int, out: Words) -> int:
    """Copy the words whose row is not one of the first ones; return how many they are."""
    kept = np.uint64(0)
    for i in range(len(words)):
        word = words[np.uint64(i)]
        out[kept] = word
        kept += np.uint64((word & mask) >= first)
    return np.int64(kept)


def without_first(packed: Packed, rows: int) -> Words:
    """Return the words without those of the first rows: they have expired, and a merge need not move them."""
    out = aligned(len(packed) + 1, np.int64)  # one more than needed: a word is written before it is left behind
    return out[: leave_out(packed.words, packed.frame.mask, rows, out)]


def merge_pieces(pieces: Sequence[Piece], packed: Packed) -> Packed:
    """Merge pieces of sorted words; all of them differ once they are shifted. They are packed as `packed` is."""
    merged = merge_neighbours(pieces, _size, _merge)
    fences = None if merged.fences is None else Fences.over(merged.fences)
    return Packed(merged.words, packed.frame, fences)


def _size(piece: Piece) -> int:
    return len(piece.words)


def _merge(a: Piece, b: Piece) -> Piece:
    size = _size(a) + _size(b)
    out, fences = aligned(size, np.int64), aligned(-(-size // NODE), np.int64)
    merge_four(a.words, a.shift, b.words, b.shift, out, fences)
    return Piece(out, 0, fences)
