"""What a worker does with the index for one tuple: finding its partners, and putting it in.

Partners come from T_S without a lock, then from the sub-indexes of T_I one lock at a time, then from the rest by hand.

002-20: the index answers for positions [t_e, edge), the linear scan for [edge, t_l]; an index entry at or beyond the edge that
the tuple saw is left to the scan. 002-21: the paper prints t_l and t_e the other way round.

A tuple that was put in moves the edge tuple, which says how far the index reaches (002-19, 002-22).
"""

from __future__ import annotations

from weft.kernels.jit import inlined, kernel
from weft.kernels.llvm.atomic import fetch_add, load, store
from weft.kernels.parallel.shared import (
    AT,
    COUNTED,
    DEPTH,
    EDGE,
    FOUND,
    IN_TI,
    LEAF,
    LINE,
    LOCK,
    MASK,
    PLOT,
    QUEUE_FIRST,
    QUEUE_HI,
    QUEUE_LO,
    QUEUE_MASK,
    QUEUE_PAST,
    QUEUE_SIDE,
    RESULTS,
    RING,
    RING_INDEXED,
    RING_KEY,
    SEEN_EDGE,
    SIDE,
    SIDES,
    TREE,
    TREES,
    WORKER,
    WROTE,
)
from weft.kernels.trees.css import FIELDS as SHAPE
from weft.kernels.trees.css import KEYS, SIZE, Css, position, route
from weft.kernels.trees.forest import LEAF as SLOTS
from weft.kernels.trees.forest import Forest, insert, start_of
from weft.types import Rows

__all__ = [
    "advance_edges", "aim", "insert_entry", "move_edge", "opposite", "probe_immutable", "probe_sub_index",
    "scan_window",
]  # fmt: skip


@inlined
def opposite(m: Rows, side: int) -> int:
    """Return the window that a tuple of `side` probes: the other one, or its own in a self join."""
    return side if m[SIDES] == 1 else 1 - side


@inlined
def report(m: Rows, me: int, where: int) -> None:
    """Put one partner into the worker's ring; there is room, see `start_tuple`."""
    ring, at = m[RING], me * WORKER
    m[m[RESULTS] + (me * ring + ((m[at + WROTE] + m[at + FOUND]) & (ring - 1)))] = where
    m[at + FOUND] += 1


@kernel
def probe_immutable(m: Rows, css: Css, me: int) -> None:
    """Search T_S; find the first sub-index of T_I for what follows."""
    at = me * WORKER
    q = m[at + AT] & m[QUEUE_MASK]
    plot = m[opposite(m, m[m[QUEUE_SIDE] + q]) * SIDE + PLOT]
    first, edge, hi, lo = (
        m[m[QUEUE_FIRST] + q],
        min(m[at + SEEN_EDGE], m[m[QUEUE_PAST] + q]),
        m[m[QUEUE_HI] + q],
        m[m[QUEUE_LO] + q],
    )
    end = css.shape[plot * SHAPE + KEYS] + css.shape[plot * SHAPE + SIZE]
    i = position(css, plot, lo)
    while i < end and css.key[i] <= hi:
        where = css.row[i]
        if first <= where < edge:
            report(m, me, where)
        i += 1
    m[at + TREE] = plot * m[TREES] + route(css, plot, lo, m[DEPTH])
    m[at + LEAF] = -1


@kernel
def probe_sub_index(m: Rows, f: Forest, me: int) -> bool:
    """Search the sub-index whose lock is held; tell whether the range goes on in the next one.

    The leaf knows its tree: a leaf of another tree is where the thread swaps locks (002-13).
    """
    at = me * WORKER
    q = m[at + AT] & m[QUEUE_MASK]
    tree = m[at + TREE]
    first, edge, hi = m[m[QUEUE_FIRST] + q], min(m[at + SEEN_EDGE], m[m[QUEUE_PAST] + q]), m[m[QUEUE_HI] + q]
    leaf, place = m[at + LEAF], 0
    if leaf < 0:
        leaf, place = start_of(f, tree, m[m[QUEUE_LO] + q])
    cap = f.pool[SLOTS]
    while leaf >= 0 and f.leaf_tree[leaf] == tree:
        base = leaf * cap
        for i in range(base + place, base + f.leaf_size[leaf]):
            if f.leaf_key[i] > hi:
                return False
            where = f.leaf_row[i]
            if first <= where < edge:
                report(m, me, where)
        leaf, place = f.leaf_next[leaf], 0
    if leaf < 0:
        return False
    m[at + LEAF], m[at + TREE] = leaf, f.leaf_tree[leaf]
    return True


@kernel
def scan_window(m: Rows, me: int) -> None:
    """Compare with every tuple from the edge on."""
    at = me * WORKER
    q = m[at + AT] & m[QUEUE_MASK]
    mask = m[MASK]
    base = opposite(m, m[m[QUEUE_SIDE] + q]) * (mask + 1)
    lo, hi = m[m[QUEUE_LO] + q], m[m[QUEUE_HI] + q]
    for where in range(max(m[at + SEEN_EDGE], m[m[QUEUE_FIRST] + q]), m[m[QUEUE_PAST] + q]):
        key = m[m[RING_KEY] + (base + (where & mask))]
        if lo <= key <= hi:
            report(m, me, where)


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
