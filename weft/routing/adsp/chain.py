"""Areas in a chain: dichotomies that leave their top left part whole, on a matrix fine enough for many small areas.

Eq. 14 with N(ca^d) in place of N_AD(ca^d): a special case of Algorithm 2 that needs one pass over the corners of the
staircase instead of all rectangles. With a narrow staircase and many tasks, areas are a row of small squares along the
diagonal, and what counts is where exactly to cut: a matrix of 256 rows takes milliseconds, one of 48 is too coarse.
"""

from __future__ import annotations

import numpy as np

from weft.kernels.stairs import chain_cuts
from weft.routing.adsp.dichotomy import Rectangle
from weft.routing.adsp.staircase import Staircase

__all__ = ["chain"]


def chain(stairs: Staircase, memory: float) -> tuple[int, tuple[Rectangle, ...]]:
    """Return the number of tasks and the areas of the best chain."""
    columns = np.arange(len(stairs.columns) + 1)
    tasks, areas = chain_cuts(
        np.concatenate([[0.0], np.cumsum(stairs.rows)]),
        np.concatenate([[0.0], np.cumsum(stairs.columns)]),
        stairs.begin.astype(np.int64),
        stairs.end.astype(np.int64),
        np.searchsorted(stairs.end, columns, side="right").astype(np.int64),
        np.concatenate([[0], np.searchsorted(stairs.begin, columns[:-1], side="right")]).astype(np.int64),
        float(memory),
    )
    return int(tasks), tuple((int(r0), int(r1), int(c0), int(c1)) for r0, r1, c0, c1 in areas)
