"""The PIM-Tree paper's cost model for the competitors (002-07): what one tuple costs under each way of indexing a window.

>>> node, window = Node(search=1, insert=2, delete=2), Window(2**20, 2, 0.1)
>>> round(bplustree(window, TreeShape(32, node)).total, 2)
20.2
>>> chained(window, TreeShape(32, node), length=2).delete
0.0
"""

from __future__ import annotations

import math

from weft.index.trees.cost_model import Cost, Node, TreeShape, Window, Workload, height, im_tree

__all__ = ["Node", "TreeShape", "Window", "bplustree", "chained", "nested_loop", "predict_im_tree", "round_robin"]


def nested_loop(window: Window) -> Cost:
    """Every tuple of the other window is compared: w · τ_c."""
    return Cost(0.0, window.w * window.compare, 0.0, 0.0)


def bplustree(window: Window, tree: TreeShape) -> Cost:
    """H_b (λ^s + λ^d + λ^i) + σ_s · τ_c (002-03)."""
    h, node = height(window.w, tree.fanout), tree.node
    return Cost(h * node.search, window.match_rate * window.compare, h * node.delete, h * node.insert)


def chained(window: Window, tree: TreeShape, length: int) -> Cost:
    """L · H_c · λ^s, scans that also meet σ_s / (2 (L - 1)) expired tuples, no deletes (002-04); H_c ≈ H_b - log_f L."""
    h = max(1.0, height(window.w, tree.fanout) - math.log(length, tree.fanout))
    expired = window.match_rate / (2 * (length - 1))
    scan = (window.match_rate + expired) * window.compare
    return Cost(length * h * tree.node.search, scan, 0.0, h * tree.node.insert)


def round_robin(window: Window, tree: TreeShape, cores: int) -> Cost:
    """P · H_p · λ^s over all cores, one of which deletes and inserts (002-05); H_p ≈ H_b - log_f P."""
    h, node = max(1.0, height(window.w, tree.fanout) - math.log(cores, tree.fanout)), tree.node
    return Cost(cores * h * node.search, window.match_rate * window.compare, h * node.delete, h * node.insert)


def predict_im_tree(load: Workload, ratio: float) -> Cost:
    """Return what one tuple costs in an IM-Tree, in nanoseconds."""
    mutable = load.tree(ratio / 2)  # T_I is half full on average
    return im_tree(load.window, mutable, load.fixed, load.merging(ratio))
