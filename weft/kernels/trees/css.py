"""The immutable B+-tree (CSS-tree, 002-09): one array of inner nodes, breadth first, children by arithmetic.

The leaves are the sorted entries themselves, cut every `leaf` entries. An inner slot holds the greatest key below it; the
slots of one node stand together and unused ones hold the greatest word, so every node is searched alike. Child c of
node i is node `i * fan + c` of the next level: no references, twice the fan-out per cache line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.kernels.jit import kernel
from weft.types import WORD_MAX, Rows, Words

__all__ = [
    "Css", "build", "check_css", "count_below", "count_upto", "css_of", "css_room", "nodes_at", "position", "route",
    "route_all", "scan_css",
]  # fmt: skip

SIZE, LEAF, FAN, LEVELS, KEYS, SLOTS, FIELDS = 0, 1, 2, 3, 4, 5, 8
TALLEST = 24


class Css(NamedTuple):
    """Sorted entries and their directory; the room may be more than what is in use.

    There may be room for several trees side by side, called *plots*, so that one can be built while another is searched.
    """

    key: Words
    row: Rows
    inner: Words
    begin: Rows
    """Per plot: where each level starts in `inner`, the root first; and from `TALLEST` on how many nodes it has."""
    shape: Rows
    """Per plot: entries, entries per leaf, children per node, levels of inner nodes, where its keys and its slots start."""

    @property
    def entries(self) -> int:
        """Return the number of entries of the first plot."""
        return int(self.shape[SIZE])

    @property
    def nbytes(self) -> int:
        """Return the bytes of all arrays."""
        return self.key.nbytes + self.row.nbytes + self.inner.nbytes + self.begin.nbytes + self.shape.nbytes


def css_room(entries: int, leaf: int = 32, fan: int = 32, plots: int = 1) -> Css:
    """Make empty trees with room for that many entries each."""
    slots, nodes = 0, -(-max(entries, 1) // leaf)
    while nodes > 1:
        nodes = -(-nodes // fan)
        slots += nodes * fan
    # Fewer entries never need more slots.
    shape = np.zeros((plots, FIELDS), np.int64)
    shape[:, LEAF], shape[:, FAN] = leaf, fan
    shape[:, KEYS], shape[:, SLOTS] = np.arange(plots) * entries, np.arange(plots) * slots
    keys, rows, inner = (np.empty(plots * size, np.int64) for size in (entries, entries, slots))
    return Css(keys, rows, inner, np.zeros(plots * 2 * TALLEST, np.int64), shape.ravel())


def css_of(keys: Words, rows: Rows, leaf: int = 32, fan: int = 32) -> Css:
    """Build a tree over sorted entries; the arrays are taken over, not copied."""
    empty = css_room(len(keys), leaf, fan)
    made = empty._replace(key=np.ascontiguousarray(keys), row=np.ascontiguousarray(rows))
    build(made, 0, len(keys))
    return made


@kernel
def build(c: Css, plot: int, n: int) -> None:
    """Build the directory over the first `n` entries of a plot, bottom up."""
    at, begin = plot * FIELDS, plot * 2 * TALLEST
    leaf, fan, key, slot = c.shape[at + LEAF], c.shape[at + FAN], c.shape[at + KEYS], c.shape[at + SLOTS]
    leaves = (n + leaf - 1) // leaf
    levels, nodes = 0, leaves
    while nodes > 1:
        nodes = (nodes + fan - 1) // fan
        c.begin[begin + levels] = nodes  # from the bottom for now
        levels += 1
    for level in range(levels):
        c.begin[begin + TALLEST + level] = c.begin[begin + levels - 1 - level]
    for level in range(levels):
        c.begin[begin + level] = slot
        slot += c.begin[begin + TALLEST + level] * fan
    below = leaves  # children of the level: leaves at the bottom, else the nodes of the level below
    for level in range(levels - 1, -1, -1):
        base, nodes = c.begin[begin + level], c.begin[begin + TALLEST + level]
        under = c.begin[begin + level + 1]
        for j in range(below):
            if j + 1 == below:
                c.inner[base + j] = c.key[key + n - 1]
            elif level == levels - 1:
                c.inner[base + j] = c.key[key + (j + 1) * leaf - 1]
            else:
                c.inner[base + j] = c.inner[under + (j + 1) * fan - 1]
        for j in range(below, nodes * fan):
            c.inner[base + j] = WORD_MAX
        below = nodes
    c.shape[at + SIZE], c.shape[at + LEVELS] = n, levels


@kernel
def position(c: Css, plot: int, key: int) -> int:
    """Return the first position in `key` whose word is not less than `key`; the end of the plot's entries if none is."""
    at, begin = plot * FIELDS, plot * 2 * TALLEST
    n, leaf, fan, first = c.shape[at + SIZE], c.shape[at + LEAF], c.shape[at + FAN], c.shape[at + KEYS]
    if n == 0 or c.key[first + n - 1] < key:
        return first + n
    node = 0
    for level in range(c.shape[at + LEVELS]):
        node = node * fan + count_below(c.inner, c.begin[begin + level] + node * fan, fan, key)
    base = node * leaf
    return first + base + count_below(c.key, first + base, min(leaf, n - base), key)


