"""Keep freed pages: a merge frees and takes the same amounts again and again.

glibc hands blocks above 32 MiB straight back to the system, and the next merge pays for every page anew: zeroing, four
times the cost of writing it. Process-wide, once, and only where glibc is.
"""

from __future__ import annotations

import ctypes
from functools import cache

__all__ = ["keep_pages"]

_TRIM, _MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of mallopt(3)
_KEEP = 1 << 30


@cache
def keep_pages() -> bool:
    """Let malloc keep up to a gibibyte; return whether it understood."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_MMAP, _KEEP)) and bool(mallopt(_TRIM, _KEEP))
