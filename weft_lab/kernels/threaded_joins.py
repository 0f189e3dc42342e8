"""Baselines with several threads: one tree under one lock, and windows dealt out round robin.

A join like those of `weft_lab.kernels.tree_joins`, of which every thread does a part. No Bw-tree can be had as a package; what
stands in for that baseline (002-06) is the B+-tree under one lock, and is called so.
"""

from __future__ import annotations

from weft.kernels.jit import kernel
from weft.kernels.llvm import load, pause, store, swap
from weft.kernels.trees.forest import Forest, insert
from weft.types import Rows, Words
from weft_lab.kernels.tree_delete import delete
from weft_lab.kernels.tree_joins import count_forest, join_bplus

__all__ = ["join_locked", "join_share", "loop_share"]


@kernel
def join_locked(m: Rows, f: Forest, keys: Words, stop: int, sides: int, window: int, band: int, task: int) -> int:
    """Take the next `task` tuples and join them, all of it while holding the one lock; `m` is (lock, .., next at 8).

    So results are exact and in order, and threads do nothing but take turns.
    """
    found = 0
    while True:
        while swap(m, 0, 1):
            pause()
        start = load(m, 8)
        end = min(stop, start + task)
        found += join_bplus(f, keys, start, end, sides, window, band, 1)
        store(m, 8, end)
        store(m, 0, 0)
        if end == stop:
            return found


@kernel
def join_share(
    f: Forest, keys: Words, start: int, stop: int, sides: int, window: int, band: int, part: int, parts: int
) -> int:
    """Search one partition for every tuple, keep the tuples of that partition: one core of LHS or SplitJoin (002-05)."""
    found = 0
    for t in range(start, stop):
        own, key = t % sides, keys[t]
        place, other = t // sides, sides - 1 - own
        past = (t + sides - 1 - other) // sides
        found += count_forest(f, other, key - band, key + band, past - window)
        if place % parts == part:
            old = place - (window + parts - 1) // parts * parts  # the newest expired tuple of this partition
            if old >= 0:
                delete(f, own, keys[old * sides + own], old)
            insert(f, own, key, place)
    return found


@kernel
def loop_share(keys: Words, start: int, stop: int, sides: int, window: int, band: int, part: int, parts: int) -> int:
    """Compare every tuple with the partition's tuples of the other window (002-03)."""
    found = 0
    for t in range(start, stop):
        other = sides - 1 - t % sides
        past = (t + sides - 1 - other) // sides
        first = max(0, past - window)
        first += (part - first) % parts
        for p in range(first, past, parts):
            apart = keys[p * sides + other] - keys[t]
            found += -band <= apart <= band
    return found
