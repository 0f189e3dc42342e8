"""Key and row number in one word: a probe fetches half the lines, a merge moves one word instead of two.

`(key - middle) << bits | row` is as exact as the two apart, and in the same order: by key, ties by row. It needs keys that
do not spread too far for their number; then a `Frame` says how they are packed. Runs of one frame can be merged as they
are. The lowest key of a frame stays free: the least word there is belongs to ranges that end before the frame begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import types
from numba.extending import overload

from weft.kernels.jit import kernel
from weft.kernels.llvm import copy_lanes, copy_masked, prefetch
from weft.kernels.memory import aligned
from weft.kernels.search import Fences, fences_of
from weft.types import WORD_MAX, WORD_MIN, Rows, Words

__all__ = [
    "Beside",
    "Frame",
    "Packed",
    "copy_rows",
    "frame_of",
    "pack",
    "pack_by",
    "pack_ends",
    "prefetch_row",
    "row_at",
]

Beside: TypeAlias = Rows | int
"""Where the rows of sorted keys are: an array beside them, or the mask of their bits in the keys' own words."""

_WORD_BITS = 64
_ROW_BITS = 31
_ROUND = 4
"""A frame begins at a multiple of a sixteenth of its width if it can: what keys begin at is often a round number."""


class Frame(NamedTuple):
    """Keys within `2**(63 - bits)` of `middle`, above row numbers of `bits` bits."""

    middle: int
    bits: int

    @property
    def mask(self) -> int:
        """Return the bits of the row number."""
        return (1 << self.bits) - 1

    def holds(self, low: int, high: int, rows: int) -> bool:
        """Tell whether that many rows with keys in `[low, high]` can be packed.

        >>> Frame(middle=0, bits=62).holds(0, 1, 1000), Frame(middle=0, bits=62).holds(-2, 1, 1000)
        (True, False)
        """
        half = 1 << (_WORD_BITS - 1 - self.bits)
        return self.middle - half < low and high < self.middle + half and rows <= self.mask


