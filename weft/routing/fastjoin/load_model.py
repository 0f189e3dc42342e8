"""What a task has to do, what moving a key is worth, and GreedyFit, which picks the keys that move (003-05 to 003-13).

`Pair` is the paper's model. L_i = |R_i| * phi_si (1): every arriving tuple of S is held against what is stored of R. All
formulas are written over *sides*, the first axis of each array: a group of a biclique keeps one side; in the shared layout a
task keeps both, its load is the sum over both, and every identity stays exact because it holds for each side.

`WorkPair` is ours. The paper's tasks hold each arrival against everything stored; a sorted index goes straight to the
partners, so its work is the arrivals and the pairs, and both add up key by key: what leaves one task is what the other gets.

GreedyFit, Algorithm 1, moves keys so that the target comes up to the source and not past it (003-10). The migration gap closes
by exactly F_k per key, whatever else moves (9, 003-09), so going through the keys once, the ones with the greatest benefit per
moved tuple first, keeps an exact account. The paper's text stops when the gap is closed, its algorithm goes through all keys
and skips what does not fit: the algorithm is what runs here (003-11).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ASK",
    "Floats",
    "Pair",
    "WorkPair",
    "greedy_fit",
    "load_imbalance",
    "loads_of",
    "scaling_gain_ratio",
    "work_of",
]

ASK = 2.0
"""Work of an arrival, in pairs: routing, shipping and looking one row up costs about as much as two pairs."""

Floats = NDArray[np.float64]


def loads_of(stored: Floats, phi: Floats) -> Floats:
    """Return L of each task: `stored` and `phi` are sides x tasks."""
    return np.asarray((stored * phi).sum(axis=0))


def load_imbalance(loads: Floats) -> float:
    """Return LI = heaviest / lightest (2), 1 for no load at all, infinite beside an idle task (003-12).

    >>> load_imbalance(np.array([3.0, 2.0])), load_imbalance(np.array([3.0, 0.0])), load_imbalance(np.zeros(2))
    (1.5, inf, 1.0)
    """
    if not len(loads) or loads.max() <= 0:
        return 1.0
    return float(loads.max() / loads.min()) if loads.min() > 0 else math.inf


@dataclass(frozen=True)
class Pair:
    """A source and a target task, and the keys that could move from one to the other.

    `stored` and `phi` are sides x 2 (source, target), `key_stored` and `key_phi` sides x keys of the source.
    """

    stored: Floats
    phi: Floats
    key_stored: Floats
    key_phi: Floats

    @property
    def gap(self) -> float:
        """L_i - L_j."""
        source, target = loads_of(self.stored, self.phi)
        return float(source - target)

    @property
    def rows(self) -> Floats:
        """|R_ik|: the tuples that move with each key."""
        return np.asarray(self.key_stored.sum(axis=0))

    def benefits(self) -> Floats:
        """F_k = (|R_i| + |R_j|) phi_sik + (phi_si + phi_sj) |R_ik| (8)."""
        both_stored, both_phi = self.stored.sum(axis=1)[:, None], self.phi.sum(axis=1)[:, None]
        return np.asarray((both_stored * self.key_phi + both_phi * self.key_stored).sum(axis=0))

    def factors(self) -> Floats:
        """F_k / |R_ik|; a key without stored tuples is free to move: infinite (003-12)."""
        rows, benefits = self.rows, self.benefits()
        return np.divide(benefits, rows, out=np.where(benefits > 0, math.inf, 0.0), where=rows > 0)

    def after(self, chosen: NDArray[np.int64]) -> Floats:
        """Return L'_i and L'_j once the chosen keys have moved.

        (5), and (6) with the signs put right (003-07): what arrives at the target adds to all of its terms.
        """
        rows, phi = self.key_stored[:, chosen].sum(axis=1), self.key_phi[:, chosen].sum(axis=1)
        stored = self.stored + np.stack([-rows, rows], axis=1)
        return loads_of(stored, self.phi + np.stack([-phi, phi], axis=1))


@dataclass(frozen=True)
class WorkPair(Pair):
    """The same two tasks under the work model; `work` is theirs in all, `share` the part of equal keys that become pairs."""

    work: Floats
    share: float

    @property
    def gap(self) -> float:
        return float(self.work[0] - self.work[1])

    def benefits(self) -> Floats:
        """Return F_k: twice the key's own work, which one task loses and the other gets."""
        return 2.0 * work_of(self.key_stored, self.key_phi, self.share)

    def after(self, chosen: NDArray[np.int64]) -> Floats:
        moved = float(self.benefits()[chosen].sum()) / 2.0
        return np.asarray(self.work + np.array([-moved, moved]))


def work_of(stored: Floats, phi: Floats, share: float) -> Floats:
    """Return the work of keys: their arrivals, and the pairs these make with what is stored (sides x keys)."""
    return np.asarray((ASK * phi + share * stored * phi).sum(axis=0))


def scaling_gain_ratio(tuple_size: float, entry_size: float, tuples_per_key: float) -> float:
    """SGR = x_t c / (x_t c + x_k) (13): the share of added memory that is left for tuples beside key statistics (003-24).

    >>> scaling_gain_ratio(16, 16, 14) > 0.9
    True
    """
    return tuple_size * tuples_per_key / (tuple_size * tuples_per_key + entry_size)


Selection = Callable[[Pair], NDArray[np.int64]]
"""What picks the keys that move from a source to a target task, by their positions."""


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
