"""SAFit, Algorithm 3: simulated annealing over the sets of keys to move (003-14), the paper's yardstick for GreedyFit.

The paper gives no parameters and leaves the value of some sets open (003-15): an empty set is worth 0 here, a set without
stored tuples counts as one tuple, and temperatures are shares of the greatest key factor, so that they mean the same at
every scale. Value (10) is a ratio and greatest for *small* sets, so SAFit as written need not close the gap; it is kept
as written. Random numbers come from a seed, so control stays a pure function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from weft.routing import SCHEMES, FastJoin, FastJoinPlan, Scheme
from weft.routing.fastjoin import Pair, Selection

__all__ = ["SaFit", "sa_fit"]


@SCHEMES.register
@dataclass(frozen=True)
class SaFit(FastJoin):
    """FastJoin with SAFit in place of GreedyFit: the same monitors, plans and settings."""

    name: ClassVar[str] = "safit"

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return (cls(threshold=1.0, noise=0.0, gain=0.0, enough=0.0, keys=3),)

    def selection(self, plan: FastJoinPlan) -> Selection:
        """Return simulated annealing from a seed that is another one in every control step."""
        return partial(sa_fit, seed=plan.age)


def sa_fit(
    pair: Pair, seed: int, start: float = 1.0, end: float = 0.01, cooling: float = 0.9, steps: int = 64
) -> NDArray[np.int64]:
    """Return the positions of the keys to move; `start`, `end`, `cooling`, `steps` are T, T_min, a, L of the paper."""
    benefits, rows, gap = pair.benefits(), pair.rows, pair.gap
    keys = len(benefits)
    if not keys or gap <= 0 or not benefits.any():
        return np.zeros(0, np.int64)
    rng = np.random.default_rng(seed)
    scale = float((benefits / np.maximum(rows, 1.0)).max())
    flags = _first(benefits, gap, rng)  # lines 3-14
    benefit, moved = float(benefits[flags].sum()), float(rows[flags].sum())
    value = _value(benefit, moved)
    best, best_value = flags.copy(), value  # line 15
    heat = start * scale
    while heat > end * scale:  # lines 17-40
        for key, chance in zip(rng.integers(0, keys, steps), rng.random(steps), strict=True):
            sign = -1.0 if flags[key] else 1.0
            new_benefit, new_moved = benefit + sign * float(benefits[key]), moved + sign * float(rows[key])
            if new_benefit > gap:  # lines 34-37: not feasible, the flag stays
                continue
            new_value = _value(new_benefit, new_moved)
            if new_value > value or chance <= math.exp((new_value - value) / heat):  # lines 23, 28 with (11)
                flags[key] = not flags[key]
                benefit, moved, value = new_benefit, new_moved, new_value
                if value > best_value:  # lines 25-27
                    best, best_value = flags.copy(), value
        heat *= cooling  # line 39
    chosen = np.flatnonzero(best & (benefits > 0))
    # Sums that went up and down a thousand times carry rounding: what leaves here must not overshoot.
    return chosen if float(benefits[chosen].sum()) <= gap else chosen[:0]


def _first(benefits: NDArray[np.float64], gap: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Pick keys at random, up to the first one that does not fit (the `Break` of line 11)."""
    flags = rng.integers(0, 2, len(benefits)).astype(np.bool_)
    over = np.flatnonzero(np.cumsum(np.where(flags, benefits, 0.0)) > gap)
    if len(over):
        flags[over[0] :] = False
    return flags


def _value(benefit: float, moved: float) -> float:
    return benefit / max(moved, 1.0)