def frame_of(low: int, high: int, rows: int) -> Frame | None:
    """Return a frame for keys in `[low, high]`, with what room there is for others; None if the rows do not fit.

    >>> frame_of(3, 1000, 500)
    Frame(middle=4294967295, bits=31)
    >>> frame_of(WORD_MIN, WORD_MAX, 1) is None
    True
    """
    bits = min(_ROW_BITS, _WORD_BITS - (high - low + 1).bit_length())
    half = 1 << (_WORD_BITS - 1 - bits)
    step = max(1, 2 * half >> _ROUND)
    for least in (low - low % step, low - (2 * half - 2 - (high - low)) // 2):  # a round number, or in the middle
        frame = Frame(least - 1 + half, bits)
        inside = least > WORD_MIN and frame.middle + half <= WORD_MAX
        if inside and frame.holds(low, high, rows):
            return frame
    return None


@dataclass(frozen=True)
class Packed:
    """Sorted words of one frame."""

    words: Words
    frame: Frame
    made: Fences | None = None
    """The fences, when whoever made the words had them at hand."""

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def fences(self) -> Fences:
        """Return the upper levels of the tree over the words."""
        return fences_of(self.words) if self.made is None else self.made

    @property
    def rows(self) -> Rows:
        """Return the row numbers."""
        rows = aligned(len(self), np.int32)
        np.bitwise_and(self.words, self.frame.mask, out=rows, casting="unsafe")
        return rows

    @property
    def keys(self) -> Words:
        """Return the keys."""
        keys: Words = self.words >> self.frame.bits
        keys += self.frame.middle
        return keys


@kernel
def pack_words(keys: Words, rows: Rows, middle: int, bits: int, out: Words) -> None:
    """Pack keys with their rows."""
    for i in range(len(rows)):
        out[i] = ((keys[i] - middle) << bits) | rows[i]


@kernel
def pack_rows(column: Words, rows: Rows, middle: int, bits: int, out: Words) -> None:
    """Pack rows with their keys, which stand in order of the rows."""
    for i in range(len(rows)):
        out[i] = ((column[rows[i]] - middle) << bits) | rows[i]


def pack(keys: Words, rows: Rows, frame: Frame) -> Packed:
    """Pack sorted keys with their rows."""
    words = aligned(len(rows), np.int64)
    pack_words(keys, rows, *frame, words)
    return Packed(words, frame)


def pack_by(column: Words, rows: Rows, frame: Frame) -> Packed:
    """Pack rows in order of their keys, which stand in order of the rows."""
    words = aligned(len(rows), np.int64)
    pack_rows(column, rows, *frame, words)
    return Packed(words, frame)


@kernel
def clip_ends(
    low: Words, high: Words, least: int, most: int, middle: int, bits: int, out_lo: Words, out_hi: Words
) -> None:
    """Pack the ends of ranges so that no row number is left out; ends beyond the frame become its own."""
    half = np.int64(1) << (63 - bits)
    first, last, mask = middle - half + 1, middle + half - 1, (np.int64(1) << bits) - 1
    for i in range(len(low)):
        lo, hi = low[i] + least, high[i] + most
        packed = (min(max(lo, first), last) - middle) << bits
        out_lo[i] = WORD_MAX if lo > last else packed
        packed = ((min(max(hi, first), last) - middle) << bits) | mask
        out_hi[i] = WORD_MIN if hi < first else packed


def pack_ends(low: Words, high: Words, least: int, most: int, frame: Frame) -> tuple[Words, Words]:
    """Return the ranges of packed words that hold the keys in `[low + least, high + most]`."""
    lo, hi = np.empty_like(low), np.empty_like(high)
    clip_ends(low, high, least, most, *frame, lo, hi)
    return lo, hi


def row_at(keys: Words, row: Beside, at: int) -> int:
    """Return the row of a key, in a kernel."""
    raise NotImplementedError  # what stands in a kernel is chosen below, by the type of `row`


def copy_rows(keys: Words, row: Beside, at: int, skip: int, out: Rows, to: int) -> None:
    """Copy the rows of eight keys, those of the first `skip` last, in a kernel."""
    raise NotImplementedError  # as above


def prefetch_row(row: Beside, at: int) -> None:
    """Ask for the line of a key's row, in a kernel."""
    raise NotImplementedError  # as above


def _row_at(keys: Any, row: Any, at: Any) -> Any:
    del keys, at

    def in_the_word(keys: Any, row: Any, at: Any) -> Any:
        return np.int32(keys[at] & row)

    def beside(keys: Any, row: Any, at: Any) -> Any:  # noqa: ARG001 - all variants take the same
        return row[at]

    return in_the_word if isinstance(row, types.Integer) else beside


def _copy_rows(keys: Any, row: Any, at: Any, skip: Any, out: Any, to: Any) -> Any:
    del keys, at, skip, out, to

    def in_the_word(keys: Any, row: Any, at: Any, skip: Any, out: Any, to: Any) -> None:
        copy_masked(keys, at, skip, row, out, to)

    def beside(keys: Any, row: Any, at: Any, skip: Any, out: Any, to: Any) -> None:  # noqa: ARG001 - all variants take the same
        copy_lanes(row, at, skip, out, to)

    return in_the_word if isinstance(row, types.Integer) else beside


def _prefetch_row(row: Any, at: Any) -> Any:
    del at

    def in_the_word(row: Any, at: Any) -> None:
        pass

    def beside(row: Any, at: Any) -> None:
        prefetch(row, at)

    return in_the_word if isinstance(row, types.Integer) else beside


overload(row_at, inline="always")(_row_at)
overload(copy_rows, inline="always")(_copy_rows)
overload(prefetch_row, inline="always")(_prefetch_row)
