"""GreedyFit, Algorithm 1: which keys to move so that the target comes up to the source and not past it (003-10).

The migration gap closes by exactly F_k per key, whatever else moves (9, 003-09), so going through the keys once, the ones
with the greatest benefit per moved tuple first, keeps an exact account. The paper's text stops when the gap is closed, its
algorithm goes through all keys and skips what does not fit: the algorithm is what runs here (003-11).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.routing.loads import Pair

__all__ = ["greedy_fit"]


def greedy_fit(pair: Pair, least: float = 0.0) -> NDArray[np.int64]:
    """Return the positions of the keys to move, possibly none (003-13). `least` is the paper's theta_gap.

    O(K log K) time, O(K) space.
    """
    benefits = pair.benefits()  # lines 6-9
    order = np.argsort(-pair.factors(), kind="stable")  # line 10; keys without stored tuples first (003-12)
    gap = pair.gap  # line 5
    chosen: list[int] = []
    for key in order:  # lines 11-16
        benefit = float(benefits[key])
        if gap > benefit > 0 and benefit >= least:  # a key that changes nothing stays (003-12)
            gap -= benefit
            chosen.append(int(key))
    return np.array(chosen, np.int64)
