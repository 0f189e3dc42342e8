"""Texts compared where they lie: by row number, in the buffers that Arrow keeps them in."""

from __future__ import annotations

from weft.kernels.jit import kernel
from weft.kernels.llvm import Bytes, equal
from weft.types import Bools, Rows

__all__ = ["same_text"]


@kernel
def same_text(
    here_ends: Rows, here: Bytes, there_ends: Rows, there: Bytes, probe: Rows, stored: Rows, same: Bools
) -> None:
    """Tell of each pair whether both texts are the same bytes; text i lies at `[ends[i], ends[i + 1])`."""
    for k in range(len(probe)):
        p, s = probe[k], stored[k]
        same[k] = equal(here, here_ends[p], here_ends[p + 1], there, there_ends[s], there_ends[s + 1])
