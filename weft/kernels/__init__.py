"""Arrays in, row numbers out; the only Numba."""

from __future__ import annotations

from weft.kernels.among import among
from weft.kernels.bounds import float_of, float_range, narrow
from weft.kernels.checksum import checksum
from weft.kernels.sort import order_of
from weft.kernels.words import draws, float_words, in_microseconds, mix_words, words_of

__all__ = [
    "among", "checksum", "draws", "float_of", "float_range", "float_words", "in_microseconds", "mix_words", "narrow",
    "order_of", "words_of",
]  # fmt: skip
