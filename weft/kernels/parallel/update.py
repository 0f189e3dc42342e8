"""Putting a tuple into the index, and the edge tuple that says how far the index reaches (002-19, 002-22)."""

from __future__ import annotations

from weft.kernels.atomic import fetch_add, load, store
from weft.kernels.jit import kernel
from weft.kernels.parallel.shared import (
    COUNTED,
    DEPTH,
    EDGE,
    IN_TI,
    LINE,
    LOCK,
    MASK,
    PLOT,
    RING_INDEXED,
    RING_KEY,
    SIDE,
    SIDES,
    TREE,
    TREES,
    WORKER,
)
from weft.kernels.trees.css import Css, route
from weft.kernels.trees.forest import Forest, insert
from weft.types import Rows

__all__ = ["advance_edges", "aim", "insert_entry", "move_edge"]


@kernel
def aim(m: Rows, css: Css, me: int, side: int, place: int) -> None:
    """Find the sub-index that a tuple belongs to."""
    mask, plot = m[MASK], m[side * SIDE + PLOT]
    key = m[m[RING_KEY] + (side * (mask + 1) + (place & mask))]
    m[me * WORKER + TREE] = plot * m[TREES] + route(css, plot, key, m[DEPTH])


@kernel
def insert_entry(m: Rows, f: Forest, me: int, side: int, place: int) -> None:
    """Insert into the sub-index whose lock is held, release it, mark the tuple as indexed (002-22)."""
    mask, tree = m[MASK], m[me * WORKER + TREE]
    slot = side * (mask + 1) + (place & mask)
    insert(f, tree, m[m[RING_KEY] + slot], place)
    fetch_add(m, side * SIDE + IN_TI, 1)
    store(m, m[LOCK] + tree * LINE, 0)
    store(m, m[RING_INDEXED] + slot, place + 1)


@kernel
def move_edge(m: Rows, side: int) -> None:
    """Advance the edge tuple over all that is indexed."""
    mask, w = m[MASK], side * SIDE
    edge, end = m[w + EDGE], load(m, w + COUNTED)
    while edge < end and load(m, m[RING_INDEXED] + side * (mask + 1) + (edge & mask)) == edge + 1:
        edge += 1
    store(m, w + EDGE, edge)


@kernel
def advance_edges(m: Rows) -> None:
    """Advance both edges as far as they go; nobody else may be at work."""
    for side in range(m[SIDES]):
        move_edge(m, side)
