"""B+-trees with node references and linked leaves, any number of them over one pool of nodes (002-08, STX).

An entry is (key word, row number). Equal keys are separate entries, in the order they came. Nodes are numbers into
arrays; a node's slots stand together, so a node is a few cache lines. A separator bounds both sides and belongs to
neither: keys to its left are not greater, keys to its right not less. So a search for the first of equal keys goes left
of an equal separator, an insert goes right of it.

Inserts split full nodes on the way down, so no path has to be kept and threads can work on different trees of one pool at a
time: taking a node from the pool is one atomic addition (002-13). Whole trees are scanned through their leaves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.errors import SpecError
from weft.kernels.jit import kernel
from weft.kernels.llvm import fetch_add
from weft.kernels.trees.css import count_below, count_upto
from weft.types import Rows, Words

__all__ = [
    "COUNT", "HEAD", "HEIGHT", "ROOT", "Forest", "check_forest", "clear", "entries", "forest_of", "insert", "insert_all",
    "room_for", "scan", "start_of",
]  # fmt: skip

ROOT, HEIGHT, COUNT, HEAD, PLOT, FIELDS = 0, 1, 2, 3, 4, 8  # of a tree; a line of the cache each
LEAF, FAN, LEAVES, NODES, FREE_LEAF, FREE_NODE, FIRST_LEAF, FIRST_NODE = range(8)  # of a plot's pool
DEEPEST = 32


class Forest(NamedTuple):
    """Nodes in arrays, and the trees that are made of them.

    Leaf `l` has `leaf_size[l]` entries from slot `l * pool[LEAF]` on; inner node `n` has `node_size[n]` children from slot
    `n * pool[FAN]` on and one separator less. `leaf_next` is -1 at the end, `leaf_tree` names the tree of a leaf.
    """

    leaf_key: Words
    leaf_row: Rows
    leaf_size: Rows
    leaf_next: Rows
    leaf_tree: Rows
    node_key: Words
    node_child: Rows
    node_size: Rows
    tree: Rows
    """Per tree `FIELDS` numbers: root, height (0: the root is a leaf), entries, head leaf, plot."""
    pool: Rows
    """Per plot: slots of a leaf, children of a node, where the next leaf and node are taken from, heads of the two free
    lists (-1: none), where its leaves and nodes start. A plot is a share of the nodes that is cleared as a whole."""
    path: Rows
    """Room for the one deleter's path: (node, slot) per level."""

    @property
    def nbytes(self) -> int:
        """Return the bytes of all arrays."""
        return sum(array.nbytes for array in self)

    @property
    def trees(self) -> int:
        """Return the number of trees."""
        return len(self.tree) // FIELDS

    def count(self, tree: int = 0) -> int:
        """Return the entries of a tree."""
        return int(self.tree[tree * FIELDS + COUNT])


def needed(entries: int, trees: int, leaf: int, fan: int) -> tuple[int, int]:
    """Return how many leaves and inner nodes that many entries can need at most: every node but a root is half full."""
    leaves = entries // (leaf >> 1) + trees + 1
    return leaves, 2 * leaves // (fan >> 1) + trees + 2


def forest_of(
    trees: int = 1, entries: int = 0, leaf: int = 32, fan: int = 32, linked: bool = False, plots: int = 1
) -> Forest:
    """Make empty trees with room for that many entries.

    Parameters
    ----------
    trees
        How many trees, per plot.
    entries
        Room to take at once, per plot; `room_for` makes more where there is one plot.
    leaf, fan
        Entries per leaf and children per inner node, at most.
    linked
        Link the leaves of each tree to those of the next (002-13): one scan runs through all of them.
    plots
        How many shares of the nodes; tree `i` of plot `p` is number `p * trees + i`.
    """
    if leaf < 2 or fan < 4:
        raise SpecError.of(f"leaf={leaf}, fan={fan}.", "A leaf holds at least 2 entries, a node 4 children.", "use 32.")
    leaves, nodes = needed(entries, trees, leaf, fan)
    pool = np.zeros((plots, FIELDS), np.int64)
    pool[:, LEAF], pool[:, FAN] = leaf, fan
    pool[:, FIRST_LEAF], pool[:, FIRST_NODE] = np.arange(plots) * leaves, np.arange(plots) * nodes
    made = Forest(
        np.empty(plots * leaves * leaf, np.int64),
        np.empty(plots * leaves * leaf, np.int64),
        np.zeros(plots * leaves, np.int64),
        np.full(plots * leaves, -1, np.int64),
        np.zeros(plots * leaves, np.int64),
        np.empty(plots * nodes * fan, np.int64),
        np.empty(plots * nodes * fan, np.int64),
        np.zeros(plots * nodes, np.int64),
        np.zeros(plots * trees * FIELDS, np.int64),
        pool.ravel(),
        np.zeros(2 * DEEPEST, np.int64),
    )
    for plot in range(plots):
        clear(made, plot, plot * trees, trees, linked)
    return made


