"""Arrays in, row numbers out; the only Numba."""

from __future__ import annotations

from weft.kernels.checksum import checksum
from weft.kernels.search import find_listed
from weft.kernels.sort import order_of
from weft.kernels.texts import same_text
from weft.kernels.words import draws, float_of, float_range, float_words, in_microseconds, mix_words, narrow, words_of

__all__ = [
    "checksum",
    "draws",
    "find_listed",
    "float_of",
    "float_range",
    "float_words",
    "in_microseconds",
    "mix_words",
    "narrow",
    "order_of",
    "same_text",
    "words_of",
]  # fmt: skip
