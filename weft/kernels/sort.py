"""Sorting words: the fastest sort there is, of one word that holds both the key and the row number.

`np.sort` of 64-bit words is vectorised and several times faster than any argsort. So the key's bits (less its minimum)
and the row number are packed into one word, sorted, and taken apart. The row number breaks ties, so the order is
stable. Keys too wide to fit lose low bits; the few rows that then stand wrong are repaired, or, when they are many, the
words are sorted the slow way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel
from weft.kernels.memory import aligned
from weft.types import Rows, Words

__all__ = ["Order", "order_of", "remembered", "sort_by"]

Packed = NDArray[np.uint64]


@kernel
def pack(words: Words, low: int, shift: int, bits: int, out: Packed) -> None:
    """Put the key's leading bits above the row number."""
    base = np.uint64(np.int64(low))
    down, up = np.uint64(shift), np.uint64(bits)
    for i in range(len(words)):
        out[i] = (((np.uint64(words[i]) - base) >> down) << up) | np.uint64(i)


@kernel
def unpack(packed: Packed, low: int, bits: int, order: Rows, keys: Words) -> None:
    """Take row number and key apart (the key is right only if it lost no bits)."""
    base, up = np.uint64(np.int64(low)), np.uint64(bits)
    mask = (np.uint64(1) << up) - np.uint64(1)
    for i in range(len(packed)):
        order[i] = np.int32(packed[i] & mask)
        keys[i] = np.int64((packed[i] >> up) + base)


@kernel
def repair(words: Words, order: Rows) -> bool:
    """Insert the rows that the lost low bits misplaced; give up when that gets quadratic."""
    budget = 8 * len(order) + 64
    for i in range(1, len(order)):
        row = order[i]
        key = words[row]
        j = i
        while j > 0 and words[order[j - 1]] > key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = row
        budget -= i - j
        if budget < 0:
            return False
    return True


class Order(NamedTuple):
    """Rows in ascending order of some columns, and the columns in that order."""

    rows: NDArray[np.int32]
    keys: tuple[Words, ...]


def order_of(columns: Sequence[Words]) -> NDArray[np.int32]:
    """Return the stable order of rows by the columns, the first one leading.

    >>> order_of([np.array([3, 1, 2, 1])])
    array([1, 3, 2, 0], dtype=int32)
    """
    return sort_by(columns).rows


def sort_by(columns: Sequence[Words]) -> Order:
    """Return that order, and the columns sorted."""
    if len(columns) == 1:
        return _sort_one(columns[0])
    first, second = columns
    joined = _join(first, second)
    if joined is not None:
        rows = _sort_one(joined).rows
    else:
        inner = _sort_one(second).rows
        rows = inner[_sort_one(first[inner]).rows]
    return Order(rows, (first[rows], second[rows]))


def _join(first: Words, second: Words) -> Words | None:
    """Lay two columns in one word when their ranges leave room for the row number too."""
    n = len(first)
    if n == 0:
        return first
    low, other = int(first.min()), int(second.min())
    wide, narrow = (int(first.max()) - low).bit_length(), (int(second.max()) - other).bit_length()
    if wide + narrow + n.bit_length() > 63:
        return None
    joined: Words = ((first - low) << narrow) | (second - other)
    return joined


def _sort_one(words: Words) -> Order:
    n = len(words)
    if n < 2:
        return Order(np.arange(n, dtype=np.int32), (words,))
    low, bits = int(words.min()), (n - 1).bit_length()
    shift = max(0, (int(words.max()) - low).bit_length() + bits - 64)
    packed = np.empty(n, np.uint64)
    pack(words, low, shift, bits, packed)
    packed.sort()
    rows, keys = aligned(n, np.int32), aligned(n, np.int64)
    unpack(packed, low, bits, rows, keys)
    if shift:
        if not repair(words, rows):
            rows = np.argsort(words, kind="stable").astype(np.int32)
        keys = words[rows]
    return Order(rows, (keys,))


_last: tuple[ref[NDArray[Any]], tuple[int, ...], Order] | None = None


def remembered(words: Words, columns: tuple[int, ...]) -> Order:
    """Return `sort_by` the columns of a block, from memory if it was the last one asked for.

    A block probes one index and then enters another, mostly by the same column: it need not be sorted twice.
    The block is told by identity; blocks are immutable.
    """
    global _last  # noqa: PLW0603 - one entry, so it can never hold more than one block's order
    held = _last
    if held is not None and held[0]() is words and held[1] == columns:
        return held[2]
    order = sort_by([words[column] for column in columns])
    _last = (ref(words), columns, order)
    return order
