"""Nested loop: every probe meets every stored row. The yardstick, and the best there is for a handful of rows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from weft.index.held import Held
from weft.index.layout import Layout
from weft.index.plan import Plan, Scratch
from weft.index.runset import RunSet
from weft.kernels.emit import Hits

__all__ = ["Scan"]


class Scan(RunSet):
    """Unsorted runs; all terms are checked on all pairs (002-03 NLWJ)."""

    name: ClassVar[str] = "scan"

    def _laid_out(self, layout: Layout) -> Layout:
        return Layout()

    def _find(self, held: Held, plan: Plan, scratch: Scratch) -> Hits:
        rows = plan.ranges(0).rows
        which, start, end = (array[: len(rows)] for array in scratch)
        which[:], start[:], end[:] = np.arange(len(rows)), 0, len(held)
        return Hits(rows, which, start, end)
