"""Merging packed runs: four quarters of the result side by side.

A step waits for the comparison of the step before; four chains wait together. No branch depends on the data.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.kernels.jit import kernel
from weft.kernels.memory import aligned
from weft.kernels.merge import merge_neighbours
from weft.kernels.packed import Packed
from weft.kernels.search import NODE, Fences
from weft.types import Words

__all__ = ["drop_dead", "merge_words"]


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
def merge_four(a: Words, a_shift: int, b: Words, b_shift: int, out: Words) -> None:
    """Merge sorted words, all different, after adding a shift to each of a side."""
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
        for _ in range(safe):
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
    done, q = np.int64(k), quarter
    merge_rest(a, a_shift, np.int64(i), a1, b, b_shift, np.int64(j), b1, out, done)
    merge_rest(a, a_shift, np.int64(i1), a2, b, b_shift, np.int64(j1), b2, out, done + q)
    merge_rest(a, a_shift, np.int64(i2), a3, b, b_shift, np.int64(j2), b3, out, done + 2 * q)
    merge_rest(a, a_shift, np.int64(i3), len(a), b, b_shift, np.int64(j3), len(b), out, done + 3 * q)


@kernel
def close_up(words: Words, mask: int, rows: int, fences: Words) -> int:
    """Keep the words whose row is one of the `rows`; return how many they are.

    The fences come on the way, as all words pass by: the last one written into a place is the first of its node.
    """
    kept, up, node = np.uint64(0), np.uint64(NODE - 1), np.uint64(NODE)
    for i in range(len(words)):
        word = words[np.uint64(i)]
        words[kept] = word
        fences[(kept + up) // node] = word
        kept += np.uint64((word & mask) < rows)
    return np.int64(kept)


def merge_words(pieces: Sequence[tuple[Words, int]]) -> Words:
    """Merge pieces of sorted words, each with the shift to be added to its words; all of these are different."""
    return merge_neighbours(pieces, _size, _merge)[0]


def _size(piece: tuple[Words, int]) -> int:
    return len(piece[0])


def _merge(a: tuple[Words, int], b: tuple[Words, int]) -> tuple[Words, int]:
    out = aligned(_size(a) + _size(b), np.int64)
    merge_four(*a, *b, out)
    return out, 0


def drop_dead(packed: Packed, rows: int) -> Packed:
    """Leave out, in place, the words whose row is not one of the `rows`: a row that goes was shifted below 0."""
    words, frame = packed.words, packed.frame
    fences = aligned(len(words) // NODE + 2, np.int64)
    kept = close_up(words, frame.mask, rows, fences)
    return Packed(words[:kept], frame, Fences.over(fences[: -(-kept // NODE)]))
