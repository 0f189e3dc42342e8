"""FPTreeJoin: documents in a prefix tree of their ranked pairs, and all partners of a document by one descent (004-15..22).

The tree is arrays in preorder: the first child of `n` is `n + 1`, the next sibling of `c` is `end[c]`, and documents stand in
the order of the nodes they end at, so those of a subtree are one range `docs[first[n]:first[end[n]]]`. The paper's node
(label, children map, documents) is `pair`, a hash table on (node, pair), and that range; its header links and branch ids
are used by none of its algorithms and are left out.

Refinements that leave the result as it is: children of one node stand grouped by attribute, so the values that conflict are
passed over in one step; each node knows the attributes below it (64 bits, the last one shared), so a subtree that has
nothing to do with the document is reported whole or left whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kernels.documents.attributes import Ranked
from weft.kernels.jit import kernel
from weft.types import Rows, Words

__all__ = ["FPTree", "build_tree", "count_partners", "find_partners"]

I32 = NDArray[np.int32]
U64 = NDArray[np.uint64]


class FPTree(NamedTuple):
    """Nodes in preorder (node 0 is the root), documents in the order of their nodes."""

    rank: I32
    pair: I32
    end: I32
    group: I32
    """The next sibling with another attribute."""
    below: U64
    """The attributes below a node."""
    first: I32
    """Where the node's own documents begin; one more entry than nodes."""
    docs: I32
    slots: I32
    parent: I32
    attributes: int
    free: int
    """So many of the first attributes must agree but are not shared: the number of the window, which is no attribute."""


@kernel
def _slot(node: int, pair: int, mask: int) -> int:
    state = (np.uint64(node) << np.uint64(32) ^ np.uint64(pair)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(state >> np.uint64(24)) & mask


@kernel
def _bit(rank: int) -> np.uint64:
    return np.uint64(1) << np.uint64(min(rank, 63))


@kernel
def _grow(docs: Ranked) -> tuple[I32, I32, I32, I32, I32]:
    """Insert every document (004-15, Fig. 4); return parents, ranks, pairs, the nodes' own sizes and each document's node."""
    n, most = len(docs.offsets) - 1, len(docs.rank) + 1
    parent, rank, pair = np.full(most, -1, np.int32), np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    own, node_of, count = np.zeros(most, np.int32), np.empty(n, np.int32), 1
    size = 16
    while size < 2 * most:
        size *= 2
    slots, mask = np.full(size, -1, np.int32), np.int64(size - 1)
    for d in range(n):
        node = 0
        for i in range(docs.offsets[d], docs.offsets[d + 1]):
            at = _slot(node, docs.pair[i], mask)
            while slots[at] >= 0 and (parent[slots[at]] != node or pair[slots[at]] != docs.pair[i]):
                at = (at + 1) & mask
            if slots[at] < 0:
                slots[at] = count
                parent[count], rank[count], pair[count] = node, docs.rank[i], docs.pair[i]
                count += 1
            node = slots[at]
        node_of[d] = node
        own[node] += 1
    return parent[:count].copy(), rank[:count].copy(), pair[:count].copy(), own[:count].copy(), node_of


@kernel
def _preorder(parent: I32, by_rank: Rows) -> tuple[I32, I32]:
    """Number the nodes in preorder, siblings in the order of `by_rank`; return the new numbers and the subtree sizes."""
    n = len(parent)
    size = np.ones(n, np.int32)
    for node in range(n - 1, 0, -1):  # children have greater numbers than their parents
        size[parent[node]] += size[node]
    child, following = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for k in range(n - 1, -1, -1):
        node = by_rank[k]
        if node > 0:
            following[node] = child[parent[node]]
            child[parent[node]] = node
    number = np.zeros(n, np.int32)
    for k in range(n):  # parents come before their children
        at, node = number[k] + 1, child[k]
        while node >= 0:
            number[node] = at
            at += size[node]
            node = following[node]
    return number, size


@kernel
def _by_rank(rank: I32, attributes: int) -> Rows:
    """Return the nodes by rank, the root (rank -1) first, equal ones as they stand: a counting sort."""
    start = np.zeros(attributes + 2, np.int64)
    for node in range(len(rank)):
        start[rank[node] + 2] += 1
    for k in range(1, attributes + 2):
        start[k] += start[k - 1]
    order = np.empty(len(rank), np.int64)
    for node in range(len(rank)):
        order[start[rank[node] + 1]] = node
        start[rank[node] + 1] += 1
    return order


@kernel
def _placed(number: I32, node_of: I32, first: I32) -> I32:
    """Return the documents in the order of their nodes, those of one node as they came; `first` says where each begins."""
    at, order = first.copy(), np.empty(len(node_of), np.int32)
    for d in range(len(node_of)):
        node = number[node_of[d]]
        order[at[node]] = d
        at[node] += 1
    return order


@kernel
def _finish(
    parent: I32, rank: I32, pair: I32, size: I32
) -> tuple[I32, I32, U64, I32]:  # fmt: skip
    """Return ends, groups, attributes below, and the hash table of children, of nodes in preorder."""
    n = len(parent)
    end, group, below = np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n, np.uint64)
    for node in range(n):
        end[node] = node + size[node]
        group[node] = end[node]
    for node in range(n - 1, 0, -1):
        below[parent[node]] |= below[node] | _bit(rank[node])
        after = end[node]
        if after < end[parent[node]] and rank[after] == rank[node]:
            group[node] = group[after]
    space = 16
    while space < 2 * n:
        space *= 2
    slots, mask = np.full(space, -1, np.int32), np.int64(space - 1)
    for node in range(1, n):
        at = _slot(parent[node], pair[node], mask)
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = node
    return end, group, below, slots


