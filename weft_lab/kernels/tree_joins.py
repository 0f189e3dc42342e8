"""Index-based window joins of one thread, tuple at a time: what the single-threaded figures of the paper measure.

Tuple t comes from stream `t % sides`. It searches the other stream's index (002-02), the expired tuple of its own window is
deleted where the index deletes, it is inserted. Positions count the tuples of a stream. Every function returns how many
pairs it found from tuple `start` on, so that a call can go on where the last one ended.
"""

from __future__ import annotations

from weft.kernels.jit import kernel
from weft.kernels.trees.css import FIELDS as SHAPE
from weft.kernels.trees.css import KEYS, SIZE, Css, build, nodes_at, position, route
from weft.kernels.trees.forest import FIELDS, HEAD, LEAF, Forest, clear, insert, start_of
from weft.types import Rows, Words
from weft_lab.kernels.tree_delete import delete

__all__ = ["count_forest", "join_bplus", "join_chain", "join_loop", "join_merged", "merge_side"]


@kernel
def count_forest(f: Forest, tree: int, lo: int, hi: int, oldest: int) -> int:
    """Count the entries in a range, through the links, that are at position `oldest` or later."""
    cap, found = f.pool[LEAF], 0
    leaf, place = start_of(f, tree, lo)
    while leaf >= 0:
        base = leaf * cap
        for i in range(base + place, base + f.leaf_size[leaf]):
            if f.leaf_key[i] > hi:
                return found
            found += f.leaf_row[i] >= oldest
        leaf, place = f.leaf_next[leaf], 0
    return found


@kernel
def count_css(c: Css, plot: int, lo: int, hi: int, oldest: int) -> int:
    """Do the same in an immutable tree."""
    found, i = 0, position(c, plot, lo)
    end = c.shape[plot * SHAPE + KEYS] + c.shape[plot * SHAPE + SIZE]
    while i < end and c.key[i] <= hi:
        found += c.row[i] >= oldest
        i += 1
    return found


@kernel
def join_loop(keys: Words, start: int, stop: int, sides: int, window: int, band: int) -> int:
    """Nested loop (002-03): compare with every tuple of the other window."""
    found = 0
    for t in range(start, stop):
        other = 0 if sides == 1 else 1 - t % 2
        past = t if sides == 1 else (t + 1 - other) // 2  # tuples of the other stream so far
        for p in range(max(0, past - window), past):
            apart = keys[p * sides + other] - keys[t]
            found += -band <= apart <= band
    return found


@kernel
def join_bplus(f: Forest, keys: Words, start: int, stop: int, sides: int, window: int, band: int, parts: int) -> int:
    """B+-trees (002-03), `parts` of them per window, dealt out round robin (002-05; 1: a single tree).

    Tree `stream * parts + position % parts`.
    """
    found = 0
    for t in range(start, stop):
        own, key = t % sides, keys[t]
        place, other = t // sides, sides - 1 - own
        for part in range(parts):
            found += count_forest(f, other * parts + part, key - band, key + band, 0)
        if place >= window:
            old = place - window
            delete(f, own * parts + old % parts, keys[old * sides + own], old)
        insert(f, own * parts + place % parts, key, place)
    return found


@kernel
def join_chain(
    f: Forest, c: Css, keys: Words, start: int, stop: int, sides: int, window: int, band: int, length: int, immutable: bool,
) -> int:  # fmt: skip
    """Chained index (002-04): per window `length` + 1 sub-indexes of w / (L - 1) positions, used in turn.

    Sub-index k of a stream is plot `stream * (length + 1) + k` of the forest and of the immutable trees.
    """
    found, limit, ring = 0, (window + length - 2) // (length - 1), length + 1
    for t in range(start, stop):
        own, key = t % sides, keys[t]
        place, other = t // sides, sides - 1 - own
        past = (t + sides - 1 - other) // sides  # tuples of the other stream so far
        oldest = max(0, past - window)
        for number in range(oldest // limit, (past + limit - 1) // limit):
            plot = other * ring + number % ring
            if immutable and (number + 1) * limit <= past:
                found += count_css(c, plot, key - band, key + band, oldest)
            else:
                found += count_forest(f, plot, key - band, key + band, oldest)
        number = place // limit
        plot = own * ring + number % ring
        if place % limit == 0:
            clear(f, plot, plot, 1, False)  # the sub-index that was here has expired as a whole
        insert(f, plot, key, place)
        if immutable and (place + 1) % limit == 0:
            archive(f, c, plot)
    return found


@kernel
def archive(f: Forest, c: Css, plot: int) -> None:
    """Make the B+-tree of a plot into an immutable one."""
    cap, leaf = f.pool[LEAF], f.tree[plot * FIELDS + HEAD]
    first = out = c.shape[plot * SHAPE + KEYS]
    while leaf >= 0:
        for i in range(leaf * cap, leaf * cap + f.leaf_size[leaf]):
            c.key[out], c.row[out] = f.leaf_key[i], f.leaf_row[i]
            out += 1
        leaf = f.leaf_next[leaf]
    build(c, plot, out - first)


@kernel
def merge_side(f: Forest, c: Css, side: int, trees: int, depth: int, oldest: int, state: Rows) -> None:
    """Merge T_S and T_I of a stream into its other plot and use that from now on (002-10, 002-14).

    `state[side]` is the plot in use, of 2 per stream, and `state[2 + side]` how many entries T_I has.
    """
    old = state[side]
    new = old ^ 1
    cap = f.pool[LEAF]
    i = c.shape[old * SHAPE + KEYS]
    end = i + c.shape[old * SHAPE + SIZE]
    first = out = c.shape[new * SHAPE + KEYS]
    leaf = f.tree[old * trees * FIELDS + HEAD]
    while leaf >= 0:
        for k in range(leaf * cap, leaf * cap + f.leaf_size[leaf]):
            key = f.leaf_key[k]
            while i < end and c.key[i] <= key:
                c.key[out], c.row[out] = c.key[i], c.row[i]
                out += c.row[i] >= oldest
                i += 1
            c.key[out], c.row[out] = key, f.leaf_row[k]
            out += f.leaf_row[k] >= oldest
        leaf = f.leaf_next[leaf]
    while i < end:
        c.key[out], c.row[out] = c.key[i], c.row[i]
        out += c.row[i] >= oldest
        i += 1
    build(c, new, out - first)
    clear(f, new, new * trees, nodes_at(c, new, depth), True)
    state[side], state[2 + side] = new, 0


@kernel
def join_merged(
    f: Forest, c: Css, keys: Words, start: int, stop: int, sides: int, window: int, band: int, trees: int, depth: int,
    limit: int, state: Rows,
) -> int:  # fmt: skip
    """IM-Tree (depth 0: T_I is one tree) and PIM-Tree, merging when T_I holds `limit` entries; see `merge_side`."""
    found = 0
    for t in range(start, stop):
        own, key = t % sides, keys[t]
        place, other = t // sides, sides - 1 - own
        past = (t + sides - 1 - other) // sides
        oldest = max(0, past - window)
        plot = state[other]
        found += count_css(c, plot, key - band, key + band, oldest)
        first = plot * trees + route(c, plot, key - band, depth)
        found += count_forest(f, first, key - band, key + band, oldest)
        plot = state[own]
        insert(f, plot * trees + route(c, plot, key, depth), key, place)
        state[2 + own] += 1
        if state[2 + own] >= limit:
            merge_side(f, c, own, trees, depth, max(0, place + 1 - window), state)
    return found
