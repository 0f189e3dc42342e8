"""Code that we write for LLVM ourselves, because Numba has no word for it: prefetches, vectors, atomics, unaligned loads."""

from __future__ import annotations

from weft.kernels.llvm.atomic import fetch_add, load, pause, store, swap
from weft.kernels.llvm.lanes import LANES, copy_lanes, copy_masked, count_less, count_upto, fill_lanes
from weft.kernels.llvm.octets import copied, equal, load8, plain8, store8
from weft.kernels.llvm.prefetch import prefetch

__all__ = [
    "LANES", "copied", "copy_lanes", "copy_masked", "count_less", "count_upto", "equal", "fetch_add", "fill_lanes", "load",
    "load8", "pause", "plain8", "prefetch", "store", "store8", "swap",
]  # fmt: skip