@kernel
def clear(f: Forest, plot: int, first: int, trees: int, linked: bool) -> None:
    """Make a plot's nodes into `trees` empty trees, numbered from `first` on: one leaf each. The room stays."""
    at = plot * FIELDS
    leaf = f.pool[at + FIRST_LEAF]
    for t in range(first, first + trees):
        of = t * FIELDS
        f.tree[of + ROOT], f.tree[of + HEIGHT], f.tree[of + COUNT], f.tree[of + HEAD] = leaf, 0, 0, leaf
        f.tree[of + PLOT] = plot
        f.leaf_size[leaf], f.leaf_tree[leaf] = 0, t
        f.leaf_next[leaf] = leaf + 1 if linked and t + 1 < first + trees else -1
        leaf += 1
    f.pool[at + LEAVES], f.pool[at + NODES] = leaf, f.pool[at + FIRST_NODE]
    f.pool[at + FREE_LEAF], f.pool[at + FREE_NODE] = -1, -1


def room_for(f: Forest, entries: int) -> Forest:
    """Return the forest, of one plot, with room for so many entries in all: itself, or a copy with twice the nodes."""
    leaf, fan = int(f.pool[LEAF]), int(f.pool[FAN])
    leaves, nodes = needed(entries, f.trees, leaf, fan)
    have_leaves, have_nodes = len(f.leaf_size), len(f.node_size)
    if leaves <= have_leaves and nodes <= have_nodes:
        return f
    leaves, nodes = max(leaves, 2 * have_leaves), max(nodes, 2 * have_nodes)
    sizes = (leaves * leaf, leaves * leaf, leaves, leaves, leaves, nodes * fan, nodes * fan, nodes)
    grown: list[Any] = [_grown(array, size) for array, size in zip(f[:8], sizes, strict=True)]
    return f._replace(**dict(zip(f._fields, grown, strict=False)))


def _grown(array: Rows, size: int) -> Rows:
    bigger = np.empty(size, np.int64)
    bigger[: len(array)] = array
    return bigger


@kernel
def new_leaf(f: Forest, tree: int) -> int:
    """Take a leaf from the pool."""
    plot = f.tree[tree * FIELDS + PLOT] * FIELDS
    leaf = f.pool[plot + FREE_LEAF]
    if leaf >= 0:  # only a plot with deletes has a free list, and it has one owner
        f.pool[plot + FREE_LEAF] = f.leaf_next[leaf]
    else:
        leaf = fetch_add(f.pool, plot + LEAVES, 1)
    f.leaf_size[leaf], f.leaf_tree[leaf], f.leaf_next[leaf] = 0, tree, -1
    return leaf


@kernel
def new_node(f: Forest, tree: int) -> int:
    """Take an inner node from the pool."""
    plot = f.tree[tree * FIELDS + PLOT] * FIELDS
    node = f.pool[plot + FREE_NODE]
    if node >= 0:
        f.pool[plot + FREE_NODE] = f.node_child[node * f.pool[FAN]]
    else:
        node = fetch_add(f.pool, plot + NODES, 1)
    f.node_size[node] = 0
    return node


@kernel
def open_slot(f: Forest, parent: int, slot: int, separator: int, child: int) -> None:
    """Put `child` to the right of slot `slot` of a node that is not full, behind `separator`."""
    base, n = parent * f.pool[FAN], f.node_size[parent]
    for i in range(base + n - 1, base + slot, -1):
        f.node_child[i + 1] = f.node_child[i]
        f.node_key[i] = f.node_key[i - 1]
    f.node_child[base + slot + 1] = child
    f.node_key[base + slot] = separator
    f.node_size[parent] = n + 1


