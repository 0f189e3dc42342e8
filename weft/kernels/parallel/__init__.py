"""The parallel window join of the PIM-Tree paper (its section 4) as steps over shared arrays, without the GIL."""

from __future__ import annotations

from weft.kernels.parallel.index_steps import advance_edges
from weft.kernels.parallel.shared import DONE, FULL, LEFT, MOVED, WAITS, Shared, Sizes, shared_of, tallies
from weft.kernels.parallel.steps import play, work

__all__ = [
    "DONE", "FULL", "LEFT", "MOVED", "WAITS", "Shared", "Sizes", "advance_edges", "play", "shared_of", "tallies", "work",
]  # fmt: skip