def build_tree(docs: Ranked, attributes: int, free: int = 0) -> FPTree:
    """Build the tree of ranked documents; documents without pairs end at the root and have no partners."""
    parent, rank, pair, own, node_of = _grow(docs)
    number, size = _preorder(parent, _by_rank(rank, attributes))
    place = np.empty(len(number), np.int64)
    place[number] = np.arange(len(number))
    moved = np.where(parent < 0, -1, number[parent]).astype(np.int32)[place]
    rank, pair, own, size = rank[place], pair[place], own[place], size[place]
    end, group, below, slots = _finish(moved, rank, pair, size)
    first = np.zeros(len(own) + 1, np.int32)
    np.cumsum(own, out=first[1:])
    docs_in_order = _placed(number, node_of, first)
    return FPTree(rank, pair, end, group, below, first, docs_in_order, slots, moved, attributes, free)


@kernel
def _child(tree: FPTree, node: int, pair: int) -> int:
    """Return the child of a node with this pair, -1 if it has none."""
    mask = np.int64(len(tree.slots) - 1)
    at = _slot(node, pair, mask)
    while tree.slots[at] >= 0:
        found = tree.slots[at]
        if tree.parent[found] == node and tree.pair[found] == pair:
            return np.int64(found)
        at = (at + 1) & mask
    return -1


