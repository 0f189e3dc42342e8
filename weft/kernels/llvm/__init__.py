"""Code that we write for LLVM ourselves, because Numba has no word for it: prefetches, vectors, atomics, unaligned loads."""

from __future__ import annotations

from weft.kernels.llvm.access import copied, equal, fetch_add, load, load8, pause, plain8, prefetch, store, store8, swap
from weft.kernels.llvm.lanes import LANES, copy_lanes, copy_masked, count_less, count_upto, fill_lanes

__all__ = [
    "LANES", "copied", "copy_lanes", "copy_masked", "count_less", "count_upto", "equal", "fetch_add", "fill_lanes", "load",
    "load8", "pause", "plain8", "prefetch", "store", "store8", "swap",
]  # fmt: skip