@kernel
def nodes_at(c: Css, plot: int, depth: int) -> int:
    """Return how many inner nodes there are at that depth, the root being at 0; deeper than the tree is its last level.

    002-31: the depth is clamped to the real height, and the number of nodes is what counts.
    """
    levels = c.shape[plot * FIELDS + LEVELS]
    return c.begin[plot * 2 * TALLEST + TALLEST + min(depth, levels - 1)] if levels else 1


@kernel
def route(c: Css, plot: int, key: int, depth: int) -> int:
    """Return the node at that depth whose value range holds `key`: keys up to its greatest, above its left neighbour's."""
    at, begin = plot * FIELDS, plot * 2 * TALLEST
    levels, fan = c.shape[at + LEVELS], c.shape[at + FAN]
    if levels == 0:
        return 0
    deep = min(depth, levels - 1)
    if c.key[c.shape[at + KEYS] + c.shape[at + SIZE] - 1] < key:
        return c.begin[begin + TALLEST + deep] - 1
    node = 0
    for level in range(deep):
        node = node * fan + count_below(c.inner, c.begin[begin + level] + node * fan, fan, key)
    return node


@kernel
def route_all(c: Css, keys: Words, depth: int, out: Rows) -> None:
    """Route every key through the first plot."""
    for i in range(len(keys)):
        out[i] = route(c, 0, keys[i], depth)


@kernel
def scan_css(c: Css, lo: Words, hi: Words, state: Rows, out_probe: Rows, out_row: Rows) -> int:
    """Do as `weft.kernels.trees.forest.scan` in the first plot; `state` is (probe, position or -1)."""
    room, filled, n = len(out_probe), 0, c.shape[SIZE]
    i, place = state[0], state[1]
    while i < len(lo) and filled < room:
        if place < 0:
            place = position(c, 0, lo[i])
        most = hi[i]
        while place < n and filled < room and c.key[place] <= most:
            out_probe[filled], out_row[filled] = i, c.row[place]
            filled += 1
            place += 1
        if place == n or c.key[place] > most:
            i, place = i + 1, -1
    state[0], state[1] = i, place
    return filled


def check_css(c: Css) -> None:
    """Check that the entries ascend and that every inner slot holds the greatest key below it."""
    n, leaf, fan, levels = (int(c.shape[field]) for field in (SIZE, LEAF, FAN, LEVELS))
    key = c.key[:n]
    assert bool((key[1:] >= key[:-1]).all()), "entries are out of order"
    children = -(-n // leaf)
    greatest = np.array([key[min((j + 1) * leaf, n) - 1] for j in range(children)], np.int64)
    for level in range(levels - 1, -1, -1):
        base, nodes = int(c.begin[level]), int(c.begin[TALLEST + level])
        assert nodes == -(-children // fan), "a level has too many nodes"
        slots = c.inner[base : base + nodes * fan]
        assert bool((slots[:children] == greatest).all()), "a slot is not the greatest key below it"
        assert bool((slots[children:] == WORD_MAX).all()), "an unused slot is in use"
        greatest = np.array([greatest[min((j + 1) * fan, children) - 1] for j in range(nodes)], np.int64)
        children = nodes
    assert children <= 1, "the root is not alone"


@kernel
def count_below(keys: Words, base: int, n: int, key: int) -> int:
    """Return how many of the sorted `keys[base : base + n]` are less than `key`."""
    if n == 0:
        return 0
    at = base
    while n > 1:
        half = n >> 1
        at += half * np.int64(keys[np.uint64(at + half - 1)] < key)  # unsigned: no test for indices from the end
        n -= half
    return at - base + np.int64(keys[np.uint64(at)] < key)


@kernel
def count_upto(keys: Words, base: int, n: int, key: int) -> int:
    """Return how many of the sorted `keys[base : base + n]` are not greater than `key`."""
    if n == 0:
        return 0
    at = base
    while n > 1:
        half = n >> 1
        at += half * np.int64(keys[np.uint64(at + half - 1)] <= key)
        n -= half
    return at - base + np.int64(keys[np.uint64(at)] <= key)
