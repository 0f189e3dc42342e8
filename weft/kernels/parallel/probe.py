"""Finding a tuple's partners: T_S without a lock, then the sub-indexes of T_I one lock at a time, then the rest by hand.

002-20: the index answers for positions [t_e, edge), the linear scan for [edge, t_l]; an index entry at or beyond the edge that
the tuple saw is left to the scan. 002-21: the paper prints t_l and t_e the other way round.
"""

from __future__ import annotations

from weft.kernels.jit import inlined, kernel
from weft.kernels.parallel.shared import (
    AT,
    DEPTH,
    FOUND,
    LEAF,
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
from weft.kernels.trees.forest import Forest, start_of
from weft.types import Rows

__all__ = ["opposite", "probe_immutable", "probe_sub_index", "scan_window"]


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
