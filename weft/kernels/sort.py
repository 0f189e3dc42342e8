"""Sorting words: the fastest sort there is, of one word that holds both the key and the row number.

`np.sort` of 64-bit words is vectorised and several times faster than any argsort. So the key's bits (less its minimum)
and the row number are packed into one word, sorted, and taken apart. The row number breaks ties, so the order is
stable. Keys too wide to fit lose low bits; the few rows that then stand wrong are repaired, or, when they are many, the
words are sorted the slow way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel
from weft.types import Rows, Words

__all__ = ["order_of", "remembered_order"]

Packed = NDArray[np.uint64]


@kernel
def pack(words: Words, low: int, shift: int, bits: int, out: Packed) -> None:
    """Put the key's leading bits above the row number."""
    base = np.uint64(np.int64(low))
    down, up = np.uint64(shift), np.uint64(bits)
    for i in range(len(words)):
        out[i] = (((np.uint64(words[i]) - base) >> down) << up) | np.uint64(i)


@kernel
def unpack(packed: Packed, bits: int, order: Rows) -> None:
    """Keep the row number only."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for i in range(len(packed)):
        order[i] = np.int64(packed[i] & mask)


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


def order_of(columns: Sequence[Words]) -> Rows:
    """Return the stable order of rows by the columns, the first one leading.

    >>> order_of([np.array([3, 1, 2, 1])])
    array([1, 3, 2, 0])
    """
    if len(columns) == 1:
        return _order_of_one(columns[0])
    first, second = columns
    joined = _join(first, second)
    if joined is not None:
        return _order_of_one(joined)
    inner = _order_of_one(second)
    return inner[_order_of_one(first[inner])]


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


def _order_of_one(words: Words) -> Rows:
    n = len(words)
    if n < 2:
        return np.arange(n)
    low, bits = int(words.min()), (n - 1).bit_length()
    shift = max(0, (int(words.max()) - low).bit_length() + bits - 64)
    packed = np.empty(n, np.uint64)
    pack(words, low, shift, bits, packed)
    packed.sort()
    order = np.empty(n, np.int64)
    unpack(packed, bits, order)
    if shift and not repair(words, order):
        return np.argsort(words, kind="stable")
    return order


_last: tuple[ref[NDArray[Any]], tuple[int, ...], Rows] | None = None


def remembered_order(words: Words, columns: tuple[int, ...]) -> Rows:
    """Return `order_of` the columns of a block, from memory if it was the last one asked for.

    A block probes one index and then enters another, mostly by the same column: it need not be sorted twice.
    The block is told by identity; blocks are immutable.
    """
    global _last  # noqa: PLW0603 - one entry, so it can never hold more than one block's order
    held = _last
    if held is not None and held[0]() is words and held[1] == columns:
        return held[2]
    order = order_of([words[column] for column in columns])
    _last = (ref(words), columns, order)
    return order
