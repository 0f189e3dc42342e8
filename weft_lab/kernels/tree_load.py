"""A B+-tree built from sorted entries at once, bottom up."""

from __future__ import annotations

import numpy as np

from weft.kernels.jit import kernel
from weft.kernels.trees.forest import COUNT, FAN, FIELDS, HEAD, HEIGHT, LEAF, ROOT, Forest, new_leaf, new_node
from weft.types import Rows, Words

__all__ = ["bulk_load"]


@kernel
def shares(n: int, full: int) -> int:
    """Return over how many nodes `n` slots are spread: three quarters full, never below half."""
    per = max(1, full * 3 // 4)
    count = 1 if n <= full else (n + per - 1) // per
    while count > 1 and n // count < full >> 1:
        count -= 1
    return count


@kernel
def bulk_load(f: Forest, tree: int, keys: Words, rows: Rows) -> None:
    """Fill an empty tree from sorted entries, bottom up. There must be room: see `room_for`."""
    fan, cap, at, n = f.pool[FAN], f.pool[LEAF], tree * FIELDS, len(keys)
    if n == 0:
        return
    count = shares(n, cap)
    level = np.empty(count, np.int64)  # nodes of the level, and the least key below each
    least = np.empty(count, np.int64)
    last = f.leaf_next[f.tree[at + HEAD]]
    leaf, done = f.tree[at + HEAD], 0
    for i in range(count):
        if i:
            new = new_leaf(f, tree)
            f.leaf_next[leaf] = new
            leaf = new
        size = n // count + (1 if i < n % count else 0)
        for k in range(size):
            f.leaf_key[leaf * cap + k], f.leaf_row[leaf * cap + k] = keys[done + k], rows[done + k]
        f.leaf_size[leaf] = size
        level[i], least[i] = leaf, keys[done]
        done += size
    f.leaf_next[leaf] = last
    height = 0
    while count > 1:
        below, count, done = count, shares(count, fan), 0
        for i in range(count):
            node = new_node(f, tree)
            size = below // count + (1 if i < below % count else 0)
            first = least[done]
            for k in range(size):
                f.node_child[node * fan + k] = level[done + k]
                if k:
                    f.node_key[node * fan + k - 1] = least[done + k]
            f.node_size[node] = size
            level[i], least[i] = node, first
            done += size
        height += 1
    f.tree[at + ROOT], f.tree[at + HEIGHT], f.tree[at + COUNT] = level[0], height, n
