"""Ranges of words: what a probe's word allows the partner's word to be.

Every comparison of integers says that the partner lies in `[p + a, p + b]`, either end open or not. Words are 64 bits
wide and so is the sum: it must not wrap. An end that leaves the domain on its own side closes nothing; one that leaves
it on the other side makes the range empty.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel
from weft.types import WORD_MAX, WORD_MIN, Bools, Words

__all__ = ["float_of", "float_range", "narrow", "word_of_float"]

_SIGN = np.int64(WORD_MAX)


@kernel
def shift(words: Words, by: int, lower: bool, out: Words, alive: Bools) -> None:
    """Write the tighter of `out` and `words + by`, as a lower or as an upper end; kill rows whose range is empty."""
    ceiling = WORD_MAX - by if by > 0 else WORD_MAX  # above it the sum leaves the domain
    floor = WORD_MIN - by if by < 0 else WORD_MIN
    for i in range(len(words)):
        word = words[i]
        if word > ceiling:
            if lower:
                alive[i] = False
        elif word < floor:
            if not lower:
                alive[i] = False
        elif lower:
            out[i] = max(out[i], word + by)
        else:
            out[i] = min(out[i], word + by)


def narrow(words: Words, by: int | None, lower: bool, out: Words, alive: Bools) -> None:
    """Apply one end of a range, `by` of any size; None leaves the end open."""
    if by is None:
        return
    neutral = WORD_MIN if lower else WORD_MAX
    by, ends = max(min(by, 1 << 66), -(1 << 66)), words
    while not WORD_MIN <= by <= WORD_MAX:  # wider than a word: in steps, each of which saturates
        step = WORD_MAX if by > 0 else WORD_MIN
        moved = np.full(len(words), neutral)
        shift(ends, step, lower, moved, alive)
        by, ends = by - step, moved
    shift(ends, by, lower, out, alive)


def word_of_float(values: NDArray[np.float64]) -> Words:
    """Return words that order as Spark orders doubles: -0.0 is 0.0, NaN is one value and the greatest.

    >>> word_of_float(np.array([-0.0, 1.0])).tolist()
    [0, 4607182418800017408]
    """
    plain = np.where(np.isnan(values), np.nan, values + 0.0)  # -0.0 + 0.0 is 0.0
    bits = np.ascontiguousarray(plain).view(np.int64)
    return np.where(bits >= 0, bits, bits ^ _SIGN)


def float_of(words: Words) -> NDArray[np.float64]:
    """Return the doubles behind the words."""
    return np.ascontiguousarray(np.where(words >= 0, words, words ^ _SIGN)).view(np.float64)


def float_range(words: Words, lo: float, hi: float) -> tuple[Words, Words, Bools]:
    """Return word ranges that hold every `s` with `lo <= p - s <= hi` in float64, and perhaps a few more.

    The subtraction rounds, so the ends are widened by some units in the last place of the larger operand; the exact
    comparison is repeated on each candidate.
    """
    values = float_of(words)
    with np.errstate(all="ignore"):
        least = values - hi - 4 * np.spacing(np.maximum(np.abs(values), abs(hi)))
        most = values - lo + 4 * np.spacing(np.maximum(np.abs(values), abs(lo)))
    least = np.where(np.isnan(least), -np.inf, least)
    most = np.where(np.isnan(most), np.inf, most)
    return word_of_float(least), word_of_float(most), ~np.isnan(values)
