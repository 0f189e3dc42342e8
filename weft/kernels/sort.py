"""Sorting words: one word holds both the key and the row number, and two passes of radix sort do most of the work.

The key's bits (less its minimum) and the row number are packed into one word, sorted, and taken apart. The row number
breaks ties, so the order is stable. Radix sort looks at the leading bits alone, a few more than the rows have; what then
stands wrong is a few neighbours, and they are inserted where they belong. Keys so crowded that this does not pay go to
`np.sort`, which is vectorised. Keys too wide to fit lose low bits; the few rows that then stand wrong are repaired, or,
when they are many, the words are sorted the slow way.

Rows mostly arrive in order of their first column. Words that ascend are only copied; by a second column only the rows of each
group are put in order.
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

__all__ = ["SortedRows", "order_of", "remembered", "sort_by"]

Packed = NDArray[np.uint64]

_SPARE = 5
"""Leading bits that radix sort looks at, beyond those of the number of rows: of keys that lie evenly few then tie."""
_LEAST_DIGIT, _MOST_DIGIT = 8, 13


@kernel
def extent(words: Words) -> tuple[int, int]:
    """Return the least and the greatest word."""
    least = most = words[0]
    for word in words:
        least, most = min(least, word), max(most, word)
    return least, most


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
def radix(packed: Packed, other: Packed, shift: int, digit: int) -> None:
    """Sort by the two digits above `shift`, the lower one first; each pass keeps the order of equal digits."""
    size = np.uint64(1) << np.uint64(digit)
    mask, low, high = size - np.uint64(1), np.uint64(shift), np.uint64(shift + digit)
    lower, upper = np.zeros(size, np.int32), np.zeros(size, np.int32)
    for i in range(len(packed)):
        word = packed[np.uint64(i)]
        lower[(word >> low) & mask] += np.int32(1)
        upper[word >> high] += np.int32(1)
    below, beneath = np.int32(0), np.int32(0)
    for d in range(size):  # from how many there are to where the first one goes
        count, lower[d] = lower[d], below
        below += count
        count, upper[d] = upper[d], beneath
        beneath += count
    for i in range(len(packed)):
        word = packed[np.uint64(i)]
        digit_ = (word >> low) & mask
        at = lower[digit_]
        other[np.uint64(at)] = word
        lower[digit_] = at + np.int32(1)
    for i in range(len(packed)):
        word = other[np.uint64(i)]
        digit_ = word >> high
        at = upper[digit_]
        packed[np.uint64(at)] = word
        upper[digit_] = at + np.int32(1)


@kernel
def settle(packed: Packed) -> bool:
    """Insert the words that stand behind greater ones; give up when they are many or far from their place."""
    budget = 2 * len(packed)
    for i in range(1, len(packed)):
        word = packed[np.uint64(i)]
        if packed[np.uint64(i - 1)] > word:
            j = i
            while j > 0 and packed[np.uint64(j - 1)] > word:
                packed[np.uint64(j)] = packed[np.uint64(j - 1)]
                j -= 1
            packed[np.uint64(j)] = word
            budget -= i - j
            if budget < 0:
                return False
    return True


@kernel
def pack_sorted(words: Words, low: int, shift: int, bits: int, from_: int, digit: int, out: Packed) -> bool:
    """Pack and sort words by two digits from bit `from_` on; tell whether they are sorted then."""
    pack(words, low, shift, bits, out)
    radix(out, np.empty_like(out), from_, digit)
    return from_ <= bits or settle(out)  # up to the row numbers, every bit of the key was looked at


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


@kernel
def ascending(words: Words) -> bool:
    """Tell whether words never fall; the first that does is the last one looked at."""
    for i in range(1, len(words)):  # noqa: SIM110  Numba knows no generators
        if words[np.uint64(i)] < words[np.uint64(i - 1)]:
            return False
    return True


@kernel
def order_groups(first: Words, second: Words, order: Rows) -> bool:
    """Order rows whose first words ascend by the second one; give up where they do not ascend, or groups are large."""
    budget, begin = 16 * len(order) + 64, 0
    for i in range(len(order)):
        if i > 0 and first[i] != first[i - 1]:
            if first[i] < first[i - 1]:
                return False
            begin = i
        key, j = second[i], i
        while j > begin and second[order[j - 1]] > key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
        budget -= i - j
        if budget < 0:
            return False
    return True


class SortedRows(NamedTuple):
    """Rows in ascending order of some columns, and the columns in that order."""

    rows: NDArray[np.int32]
    keys: tuple[Words, ...]


def order_of(columns: Sequence[Words]) -> NDArray[np.int32]:
    """Return the stable order of rows by the columns, the first one leading.

    >>> order_of([np.array([3, 1, 2, 1])])
    array([1, 3, 2, 0], dtype=int32)
    """
    return sort_by(columns).rows


def sort_by(columns: Sequence[Words]) -> SortedRows:
    """Return that order, and the columns sorted."""
    if len(columns) == 1:
        return _sort_one(columns[0])
    first, second = columns
    near = aligned(len(first), np.int32)
    if order_groups(first, second, near):  # rows arrive in order of the first column, mostly
        return SortedRows(near, (first[near], second[near]))
    joined = _join(first, second)
    if joined is not None:
        rows = _sort_one(joined).rows
    else:
        inner = _sort_one(second).rows
        rows = inner[_sort_one(first[inner]).rows]
    return SortedRows(rows, (first[rows], second[rows]))


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


def _sort_one(words: Words) -> SortedRows:
    n = len(words)
    if n < 2:
        return SortedRows(np.arange(n, dtype=np.int32), (words,))
    if ascending(words):
        rows, keys = aligned(n, np.int32), aligned(n, np.int64)
        rows[:], keys[:] = np.arange(n, dtype=np.int32), words
        return SortedRows(rows, (keys,))
    low, high = extent(words)
    bits = (n - 1).bit_length()
    wide = (high - low).bit_length() + bits
    shift, wide = max(0, wide - 64), min(64, wide)
    packed = np.empty(n, np.uint64)
    digit = max(_LEAST_DIGIT, (bits + _SPARE + 1) // 2)
    if wide <= digit or digit > _MOST_DIGIT or bits < _LEAST_DIGIT:
        pack(words, low, shift, bits, packed)
        packed.sort()
    elif not pack_sorted(words, low, shift, bits, max(wide - 2 * digit, 0), digit, packed):
        packed.sort()
    rows, keys = aligned(n, np.int32), aligned(n, np.int64)
    unpack(packed, low, bits, rows, keys)
    if shift:
        if not repair(words, rows):
            rows = np.argsort(words, kind="stable").astype(np.int32)
        keys = words[rows]
    return SortedRows(rows, (keys,))


_last: tuple[ref[NDArray[Any]], tuple[int, ...], SortedRows] | None = None


def remembered(words: Words, columns: tuple[int, ...]) -> SortedRows:
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
