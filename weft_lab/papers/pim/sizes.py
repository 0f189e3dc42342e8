"""How large the windows are at a scale: 2**18 at scale 1, where the whole set takes minutes; 2**20 at scale 4."""

from __future__ import annotations

import math
from functools import cache

from weft.types import Words
from weft_lab.papers.pim.streams import band_for, keys_of

__all__ = ["THREADS", "stream", "top", "windows"]

THREADS = (1, 2, 4)


def top(scale: float) -> int:
    """Return the exponent of the largest window."""
    return max(8, round(18 + math.log2(scale)))


def windows(scale: float) -> tuple[int, ...]:
    """Return the exponents of a sweep."""
    return tuple(max(6, top(scale) - step) for step in (4, 2, 0))


@cache
def stream(exponent: int, rate: float = 2.0, name: str = "uniform", sides: int = 2) -> tuple[Words, int]:
    """Return keys for twice the windows, and the band for the match rate."""
    keys = keys_of(name, 2 * sides << exponent, seed=7)
    return keys, band_for(keys, 1 << exponent, rate)
