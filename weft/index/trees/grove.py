"""B+-trees that grow: a forest of `weft.kernels.trees` with its entries counted and its room made in time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weft.kernels.trees import (
    Css,
    Forest,
    check_forest,
    entries,
    forest_of,
    insert_all,
    room_for,
    scan,
    scan_css,
)
from weft.types import Rows, Words

__all__ = ["Grove", "stream_css"]


class Grove:
    """One or more B+-trees over one pool of nodes; `linked` ones are scanned as one."""

    def __init__(self, trees: int = 1, leaf: int = 32, fan: int = 32, linked: bool = False) -> None:
        self.linked = linked
        self.forest: Forest = forest_of(trees, 0, leaf, fan, linked)
        self.count = 0

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        """Return the bytes of all nodes."""
        return self.forest.nbytes

    def insert(self, trees: Rows, keys: Words, numbers: Rows) -> None:
        """Insert entries, each into its tree."""
        self.count += len(keys)
        self.forest = room_for(self.forest, self.count)
        insert_all(self.forest, trees, keys, numbers)

    def sorted(self) -> tuple[Words, Rows]:
        """Return all entries of linked trees, or of the first tree, by key."""
        keys, numbers = np.empty(self.count, np.int64), np.empty(self.count, np.int64)
        written = entries(self.forest, 0, keys, numbers)
        return keys[:written], numbers[:written]

    def stream(self, trees: Rows, lo: Words, hi: Words, room: int) -> Iterator[tuple[Rows, Rows]]:
        """Stream (probe, number) of the entries in each range; probe i begins in `trees[i]`."""
        state = np.array([0, -1, 0])
        while state[0] < len(lo):
            which, numbers = np.empty(room, np.int64), np.empty(room, np.int64)
            count = scan(self.forest, trees, lo, hi, state, which, numbers)
            if count:
                yield which[:count], numbers[:count]

    def validate(self) -> int:
        """Check every tree; return the number of entries."""
        check_forest(self.forest, self.linked)
        assert self.count == sum(self.forest.count(tree) for tree in range(self.forest.trees)), "entries are miscounted"
        return self.count


def stream_css(css: Css, lo: Words, hi: Words, room: int) -> Iterator[tuple[Rows, Rows]]:
    """Do as `Grove.stream` over an immutable tree."""
    state = np.array([0, -1])
    while state[0] < len(lo):
        which, numbers = np.empty(room, np.int64), np.empty(room, np.int64)
        count = scan_css(css, lo, hi, state, which, numbers)
        if count:
            yield which[:count], numbers[:count]