@kernel
def _descend(tree: FPTree, value: I32, mine: np.uint64, after: int, stack: I32, starts: I32, stops: I32) -> int:
    """Find the documents behind `after` that join one document, as ranges of `docs`; return how many ranges.

    `value[rank]` is the document's pair, -2 where it lacks the attribute; `mine` the bits of its attributes. One loop does
    Alg. 2 and 3 with their corrections (004-19, 004-20): an attribute that all documents have is one group under its node,
    so going down by the document's own pair *is* the direct descent, whatever `num` is, and it stays right when a document
    without that attribute arrives (004-22). The sign of a stack entry says whether a pair is shared already.
    """
    found, top = 0, 1
    stack[0] = 0  # the root: nothing shared
    while top > 0:
        top -= 1
        entry = stack[top]
        shared = entry < 0
        node = -entry if shared else entry
        if shared:
            if tree.below[node] & mine == 0:  # nothing below can conflict: the whole subtree joins
                a, b = max(np.int64(tree.first[node]), after + 1), np.int64(tree.first[tree.end[node]])
                if a < b:
                    starts[found], stops[found] = a, b
                    found += 1
                continue
            a, b = max(np.int64(tree.first[node]), after + 1), np.int64(tree.first[node + 1])
            if a < b:
                starts[found], stops[found] = a, b
                found += 1
        child, last = node + 1, tree.end[node]
        while child < last:
            own = value[tree.rank[child]]
            if own == -2:
                if tree.first[tree.end[child]] > after + 1 and (shared or tree.below[child] & mine != 0):
                    stack[top] = -child if shared else child
                    top += 1
                child = tree.end[child]
            else:
                following = tree.group[child]
                hit = child if tree.pair[child] == own else -1
                if hit < 0 and own >= 0 and tree.end[child] < following:
                    hit = _child(tree, node, own)
                if hit >= 0 and tree.first[tree.end[hit]] > after + 1:
                    stack[top] = -hit if shared or tree.rank[hit] >= tree.free else hit
                    top += 1
                child = following
    return found


@kernel
def _same_as_before(probes: Ranked, d: int) -> bool:
    if d == 0:
        return False
    a, b, c = probes.offsets[d - 1], probes.offsets[d], probes.offsets[d + 1]
    if c - b != b - a:
        return False
    for k in range(b - a):  # noqa: SIM110  Numba knows no generators
        if probes.pair[a + k] != probes.pair[b + k] or probes.rank[a + k] != probes.rank[b + k]:
            return False
    return True


@kernel
def _sweep(
    tree: FPTree, probes: Ranked, after: Words, low: int, high: int, counts: Words, which: Rows, stored: Rows
) -> int:  # fmt: skip
    """Count or list the partners of probes `low:high`; they are listed if `which` has room. Equal neighbours descend once."""
    value = np.full(tree.attributes, -2, np.int32)
    nodes = len(tree.end)
    stack, starts, stops = np.empty(nodes + 1, np.int32), np.empty(nodes + 1, np.int32), np.empty(nodes + 1, np.int32)
    listing, total, ranges = len(which) > 0, 0, 0
    for d in range(low, high):
        if d == low or not _same_as_before(probes, d):
            mine = np.uint64(0)
            for i in range(probes.offsets[d], probes.offsets[d + 1]):
                value[probes.rank[i]] = probes.pair[i]
                mine |= _bit(probes.rank[i])
            ranges = _descend(tree, value, mine, after[d], stack, starts, stops)
            for i in range(probes.offsets[d], probes.offsets[d + 1]):
                value[probes.rank[i]] = -2
        begin = total
        for r in range(ranges):
            a, b = max(np.int64(starts[r]), after[d] + 1), np.int64(stops[r])
            if a >= b:
                continue
            if listing:
                for k in range(a, b):
                    which[total + k - a] = d
                    stored[total + k - a] = tree.docs[k]
            total += b - a
        if not listing:
            counts[d] = total - begin
    return total


def count_partners(tree: FPTree, probes: Ranked, after: Words | None = None) -> Words:
    """Return the number of partners of each probe. `after`: only those behind this place in the tree's order count.

    `after` must not descend from a probe to an equal one that follows it.
    """
    counts, none = np.zeros(len(probes), np.int64), np.zeros(0, np.int64)
    _sweep(tree, probes, _behind(probes, after), 0, len(probes), counts, none, none)
    return counts


def find_partners(
    tree: FPTree, probes: Ranked, low: int, high: int, total: int, after: Words | None = None
) -> tuple[Rows, Rows]:
    """Return (probe, stored document) of all partners of probes `low:high`, whose number is `total`."""
    which, stored, none = np.empty(total, np.int64), np.empty(total, np.int64), np.zeros(0, np.int64)
    if total:
        _sweep(tree, probes, _behind(probes, after), low, high, none, which, stored)
    return which, stored


def _behind(probes: Ranked, after: Words | None) -> Words:
    return np.full(len(probes), -1, np.int64) if after is None else after
