"""Deleting from a B+-tree: nodes that fall below half borrow from a neighbour or merge with it.

One thread at a time, in a forest of one plot: path and free lists are kept there.
"""

from __future__ import annotations

from weft.kernels.jit import kernel
from weft.kernels.trees.css import count_below
from weft.kernels.trees.forest import COUNT, FAN, FIELDS, FREE_LEAF, FREE_NODE, HEIGHT, LEAF, ROOT, Forest
from weft.types import Rows, Words

__all__ = ["delete", "delete_all"]


@kernel
def next_leaf(f: Forest, height: int) -> int:
    """Move the path to the next leaf of the tree; -1 at its end."""
    fan = f.pool[FAN]
    level = 1
    while level <= height and f.path[2 * level + 1] == f.node_size[f.path[2 * level]] - 1:
        level += 1
    if level > height:
        return -1
    f.path[2 * level + 1] += 1
    node = f.node_child[f.path[2 * level] * fan + f.path[2 * level + 1]]
    while level > 1:
        level -= 1
        f.path[2 * level], f.path[2 * level + 1] = node, 0
        node = f.node_child[node * fan]
    return node


@kernel
def close_slot(f: Forest, parent: int, slot: int) -> None:
    """Remove child `slot` (not the first) and the separator to its left."""
    base, n = parent * f.pool[FAN], f.node_size[parent]
    for i in range(base + slot, base + n - 1):
        f.node_child[i] = f.node_child[i + 1]
        f.node_key[i - 1] = f.node_key[i]
    f.node_size[parent] = n - 1


@kernel
def fix_leaf(f: Forest, parent: int, slot: int) -> bool:
    """Bring a leaf that is too small up to half, from a neighbour under the same parent; tell whether they merged."""
    fan, cap = f.pool[FAN], f.pool[LEAF]
    least = cap >> 1
    base = parent * fan
    if slot > 0:
        left, right, gap = f.node_child[base + slot - 1], f.node_child[base + slot], slot - 1
        giver = left
    else:
        left, right, gap = f.node_child[base], f.node_child[base + 1], 0
        giver = right
    a, b, n, m = left * cap, right * cap, f.leaf_size[left], f.leaf_size[right]
    if f.leaf_size[giver] > least:
        if giver == left:
            for i in range(b + m, b, -1):
                f.leaf_key[i], f.leaf_row[i] = f.leaf_key[i - 1], f.leaf_row[i - 1]
            f.leaf_key[b], f.leaf_row[b] = f.leaf_key[a + n - 1], f.leaf_row[a + n - 1]
            f.leaf_size[left], f.leaf_size[right] = n - 1, m + 1
        else:
            f.leaf_key[a + n], f.leaf_row[a + n] = f.leaf_key[b], f.leaf_row[b]
            for i in range(b, b + m - 1):
                f.leaf_key[i], f.leaf_row[i] = f.leaf_key[i + 1], f.leaf_row[i + 1]
            f.leaf_size[left], f.leaf_size[right] = n + 1, m - 1
        f.node_key[base + gap] = f.leaf_key[b]
        return False
    for i in range(m):
        f.leaf_key[a + n + i], f.leaf_row[a + n + i] = f.leaf_key[b + i], f.leaf_row[b + i]
    f.leaf_size[left] = n + m
    f.leaf_next[left] = f.leaf_next[right]
    close_slot(f, parent, gap + 1)
    f.leaf_next[right], f.pool[FREE_LEAF] = f.pool[FREE_LEAF], right
    return True


@kernel
def fix_node(f: Forest, parent: int, slot: int) -> bool:
    """Do the same for an inner node; separators move through the parent."""
    fan = f.pool[FAN]
    least = fan >> 1
    base = parent * fan
    if slot > 0:
        left, right, gap = f.node_child[base + slot - 1], f.node_child[base + slot], slot - 1
        giver = left
    else:
        left, right, gap = f.node_child[base], f.node_child[base + 1], 0
        giver = right
    a, b, n, m = left * fan, right * fan, f.node_size[left], f.node_size[right]
    if f.node_size[giver] > least:
        if giver == left:
            for i in range(b + m, b, -1):
                f.node_child[i] = f.node_child[i - 1]
            for i in range(b + m - 1, b, -1):
                f.node_key[i] = f.node_key[i - 1]
            f.node_child[b], f.node_key[b] = f.node_child[a + n - 1], f.node_key[base + gap]
            f.node_key[base + gap] = f.node_key[a + n - 2]
            f.node_size[left], f.node_size[right] = n - 1, m + 1
        else:
            f.node_child[a + n], f.node_key[a + n - 1] = f.node_child[b], f.node_key[base + gap]
            f.node_key[base + gap] = f.node_key[b]
            for i in range(b, b + m - 1):
                f.node_child[i] = f.node_child[i + 1]
            for i in range(b, b + m - 2):
                f.node_key[i] = f.node_key[i + 1]
            f.node_size[left], f.node_size[right] = n + 1, m - 1
        return False
    f.node_key[a + n - 1] = f.node_key[base + gap]
    for i in range(m):
        f.node_child[a + n + i] = f.node_child[b + i]
    for i in range(m - 1):
        f.node_key[a + n + i] = f.node_key[b + i]
    f.node_size[left] = n + m
    close_slot(f, parent, gap + 1)
    f.node_child[b], f.pool[FREE_NODE] = f.pool[FREE_NODE], right
    return True


@kernel
def delete(f: Forest, tree: int, key: int, row: int) -> bool:
    """Delete the entry; tell whether it was there.

    Among equal keys the first is tried first: the oldest, which is the one that expires. Others are found by walking.
    """
    fan, cap, at = f.pool[FAN], f.pool[LEAF], tree * FIELDS
    node, height = f.tree[at + ROOT], f.tree[at + HEIGHT]
    for level in range(height, 0, -1):
        slot = count_below(f.node_key, node * fan, f.node_size[node] - 1, key)
        f.path[2 * level], f.path[2 * level + 1] = node, slot
        node = f.node_child[node * fan + slot]
    place = count_below(f.leaf_key, node * cap, f.leaf_size[node], key)
    while True:
        base, n = node * cap, f.leaf_size[node]
        while place < n and f.leaf_key[base + place] == key and f.leaf_row[base + place] != row:
            place += 1
        if place < n:
            break
        node, place = next_leaf(f, height), 0
        if node < 0:
            return False
    if f.leaf_key[base + place] != key:
        return False
    for i in range(base + place, base + n - 1):
        f.leaf_key[i], f.leaf_row[i] = f.leaf_key[i + 1], f.leaf_row[i + 1]
    f.leaf_size[node] = n - 1
    f.tree[at + COUNT] -= 1
    if height == 0 or n - 1 >= cap >> 1:
        return True
    merged = fix_leaf(f, f.path[2], f.path[3])
    level = 2
    while merged and level <= height and f.node_size[f.path[2 * level - 2]] < fan >> 1:
        merged = fix_node(f, f.path[2 * level], f.path[2 * level + 1])
        level += 1
    root = f.tree[at + ROOT]
    if f.node_size[root] == 1:
        f.tree[at + ROOT], f.tree[at + HEIGHT] = f.node_child[root * fan], height - 1
        f.node_child[root * fan], f.pool[FREE_NODE] = f.pool[FREE_NODE], root
    return True


@kernel
def delete_all(f: Forest, trees: Rows, keys: Words, rows: Rows) -> int:
    """Delete entries one by one, each from its tree; return how many were there."""
    found = 0
    for i in range(len(keys)):
        found += delete(f, trees[i], keys[i], rows[i])
    return found
