"""Finding a tuple's partners: T_S without a lock, then the sub-indexes of T_I one lock at a time, then the rest by hand.

002-20: the index answers for positions [t_e, edge), the linear scan for [edge, t_l]; an index entry at or beyond the edge that
the tuple saw is left to the scan. 002-21: the paper prints t_l and t_e the other way round.
"""

from __future__ import annotations

from weft.kernels.jit import kernel
from weft.kernels.parallel.shared import (
    AT,
    DEPTH,
    FOUND,
    LEAF,
    MASK,
    PLOT,
    QUEUE_MASK,
    RING,
    SEEN_EDGE,
    SIDE,
    SIDES,
    TREE,
    TREES,
    WORKER,
    WROTE,
    Shared,
)
from weft.kernels.trees.css import FIELDS as SHAPE
from weft.kernels.trees.css import KEYS, SIZE, position, route
from weft.kernels.trees.forest import LEAF as SLOTS
from weft.kernels.trees.forest import start_of

__all__ = ["opposite", "probe_immutable", "probe_sub_index", "scan_window"]


@kernel
def opposite(s: Shared, side: int) -> int:
    """Return the window that a tuple of `side` probes: the other one, or its own in a self join."""
    return side if s.fixed[SIDES] == 1 else 1 - side


@kernel
def report(s: Shared, me: int, where: int) -> None:
    """Put one partner into the worker's ring; there is room, see `start_tuple`."""
    ring, at = s.fixed[RING], me * WORKER
    s.found[me * ring + ((s.worker[at + WROTE] + s.worker[at + FOUND]) & (ring - 1))] = where
    s.worker[at + FOUND] += 1


@kernel
def probe_immutable(s: Shared, me: int) -> None:
    """Search T_S; find the first sub-index of T_I for what follows."""
    at = me * WORKER
    q = s.worker[at + AT] & s.fixed[QUEUE_MASK]
    plot = s.window[opposite(s, s.side[q]) * SIDE + PLOT]
    first, edge, hi, lo = s.first[q], min(s.worker[at + SEEN_EDGE], s.past[q]), s.hi[q], s.lo[q]
    end = s.css.shape[plot * SHAPE + KEYS] + s.css.shape[plot * SHAPE + SIZE]
    i = position(s.css, plot, lo)
    while i < end and s.css.key[i] <= hi:
        where = s.css.row[i]
        if first <= where < edge:
            report(s, me, where)
        i += 1
    s.worker[at + TREE] = plot * s.fixed[TREES] + route(s.css, plot, lo, s.fixed[DEPTH])
    s.worker[at + LEAF] = -1


@kernel
def probe_sub_index(s: Shared, me: int) -> bool:
    """Search the sub-index whose lock is held; tell whether the range goes on in the next one.

    The leaf knows its tree: a leaf of another tree is where the thread swaps locks (002-13).
    """
    at = me * WORKER
    q = s.worker[at + AT] & s.fixed[QUEUE_MASK]
    f, tree = s.forest, s.worker[at + TREE]
    first, edge, hi = s.first[q], min(s.worker[at + SEEN_EDGE], s.past[q]), s.hi[q]
    leaf, place = s.worker[at + LEAF], 0
    if leaf < 0:
        leaf, place = start_of(f, tree, s.lo[q])
    cap = f.pool[SLOTS]
    while leaf >= 0 and f.leaf_tree[leaf] == tree:
        base = leaf * cap
        for i in range(base + place, base + f.leaf_size[leaf]):
            if f.leaf_key[i] > hi:
                return False
            where = f.leaf_row[i]
            if first <= where < edge:
                report(s, me, where)
        leaf, place = f.leaf_next[leaf], 0
    if leaf < 0:
        return False
    s.worker[at + LEAF], s.worker[at + TREE] = leaf, f.leaf_tree[leaf]
    return True


@kernel
def scan_window(s: Shared, me: int) -> None:
    """Compare with every tuple from the edge on."""
    at = me * WORKER
    q = s.worker[at + AT] & s.fixed[QUEUE_MASK]
    mask = s.fixed[MASK]
    base = opposite(s, s.side[q]) * (mask + 1)
    lo, hi = s.lo[q], s.hi[q]
    for where in range(max(s.worker[at + SEEN_EDGE], s.first[q]), s.past[q]):
        key = s.key[base + (where & mask)]
        if lo <= key <= hi:
            report(s, me, where)