@kernel
def split_leaf(f: Forest, parent: int, slot: int) -> None:
    """Move the upper half of a full leaf into a new one to its right."""
    cap = f.pool[LEAF]
    leaf = f.node_child[parent * f.pool[FAN] + slot]
    new = new_leaf(f, f.leaf_tree[leaf])
    half = cap >> 1
    source, target = leaf * cap + half, new * cap
    for i in range(cap - half):
        f.leaf_key[target + i], f.leaf_row[target + i] = f.leaf_key[source + i], f.leaf_row[source + i]
    f.leaf_size[leaf], f.leaf_size[new] = half, cap - half
    f.leaf_next[new], f.leaf_next[leaf] = f.leaf_next[leaf], new  # the last leaf's link goes on to the next tree
    open_slot(f, parent, slot, f.leaf_key[target], new)


@kernel
def split_node(f: Forest, tree: int, parent: int, slot: int) -> None:
    """Move the upper half of a full inner node into a new one to its right; the separator between them goes up."""
    fan = f.pool[FAN]
    node = f.node_child[parent * fan + slot]
    new = new_node(f, tree)
    half = fan >> 1
    source, target = node * fan + half, new * fan
    for i in range(fan - half):
        f.node_child[target + i] = f.node_child[source + i]
    for i in range(fan - half - 1):
        f.node_key[target + i] = f.node_key[source + i]
    f.node_size[node], f.node_size[new] = half, fan - half
    open_slot(f, parent, slot, f.node_key[source - 1], new)


@kernel
def insert(f: Forest, tree: int, key: int, row: int) -> None:
    """Insert one entry behind its equals. There must be room: see `room_for`."""
    fan, cap, at = f.pool[FAN], f.pool[LEAF], tree * FIELDS
    node, height = f.tree[at + ROOT], f.tree[at + HEIGHT]
    full = f.leaf_size[node] == cap if height == 0 else f.node_size[node] == fan
    if full:
        top = new_node(f, tree)
        f.node_child[top * fan], f.node_size[top] = node, 1
        if height == 0:
            split_leaf(f, top, 0)
        else:
            split_node(f, tree, top, 0)
        node, height = top, height + 1
        f.tree[at + ROOT], f.tree[at + HEIGHT] = node, height
    for level in range(height, 0, -1):
        base = node * fan
        slot = count_upto(f.node_key, base, f.node_size[node] - 1, key)
        child = f.node_child[base + slot]
        full = f.leaf_size[child] == cap if level == 1 else f.node_size[child] == fan
        if full:
            if level == 1:
                split_leaf(f, node, slot)
            else:
                split_node(f, tree, node, slot)
            if f.node_key[base + slot] <= key:
                child = f.node_child[base + slot + 1]
        node = child
    base, n = node * cap, f.leaf_size[node]
    place = base + count_upto(f.leaf_key, base, n, key)
    for i in range(base + n, place, -1):
        f.leaf_key[i], f.leaf_row[i] = f.leaf_key[i - 1], f.leaf_row[i - 1]
    f.leaf_key[place], f.leaf_row[place] = key, row
    f.leaf_size[node] = n + 1
    f.tree[at + COUNT] += 1


@kernel
def insert_all(f: Forest, trees: Rows, keys: Words, rows: Rows) -> None:
    """Insert entries one by one, each into its tree."""
    for i in range(len(keys)):
        insert(f, trees[i], keys[i], rows[i])


@kernel
def start_of(f: Forest, tree: int, key: int) -> tuple[int, int]:
    """Return leaf and position of the first entry of the tree that is not less than `key`.

    The position may be one past the leaf's last entry: the scan goes on to the next leaf.
    """
    fan, cap, at = f.pool[FAN], f.pool[LEAF], tree * FIELDS
    node = f.tree[at + ROOT]
    for _ in range(f.tree[at + HEIGHT]):
        base = node * fan
        node = f.node_child[base + count_below(f.node_key, base, f.node_size[node] - 1, key)]
    return node, count_below(f.leaf_key, node * cap, f.leaf_size[node], key)


