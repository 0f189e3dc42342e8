"""The cost model with numbers in it: what a tuple costs in nanoseconds, and which merge ratio is cheapest (002-07, 002-12).

λ_T, what a node costs, depends on the tree T: a node that lies in the cache costs a quarter of one that does not. So λ is
given for a tree that fits into the cache and for one that does not, and goes from the one to the other with the square of the
logarithm of the bytes that are in use together, as was measured for trees of 2^8 to 2^22 entries. The constants are
those of one core of a 2-core machine, tuple at a time, with nodes of 32 entries and random keys;
`weft bench paper pim --figure cost` shows how near they come where it runs.

>>> best_ratio("pim-tree", 1 << 20) < best_ratio("pim-tree", 1 << 20, threads=16)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from weft.index import cost
from weft.index.cost import Cost, Node

__all__ = ["MACHINE", "MERGED", "PREDICTED", "Machine", "best_ratio", "predict"]

MERGED = ("im-tree", "pim-tree")
"""The indexes that have a merge ratio."""
PREDICTED = ("bplustree", "chained", "round-robin", *MERGED)
"""The indexes that the model knows."""
_NEAR, _FAR = Node(42, 62, 63), Node(176, 192, 213)
_FIXED_NEAR, _FIXED_FAR = Node(58), Node(190)
RATIOS = tuple(2.0**power for power in range(-8, 1))


@dataclass(frozen=True)
class Machine:
    """Node costs in nanoseconds: `near` when all fits into the cache, `far` when nothing does.

    Searching includes the first look at what was found.
    """

    near: Node = _NEAR
    far: Node = _FAR
    fixed_near: Node = _FIXED_NEAR
    fixed_far: Node = _FIXED_FAR
    compare: float = 6.0
    """τ_c: one more entry of a scan."""
    merge: float = 4.0
    """Moving one entry in a merge."""
    cache: tuple[float, float] = (1e6, 64e6)
    """Bytes up to which a tree is near, and from which on it is far."""
    fanout: int = 22
    """f_b: B+-tree nodes of 32 are two thirds full."""
    fixed_fanout: int = 32
    """f_ib."""
    entry: float = 25.0
    """Bytes per entry of a B+-tree; an immutable one has 16.5."""
    fixed_entry: float = 16.5

    def node(self, size: float) -> Node:
        """Return λ_b of B+-trees of so many bytes together."""
        return _between(self.near, self.far, self._far(size))

    def fixed(self, size: float) -> Node:
        """Return λ_ib of immutable trees of so many bytes together."""
        return _between(self.fixed_near, self.fixed_far, self._far(size))

    def _far(self, size: float) -> float:
        low, high = (math.log2(bound) for bound in self.cache)
        share = min(1.0, max(0.0, (math.log2(max(size, 1.0)) - low) / (high - low)))
        return share**2


MACHINE = Machine()


def _between(near: Node, far: Node, share: float) -> Node:
    return Node(*(a + share * (b - a) for a, b in zip(_costs(near), _costs(far), strict=True)))


def _costs(node: Node) -> tuple[float, float, float]:
    return node.search, node.insert, node.delete


def predict(
    index: str, w: int, match_rate: float = 2.0, ratio: float = 1.0, *, sides: int = 2, depth: int = 1, length: int = 2,
    partitions: int = 4, machine: Machine = MACHINE,
) -> Cost:  # fmt: skip
    """Return what one tuple costs, in nanoseconds, tuple at a time on one core.

    Parameters
    ----------
    index
        One of `PREDICTED`.
    w
        Tuples of a window; `sides` windows share the cache.
    match_rate
        σ_s: partners of a tuple.
    ratio, depth, length, partitions
        As the indexes have them.
    """
    whole = sides * w * machine.entry
    if index == "bplustree":
        return cost.bplustree(w, match_rate, machine.compare, machine.fanout, machine.node(whole))
    if index == "chained":
        return cost.chained(w, match_rate, machine.compare, machine.fanout, machine.node(1.5 * whole), length)
    if index == "round-robin":
        return cost.round_robin(w, match_rate, machine.compare, machine.fanout, machine.node(whole), partitions)
    mutable = machine.node(ratio / 2 * whole)  # T_I is half full on average
    fixed = machine.fixed(sides * w * machine.fixed_entry)
    merge = machine.merge * w * (1 + ratio)
    common = (w, match_rate, machine.compare, machine.fanout, mutable, machine.fixed_fanout, fixed, ratio, merge)
    if index == "im-tree":
        return cost.im_tree(*common)
    levels = max(1, math.ceil(cost.height(w, machine.fixed_fanout)) - 1)
    return cost.pim_tree(*common, min(depth, levels - 1), machine.fixed_near)


def best_ratio(
    index: str, w: int, match_rate: float = 2.0, *, sides: int = 2, depth: int = 1, threads: int = 1,
    machine: Machine = MACHINE,
) -> float:  # fmt: skip
    """Return the power of two that is cheapest as merge ratio.

    Several threads share all work but a merge, which one of them does: the more there are, the rarer should it be (002-27).
    """

    def spent(ratio: float) -> float:
        found = predict(index, w, match_rate, ratio, sides=sides, depth=depth, machine=machine)
        return (found.total - found.delete) / threads + found.delete

    return min(RATIOS, key=spent)
