"""Counting keys one after the other: count-min cells, and Alg. 1 of the augmented sketch line by line (000-06..000-13)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import inlined, kernel
from weft.types import Bools, Words

__all__ = ["count_keys", "count_through_filter", "least_counts"]

Counts = NDArray[np.int64]
Salts = NDArray[np.uint64]


@inlined
def _cell(key: np.int64, salt: np.uint64, width: int) -> np.int64:
    """Return a key's column in the row of that salt; `CountMin.cells` is the same over whole arrays."""
    state = np.uint64(key) ^ salt
    state = (state ^ (state >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)
    state = (state ^ (state >> np.uint64(32))) * np.uint64(0xC4CEB9FE1A85EC53)
    state ^= state >> np.uint64(29)
    return np.int64(((state >> np.uint64(32)) * np.uint64(width)) >> np.uint64(32))


@kernel
def count_keys(table: Counts, salts: Salts, keys: Words, weights: Counts) -> None:
    """Add each key's weight to its cell in every row."""
    depth, width = table.shape
    for row in range(depth):
        for at in range(len(keys)):
            table[row, _cell(keys[at], salts[row], width)] += weights[at]


@kernel
def least_counts(table: Counts, salts: Salts, keys: Words) -> Counts:
    """Return the least of each key's cells."""
    depth, width = table.shape
    found = np.empty(len(keys), np.int64)
    for at in range(len(keys)):
        least = table[0, _cell(keys[at], salts[0], width)]
        for row in range(1, depth):
            least = min(least, table[row, _cell(keys[at], salts[row], width)])
        found[at] = least
    return found


@kernel
def count_through_filter(
    keys: Words,
    weights: Counts,
    held: Words,
    new: Counts,
    old: Counts,
    filled: int,
    table: Counts,
    salts: Salts,
    hot: Bools,
) -> tuple[int, int]:
    """Count tuples by Alg. 1 in their order, each standing for `weight` equal ones in a row; fill in whether each is hot.

    `held`, `new`, `old` are the filter (000-06) with room for phi keys, of which the first `filled` are there. Returns
    how many are there afterwards, and how many swaps there were.
    """
    depth, width = table.shape
    cells = np.empty(depth, np.int64)
    swaps = 0
    for at in range(len(keys)):
        key, weight = keys[at], weights[at]
        place = -1
        for entry in range(filled):  # 1: a scan of L1
            if held[entry] == key:
                place = entry
                break
        if place >= 0:  # 2-4
            new[place] += weight
            hot[at] = True
            continue
        if filled < len(held):  # 5-7, where |L1| < phi is meant (000-12); hot from the second one on (000-14)
            held[filled], new[filled], old[filled] = key, weight, 0
            filled += 1
            hot[at] = weight > 1
            continue
        cells[0] = _cell(key, salts[0], width)
        before = table[0, cells[0]]
        for row in range(1, depth):
            cells[row] = _cell(key, salts[row], width)
            before = min(before, table[row, cells[row]])
        place = int(np.argmin(new))
        least = new[place]
        swapping = before + weight > least  # 10
        counted = max(1, least + 1 - before) if swapping else weight  # so many until line 10 is true
        for row in range(depth):  # 9
            table[row, cells[row]] += counted
        hot[at] = swapping
        if swapping:
            gone, exact = held[place], new[place] - old[place]  # saved before they are overwritten (000-13)
            held[place], old[place] = key, before + counted  # 11
            new[place] = before + weight
            if exact > 0:  # 12: in the cells of the key that leaves; nothing is ever subtracted (000-09)
                for row in range(depth):
                    table[row, _cell(gone, salts[row], width)] += exact
            swaps += 1
    return filled, swaps
