"""Merging T_S and T_I of one window into the plots that are not in use, and putting them in their place (002-14, 002-24)."""

from __future__ import annotations

from weft.kernels.jit import kernel
from weft.kernels.llvm.atomic import load, store, swap
from weft.kernels.parallel.index_access import aim, insert_entry, move_edge
from weft.kernels.parallel.shared import (
    ACTIVE,
    BACK,
    BLOCKED,
    BLOCKING,
    COUNTED,
    DEPTH,
    EARLY,
    EDGE,
    EDGE_LOCK,
    FROZEN,
    IDLE,
    IN_TI,
    LINE,
    LOCK,
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
    QUEUE_LOCK,
    SIDE,
    TIMED,
    TREE,
    TREES,
    WAITS,
    WINDOW,
    WORKER,
)
from weft.kernels.trees.css import FIELDS as SHAPE
from weft.kernels.trees.css import KEYS, SIZE, Css, build, nodes_at
from weft.kernels.trees.forest import FIELDS, Forest, clear
from weft.kernels.trees.forest import HEAD as HEAD_LEAF
from weft.kernels.trees.forest import LEAF as SLOTS
from weft.types import Rows

__all__ = ["merge_step"]


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
