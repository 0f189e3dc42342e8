"""The PIM-Tree paper's cost model: what one tuple costs in a tree, and which merge ratio is cheapest (002-07, 002-12).

The formulas are the paper's: times are in whatever unit the node costs are given in, heights are logarithms and not rounded.

For numbers in them, λ_T, what a node costs, depends on the tree T: a node that lies in the cache costs a quarter of one that does
not. So λ is given for a tree that fits into the cache and for one that does not, and goes from the one to the other with the
square of the logarithm of the bytes that are in use together, as was measured for trees of 2^8 to 2^22 entries. The constants are
those of one core of a 2-core machine, tuple at a time, with nodes of 32 entries and random keys;
`weft-lab paper pim --figure cost` shows how near they come where it runs.

>>> w = Workload(1 << 20)
>>> best_ratio(lambda ratio: predict_pim_tree(w, ratio)) < best_ratio(lambda ratio: predict_pim_tree(w, ratio), threads=16)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

__all__ = [
    "MACHINE", "Cost", "Machine", "Merging", "Node", "TreeShape", "Window", "Workload", "best_ratio", "height", "im_tree",
    "pim_tree", "predict_pim_tree",
]  # fmt: skip


# The formulas


@dataclass(frozen=True)
class Node:
    """λ_T: what searching, inserting into and deleting from one node of a tree costs."""

    search: float
    insert: float = 0.0
    delete: float = 0.0

    def towards(self, other: Node, share: float) -> Node:
        """Return the node that stands this share of the way to another."""
        return Node(
            self.search + share * (other.search - self.search),
            self.insert + share * (other.insert - self.insert),
            self.delete + share * (other.delete - self.delete),
        )


@dataclass(frozen=True)
class Cost:
    """What one tuple costs, by step."""

    search: float
    scan: float
    delete: float
    insert: float

    @property
    def total(self) -> float:
        """Return the sum."""
        return self.search + self.scan + self.delete + self.insert


@dataclass(frozen=True)
class Window:
    """What a tuple meets: w tuples, σ_s partners among them, and τ_c for one more entry of a scan."""

    w: int
    match_rate: float
    compare: float


@dataclass(frozen=True)
class TreeShape:
    """A kind of tree: f, its fan-out, and λ of its nodes."""

    fanout: int
    node: Node


@dataclass(frozen=True)
class Merging:
    """m, the merge ratio, and M: what one merge costs."""

    ratio: float
    cost: float


def height(entries: float, fanout: int) -> float:
    """Return H ≈ log_f n, at least one node."""
    return max(1.0, math.log(max(entries, 1.0), fanout))


def im_tree(window: Window, mutable: TreeShape, fixed: TreeShape, merging: Merging) -> Cost:
    """H_I λ_b^s + H_S λ_ib^s, scans of σ_s (1 + m/2), M / (m w) of a merge per tuple, H_I λ_b^i (002-12)."""
    h = height(merging.ratio * window.w, mutable.fanout)
    search = h * mutable.node.search + height(window.w, fixed.fanout) * fixed.node.search
    scan = window.match_rate * window.compare * (1 + merging.ratio / 2)
    return Cost(search, scan, merging.cost / (merging.ratio * window.w), h * mutable.node.insert)


def pim_tree(
    window: Window, mutable: TreeShape, fixed: TreeShape, merging: Merging, depth: int, upper: Node | None = None
) -> Cost:  # fmt: skip
    """The same with T_I cut into f_ib ** D_I sub-indexes: descending T_S to D_I replaces the upper levels of T_I.

    `upper` is λ_ib of the nodes down to D_I: few, and all tuples pass them, so they stay in the cache.
    """
    sub = height(merging.ratio * window.w / fixed.fanout**depth, mutable.fanout)
    route = depth * (upper or fixed.node).search
    whole = im_tree(window, mutable, fixed, merging)
    search = route + sub * mutable.node.search + height(window.w, fixed.fanout) * fixed.node.search
    return Cost(search, whole.scan, whole.delete, route + sub * mutable.node.insert)


# Numbers in them


@dataclass(frozen=True)
class Machine:
    """Node costs in nanoseconds: `near` when all fits into the cache, `far` when nothing does.

    Searching includes the first look at what was found.
    """

    near: Node = Node(42, 62, 63)
    far: Node = Node(176, 192, 213)
    fixed_near: Node = Node(58)
    fixed_far: Node = Node(190)
    compare: float = 6.0
    """τ_c: one more entry of a scan."""
    merge: float = 4.0
    """Moving one entry in a merge."""
    cached: float = 1e6
    """Bytes up to which a tree is near..."""
    uncached: float = 64e6
    """... and from which on it is far."""
    fanout: int = 22
    """f_b: B+-tree nodes of 32 are two thirds full."""
    fixed_fanout: int = 32
    """f_ib."""
    entry: float = 25.0
    """Bytes per entry of a B+-tree; an immutable one has 16.5."""
    fixed_entry: float = 16.5

    def share_far(self, size: float) -> float:
        """Return how far trees of so many bytes together are on the way from near to far."""
        low, high = math.log2(self.cached), math.log2(self.uncached)
        return min(1.0, max(0.0, (math.log2(max(size, 1.0)) - low) / (high - low))) ** 2


MACHINE = Machine()


@dataclass(frozen=True)
class Workload:
    """What the model is asked about: windows of w tuples, `sides` of which share the cache, and σ_s partners of a tuple."""

    w: int
    match_rate: float = 2.0
    sides: int = 2
    machine: Machine = MACHINE

    @property
    def window(self) -> Window:
        """Return what a tuple meets."""
        return Window(self.w, self.match_rate, self.machine.compare)

    def tree(self, share: float = 1.0) -> TreeShape:
        """Return the B+-trees over this share of the windows."""
        far = self.machine.share_far(share * self.sides * self.w * self.machine.entry)
        return TreeShape(self.machine.fanout, self.machine.near.towards(self.machine.far, far))

    @property
    def fixed(self) -> TreeShape:
        """Return the immutable trees over the windows."""
        far = self.machine.share_far(self.sides * self.w * self.machine.fixed_entry)
        return TreeShape(self.machine.fixed_fanout, self.machine.fixed_near.towards(self.machine.fixed_far, far))

    def merging(self, ratio: float) -> Merging:
        """Return what merging at this ratio costs."""
        return Merging(ratio, self.machine.merge * self.w * (1 + ratio))


def predict_pim_tree(load: Workload, ratio: float = 1.0, depth: int = 1) -> Cost:
    """Return what one tuple costs in a PIM-Tree, in nanoseconds, tuple at a time on one core."""
    levels = max(1, math.ceil(height(load.w, load.machine.fixed_fanout)) - 1)
    mutable = load.tree(ratio / 2)  # T_I is half full on average
    depth = min(depth, levels - 1)
    return pim_tree(load.window, mutable, load.fixed, load.merging(ratio), depth, load.machine.fixed_near)


RATIOS = tuple(2.0**power for power in range(-8, 1))


def best_ratio(cost: Callable[[float], Cost], threads: int = 1) -> float:
    """Return the power of two that is cheapest as merge ratio; `cost` tells what a tuple costs with a ratio.

    Several threads share all work but a merge, which one of them does: the more there are, the rarer should it be (002-27).
    """

    def spent(ratio: float) -> float:
        found = cost(ratio)
        return (found.total - found.delete) / threads + found.delete

    return min(RATIOS, key=spent)