@kernel
def scan(f: Forest, trees: Rows, lo: Words, hi: Words, state: Rows, out_probe: Rows, out_row: Rows) -> int:
    """Fill the chunk with (probe, row) of entries in `[lo, hi]`, in key order per probe; return how many.

    Probe i starts in tree `trees[i]` and follows the links. `state` is (probe, leaf or -1, position), zeros but for the
    leaf to begin with; done when `state[0] == len(lo)`.
    """
    room, filled = len(out_probe), 0
    cap = f.pool[LEAF]
    i, leaf, place = state[0], state[1], state[2]
    while i < len(lo) and filled < room:
        if leaf < 0:
            leaf, place = start_of(f, trees[i], lo[i])
        most, inside = hi[i], True
        while inside and leaf >= 0 and filled < room:
            base, n = leaf * cap, f.leaf_size[leaf]
            while place < n and filled < room:
                if f.leaf_key[base + place] > most:
                    inside = False
                    break
                out_probe[filled], out_row[filled] = i, f.leaf_row[base + place]
                filled += 1
                place += 1
            if inside and place == n:
                leaf, place = f.leaf_next[leaf], 0
        if not inside or leaf < 0:
            i, leaf, place = i + 1, -1, 0
    state[0], state[1], state[2] = i, leaf, place
    return filled


@kernel
def entries(f: Forest, head: int, keys: Words, rows: Rows) -> int:
    """Write all entries from a leaf on, through the links, in order; return how many."""
    cap = f.pool[LEAF]
    filled, leaf = 0, head
    while leaf >= 0:
        for k in range(leaf * cap, leaf * cap + f.leaf_size[leaf]):
            keys[filled], rows[filled] = f.leaf_key[k], f.leaf_row[k]
            filled += 1
        leaf = f.leaf_next[leaf]
    return filled


def check_forest(f: Forest, linked: bool) -> None:
    """Check order, fan-out bounds, sizes and links of every tree; `linked` trees must follow each other (002-13)."""
    fan, cap = int(f.pool[FAN]), int(f.pool[LEAF])
    previous_tail = -1
    for tree in range(f.trees):
        root, height, count, head = (int(f.tree[tree * FIELDS + field]) for field in (ROOT, HEIGHT, COUNT, HEAD))
        level, bounds = [root], [(-(1 << 64), 1 << 64)]
        for depth in range(height):
            below: list[int] = []
            limits: list[tuple[int, int]] = []
            for node, (low, high) in zip(level, bounds, strict=True):
                size = int(f.node_size[node])
                assert (2 if depth == 0 else fan >> 1) <= size <= fan, "an inner node breaks the fan-out bounds"
                keys = f.node_key[node * fan : node * fan + size - 1].tolist()
                assert [low, *keys] == sorted([low, *keys]) and keys[-1] <= high, "separators are out of order"
                below += f.node_child[node * fan : node * fan + size].tolist()
                limits += list(zip([low, *keys], [*keys, high], strict=True))
            level, bounds = below, limits
        assert level[0] == head, "the head leaf is not the first"
        for leaf, (low, high) in zip(level, bounds, strict=True):
            size = int(f.leaf_size[leaf])
            assert (0 if height == 0 else cap >> 1) <= size <= cap, "a leaf breaks the size bounds"
            keys = f.leaf_key[leaf * cap : leaf * cap + size].tolist()
            assert keys == sorted(keys), "a leaf is out of order"
            assert not keys or (low <= keys[0] and keys[-1] <= high), "a leaf leaves its separators"
            assert int(f.leaf_tree[leaf]) == tree, "a leaf names another tree"
        assert [int(f.leaf_next[leaf]) for leaf in level[:-1]] == level[1:], "leaves are not linked in order"
        assert count == sum(int(f.leaf_size[leaf]) for leaf in level), "entries are miscounted"
        if linked and previous_tail >= 0:
            assert int(f.leaf_next[previous_tail]) == head, "a tail leaf is not linked to the next tree's head"
        previous_tail = level[-1]
    assert int(f.leaf_next[previous_tail]) == -1, "the last leaf is linked on"
    assert int(f.pool[NODES]) <= len(f.node_size), "more nodes than there are"
