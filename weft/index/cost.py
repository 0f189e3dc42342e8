"""The paper's cost model: what one tuple costs under each way of indexing a window (002-07, 002-12).

Times are in whatever unit the node costs are given in. Heights are logarithms and not rounded, as in the paper.

>>> node = Node(search=1, insert=2, delete=2)
>>> round(bplustree(2**20, 2, 0.1, 32, node).total, 2)
20.2
>>> chained(2**20, 2, 0.1, 32, node, length=2).delete
0.0
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Cost", "Node", "bplustree", "chained", "height", "im_tree", "nested_loop", "pim_tree", "round_robin"]


@dataclass(frozen=True)
class Node:
    """λ_T: what searching, inserting into and deleting from one node of a tree costs."""

    search: float
    insert: float = 0.0
    delete: float = 0.0


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


def height(entries: float, fanout: int) -> float:
    """Return H ≈ log_f n, at least one node."""
    return max(1.0, math.log(max(entries, 1.0), fanout))


def nested_loop(w: int, compare: float) -> Cost:
    """Every tuple of the other window is compared: w · τ_c."""
    return Cost(0.0, w * compare, 0.0, 0.0)


def bplustree(w: int, match_rate: float, compare: float, fanout: int, node: Node) -> Cost:
    """H_b (λ^s + λ^d + λ^i) + σ_s · τ_c (002-03)."""
    h = height(w, fanout)
    return Cost(h * node.search, match_rate * compare, h * node.delete, h * node.insert)


def chained(w: int, match_rate: float, compare: float, fanout: int, node: Node, length: int) -> Cost:
    """L · H_c · λ^s, scans that also meet σ_s / (2 (L - 1)) expired tuples, no deletes (002-04); H_c ≈ H_b - log_f L."""
    h = max(1.0, height(w, fanout) - math.log(length, fanout))
    expired = match_rate / (2 * (length - 1))
    return Cost(length * h * node.search, (match_rate + expired) * compare, 0.0, h * node.insert)


def round_robin(w: int, match_rate: float, compare: float, fanout: int, node: Node, cores: int) -> Cost:
    """P · H_p · λ^s over all cores, one of which deletes and inserts (002-05); H_p ≈ H_b - log_f P."""
    h = max(1.0, height(w, fanout) - math.log(cores, fanout))
    return Cost(cores * h * node.search, match_rate * compare, h * node.delete, h * node.insert)


def im_tree(
    w: int, match_rate: float, compare: float, fanout: int, node: Node, fixed_fanout: int, fixed: Node,
    merge_ratio: float, merge: float,
) -> Cost:  # fmt: skip
    """H_I λ_b^s + H_S λ_ib^s, scans of σ_s (1 + m/2), M / (m w) of a merge per tuple, H_I λ_b^i (002-12).

    Parameters
    ----------
    fixed_fanout, fixed
        f_ib and λ_ib of the immutable tree.
    merge_ratio, merge
        m, and M: what one merge costs.
    """
    mutable = height(merge_ratio * w, fanout)
    search = mutable * node.search + height(w, fixed_fanout) * fixed.search
    scan = match_rate * compare * (1 + merge_ratio / 2)
    return Cost(search, scan, merge / (merge_ratio * w), mutable * node.insert)


def pim_tree(
    w: int, match_rate: float, compare: float, fanout: int, node: Node, fixed_fanout: int, fixed: Node,
    merge_ratio: float, merge: float, depth: int, upper: Node | None = None,
) -> Cost:  # fmt: skip
    """The same with T_I cut into f_ib ** D_I sub-indexes: descending T_S to D_I replaces the upper levels of T_I.

    `upper` is λ_ib of the nodes down to D_I: few, and all tuples pass them, so they stay in the cache.
    """
    sub = height(merge_ratio * w / fixed_fanout**depth, fanout)
    route = depth * (upper or fixed).search
    whole = im_tree(w, match_rate, compare, fanout, node, fixed_fanout, fixed, merge_ratio, merge)
    search = route + sub * node.search + height(w, fixed_fanout) * fixed.search
    return Cost(search, whole.scan, whole.delete, route + sub * node.insert)
