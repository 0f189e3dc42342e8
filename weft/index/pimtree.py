"""PIM-Tree (002-13 to 002-15): T_I is cut into sub-indexes, one per node of T_S at the insertion depth.

A sub-index covers the value range of its node, so an insert descends T_S to that depth and then a small tree that is still in
the cache. The tail leaf of each is linked to the head leaf of the next: a range is scanned in one go. After a merge the ranges
are those of the new T_S, and so follow the distribution (002-25). The locks of the sub-indexes are in
`weft.local.parallel`: a task of a micro-batch engine has its index for itself.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from weft.index.grove import Grove
from weft.index.imtree import ImTree
from weft.kernels.trees import nodes_at, route_all
from weft.types import Rows, Words

__all__ = ["PimTree"]


class PimTree(ImTree):
    """Partitioned delta merging; the sub-indexes are those of the nodes at `depth`."""

    name: ClassVar[str] = "pim-tree"
    reads: ClassVar[tuple[str, ...]] = ("merge_ratio", "depth", "leaf", "fan")

    @property
    def sub_indexes(self) -> int:
        """Return the number of sub-indexes."""
        self._ready()
        return self._grove.forest.trees

    def _mutable(self) -> Grove:
        return self._trees(nodes_at(self._css, 0, self.settings.depth), linked=True)

    def _homes(self, keys: Words) -> Rows:
        homes = np.empty(len(keys), np.int64)
        route_all(self._css, keys, self.settings.depth, homes)
        return homes

    def _validate_trees(self) -> int:
        held = super()._validate_trees()
        keys, numbers = self._grove.sorted()
        forest = self._grove.forest
        sizes = [forest.count(tree) for tree in range(forest.trees)]
        assert bool((np.repeat(np.arange(forest.trees), sizes) == self._homes(keys)).all()), (
            "an entry is out of its range"
        )
        assert len(numbers) == len(self._grove), "a sub-index is not linked"
        return held
