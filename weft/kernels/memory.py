"""Memory as the kernels want it: pages that stay, arrays that begin at a cache line.

A merge frees and takes the same amounts again and again. glibc hands blocks above 32 MiB straight back to the system,
and the next merge pays for every page anew: zeroing, four times the cost of writing it. So freed pages are kept:
process-wide, once, and only where glibc is.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["LINE", "aligned", "keep_pages"]

LINE = 64
"""Bytes that the processor fetches at once."""

_TRIM, _MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of mallopt(3)
_KEEP = 1 << 30
_SMALL = 1 << 14

T = TypeVar("T", bound=np.generic)


@cache
def keep_pages() -> bool:
    """Let malloc keep up to a gibibyte; return whether it understood."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_MMAP, _KEEP)) and bool(mallopt(_TRIM, _KEEP))


def aligned(count: int, kind: type[T]) -> NDArray[T]:
    """Return an uninitialised array that begins at a cache line, so that a node of eight keys is one line.

    Small ones are in the cache anyway and begin where they begin.
    """
    if count < _SMALL:
        return np.empty(count, kind)
    size = np.dtype(kind).itemsize
    room = np.empty(count + LINE // size, kind)
    first = -room.__array_interface__["data"][0] % LINE // size
    return room[first : first + count]
