"""Merging T_S and T_I of one window into the plot that is not in use (002-14, 002-24): nothing that is in use is touched."""

from __future__ import annotations

from weft.kernels.jit import kernel
from weft.kernels.parallel.shared import (
    DEPTH,
    PLOT,
    SIDE,
    TREES,
)
from weft.kernels.trees.css import FIELDS as SHAPE
from weft.kernels.trees.css import KEYS, SIZE, Css, build, nodes_at
from weft.kernels.trees.forest import FIELDS, HEAD, Forest, clear
from weft.kernels.trees.forest import LEAF as SLOTS
from weft.types import Rows

__all__ = ["build_plot", "take_over"]


@kernel
def build_plot(m: Rows, f: Forest, c: Css, side: int, oldest: int) -> None:
    """Merge in key order what lies at position `oldest` or later; then empty sub-indexes for the nodes of the new T_S."""
    old = m[side * SIDE + PLOT]
    new = old ^ 1
    cap = f.pool[SLOTS]
    i = c.shape[old * SHAPE + KEYS]
    end = i + c.shape[old * SHAPE + SIZE]
    out = first = c.shape[new * SHAPE + KEYS]
    leaf, place = f.tree[old * m[TREES] * FIELDS + HEAD], 0
    while leaf >= 0:
        base, n = leaf * cap, f.leaf_size[leaf]
        while place < n:
            key = f.leaf_key[base + place]
            while i < end and c.key[i] <= key:  # equal keys: T_S is older
                c.key[out], c.row[out] = c.key[i], c.row[i]
                out += c.row[i] >= oldest
                i += 1
            c.key[out], c.row[out] = key, f.leaf_row[base + place]
            out += f.leaf_row[base + place] >= oldest
            place += 1
        leaf, place = f.leaf_next[leaf], 0
    while i < end:
        c.key[out], c.row[out] = c.key[i], c.row[i]
        out += c.row[i] >= oldest
        i += 1
    build(c, new, out - first)
    clear(f, new, new * m[TREES], nodes_at(c, new, m[DEPTH]), True)


@kernel
def take_over(m: Rows, side: int) -> None:
    """Swap the plots of a window; nobody is at work."""
    m[side * SIDE + PLOT] ^= 1
