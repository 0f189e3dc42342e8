"""Whole B+-trees at once: built from sorted entries, scanned in order, checked."""

from __future__ import annotations

import numpy as np

from weft.kernels.jit import kernel
from weft.kernels.trees.forest import (
    COUNT,
    FAN,
    FIELDS,
    HEAD,
    HEIGHT,
    LEAF,
    NODES,
    ROOT,
    Forest,
    new_leaf,
    new_node,
    start_of,
)
from weft.types import Rows, Words

__all__ = ["bulk_load", "check_forest", "entries", "scan"]


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


@kernel
def scan(f: Forest, trees: Rows, lo: Words, hi: Words, state: Rows, out_probe: Rows, out_row: Rows) -> int:
    """Fill the chunk with (probe, row) of entries in `[lo, hi]`, in key order per probe; return how many.

    Probe i starts in tree `trees[i]` and follows the links. `state` is (probe, leaf or -1, position), zeros but for the
    leaf to begin with; done when `state[0] == len(lo)`.
    """
    room, filled = len(out_probe), 0
    cap = f.pool[LEAF]
    i, leaf, place = state[0], state[1], state[2]
    while i < len(lo) and filled < room:
        if leaf < 0:
            leaf, place = start_of(f, trees[i], lo[i])
        most, inside = hi[i], True
        while inside and leaf >= 0 and filled < room:
            base, n = leaf * cap, f.leaf_size[leaf]
            while place < n and filled < room:
                if f.leaf_key[base + place] > most:
                    inside = False
                    break
                out_probe[filled], out_row[filled] = i, f.leaf_row[base + place]
                filled += 1
                place += 1
            if inside and place == n:
                leaf, place = f.leaf_next[leaf], 0
        if not inside or leaf < 0:
            i, leaf, place = i + 1, -1, 0
    state[0], state[1], state[2] = i, leaf, place
    return filled


@kernel
def entries(f: Forest, head: int, keys: Words, rows: Rows) -> int:
    """Write all entries from a leaf on, through the links, in order; return how many."""
    cap = f.pool[LEAF]
    filled, leaf = 0, head
    while leaf >= 0:
        for k in range(leaf * cap, leaf * cap + f.leaf_size[leaf]):
            keys[filled], rows[filled] = f.leaf_key[k], f.leaf_row[k]
            filled += 1
        leaf = f.leaf_next[leaf]
    return filled


def check_forest(f: Forest, linked: bool) -> None:
    """Check order, fan-out bounds, sizes and links of every tree; `linked` trees must follow each other (002-13)."""
    fan, cap = int(f.pool[FAN]), int(f.pool[LEAF])
    previous_tail = -1
    for tree in range(f.trees):
        root, height, count, head = (int(f.tree[tree * FIELDS + field]) for field in (ROOT, HEIGHT, COUNT, HEAD))
        level, bounds = [root], [(-(1 << 64), 1 << 64)]
        for depth in range(height):
            below: list[int] = []
            limits: list[tuple[int, int]] = []
            for node, (low, high) in zip(level, bounds, strict=True):
                size = int(f.node_size[node])
                assert (2 if depth == 0 else fan >> 1) <= size <= fan, "an inner node breaks the fan-out bounds"
                keys = f.node_key[node * fan : node * fan + size - 1].tolist()
                assert [low, *keys] == sorted([low, *keys]) and keys[-1] <= high, "separators are out of order"
                below += f.node_child[node * fan : node * fan + size].tolist()
                limits += list(zip([low, *keys], [*keys, high], strict=True))
            level, bounds = below, limits
        assert level[0] == head, "the head leaf is not the first"
        for leaf, (low, high) in zip(level, bounds, strict=True):
            size = int(f.leaf_size[leaf])
            assert (0 if height == 0 else cap >> 1) <= size <= cap, "a leaf breaks the size bounds"
            keys = f.leaf_key[leaf * cap : leaf * cap + size].tolist()
            assert keys == sorted(keys), "a leaf is out of order"
            assert not keys or (low <= keys[0] and keys[-1] <= high), "a leaf leaves its separators"
            assert int(f.leaf_tree[leaf]) == tree, "a leaf names another tree"
        assert [int(f.leaf_next[leaf]) for leaf in level[:-1]] == level[1:], "leaves are not linked in order"
        assert count == sum(int(f.leaf_size[leaf]) for leaf in level), "entries are miscounted"
        if linked and previous_tail >= 0:
            assert int(f.leaf_next[previous_tail]) == head, "a tail leaf is not linked to the next tree's head"
        previous_tail = level[-1]
    assert int(f.leaf_next[previous_tail]) == -1, "the last leaf is linked on"
    assert int(f.pool[NODES]) <= len(f.node_size), "more nodes than there are"
