"""What workers do with the index: finding the partners of a tuple, putting it in, and merging what was put in.

Partners come from T_S without a lock, then from the sub-indexes of T_I one lock at a time, then from the rest by hand.

002-20: the index answers for positions [t_e, edge), the linear scan for [edge, t_l]; an index entry at or beyond the edge that
the tuple saw is left to the scan. 002-21: the paper prints t_l and t_e the other way round.

A tuple that was put in moves the edge tuple, which says how far the index reaches (002-19, 002-22). T_S and T_I of one window are
merged into the plots that are not in use, which are then put in their place (002-14, 002-24).
"""

from __future__ import annotations

from weft.kernels.jit import inlined, kernel
from weft.kernels.llvm import fetch_add, load, store, swap
from weft.kernels.parallel.shared import (
    ACTIVE,
    AT,
    BACK,
    BLOCKED,
    BLOCKING,
    COUNTED,
    DEPTH,
    EARLY,
    EDGE,
    EDGE_LOCK,
    FOUND,
    FROZEN,
    IDLE,
    IN_TI,
    LEAF,
    LINE,
    LOCK,
    MASK,
    MERGE_BLOCK,
    MERGE_BUILD,
    MERGE_INSERT,
    MERGE_LOCK,
    MERGE_SWAP,
    MERGE_WAIT,
    MERGER,
    MERGES,
    MOVED,
    OLDEST,
    OUT_TRY,
    PEND,
    PEND_END,
    PHASE,
    PLOT,
    QUEUE_FIRST,
    QUEUE_HI,
    QUEUE_LO,
    QUEUE_LOCK,
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
    TIMED,
    TREE,
    TREES,
    WAITS,
    WINDOW,
    WORKER,
    WROTE,
)
from weft.kernels.trees.css import FIELDS as SHAPE
from weft.kernels.trees.css import KEYS, SIZE, Css, build, nodes_at, position, route
from weft.kernels.trees.forest import FIELDS, Forest, clear, insert, start_of
from weft.kernels.trees.forest import HEAD as HEAD_LEAF
from weft.kernels.trees.forest import LEAF as SLOTS
from weft.types import Rows

__all__ = [
    "advance_edges", "aim", "insert_entry", "merge_step", "move_edge", "opposite", "probe_immutable", "probe_sub_index",
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


@kernel
def build_plot(m: Rows, f: Forest, c: Css, side: int, oldest: int) -> None:
    """Merge in key order what lies at position `oldest` or later; then empty sub-indexes for the nodes of the new T_S."""
    old = m[side * SIDE + PLOT]
    new = old ^ 1
    cap = f.pool[SLOTS]
    i = c.shape[old * SHAPE + KEYS]
    end = i + c.shape[old * SHAPE + SIZE]
    out = first = c.shape[new * SHAPE + KEYS]
    leaf, place = f.tree[old * m[TREES] * FIELDS + HEAD_LEAF], 0
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


@kernel
def merge_step(m: Rows, f: Forest, css: Css, me: int) -> int:
    """Do the next step of the merging thread (002-24)."""
    at = me * WORKER
    phase = m[at + PHASE]
    side = m[MERGER] - 1
    w = side * SIDE
    if phase == MERGE_WAIT:
        if load(m, ACTIVE):
            return WAITS
        # Phase 1: every tuple taken so far is indexed. The new T_S is built beside the old one.
        move_edge(m, side)
        m[at + OLDEST] = m[w + EARLY] if m[TIMED] else max(0, m[w + COUNTED] - m[WINDOW])
        if not m[BLOCKING]:
            store(m, w + FROZEN, 1)
            store(m, BLOCKED, 0)
        m[at + PHASE] = MERGE_BUILD
    elif phase == MERGE_BUILD:
        build_plot(m, f, css, side, m[at + OLDEST])
        m[at + PHASE] = MERGE_SWAP if m[BLOCKING] else MERGE_BLOCK
    elif phase == MERGE_BLOCK:
        if swap(m, QUEUE_LOCK, 1):
            return WAITS
        store(m, BLOCKED, 1)
        store(m, QUEUE_LOCK, 0)
        m[at + PHASE] = MERGE_SWAP
    elif phase == MERGE_SWAP:
        if load(m, ACTIVE):
            return WAITS
        # Phase 2: the new index takes the old one's place; what came meanwhile is still to be put in.
        take_over(m, side)
        m[at + PEND], m[at + PEND_END] = m[w + EDGE], m[w + COUNTED]
        store(m, w + IN_TI, 0)
        store(m, w + FROZEN, 0)
        m[w + MERGES] += 1
        store(m, BLOCKED, 0)
        m[at + PHASE] = MERGE_LOCK
    elif phase == MERGE_LOCK:
        if m[at + PEND] == m[at + PEND_END]:
            store(m, MERGER, 0)
            m[at + PHASE], m[at + BACK] = OUT_TRY, IDLE
            return MOVED
        aim(m, css, me, side, m[at + PEND])
        if swap(m, m[LOCK] + m[at + TREE] * LINE, 1):
            return WAITS
        m[at + PHASE] = MERGE_INSERT
    elif phase == MERGE_INSERT:
        insert_entry(m, f, me, side, m[at + PEND])
        m[at + PEND] += 1
        if not swap(m, w + EDGE_LOCK, 1):
            move_edge(m, side)
            store(m, w + EDGE_LOCK, 0)
        m[at + PHASE] = MERGE_LOCK
    return MOVED
