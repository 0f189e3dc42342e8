"""PIM-Tree (002-13 to 002-15): T_I is cut into sub-indexes, one per node of T_S at the insertion depth.

A sub-index covers the value range of its node, so an insert descends T_S to that depth and then a small tree that is still in
the cache. The tail leaf of each is linked to the head leaf of the next: a range is scanned in one go. After a merge the ranges
are those of the new T_S, and so follow the distribution (002-25). The locks of the sub-indexes are in
`weft.local.parallel`: a task of a micro-batch engine has its index for itself.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from weft.errors import SpecError
from weft.index.grove import Grove
from weft.index.imtree import ImTree
from weft.index.layout import Layout
from weft.kernels.trees import nodes_at, route_all
from weft.types import Rows, Words

__all__ = ["PimTree"]


class PimTree(ImTree):
    """Partitioned delta merging.

    Parameters
    ----------
    depth
        D_I, the depth of T_S whose nodes have sub-indexes, the root being at 0; clamped to the real height (002-31).
    """

    name: ClassVar[str] = "pim-tree"

    def __init__(
        self,
        layout: Layout,
        expiry: int | None,
        merge_ratio: float = 1.0,
        fanout: int = 4,
        small: int = 2048,
        few: int = 4,
        *,
        leaf: int = 32,
        fan: int = 32,
        depth: int = 1,
    ) -> None:
        if depth < 0:
            raise SpecError.of(f"depth={depth}.", "The root of T_S is at depth 0.", "use 1.")
        self.depth = depth
        super().__init__(layout, expiry, merge_ratio, fanout, small, few, leaf=leaf, fan=fan)

    @property
    def sub_indexes(self) -> int:
        """Return the number of sub-indexes."""
        return self._grove.forest.trees

    def _mutable(self) -> Grove:
        return Grove(nodes_at(self._css, 0, self.depth), self.leaf, self.fan, linked=True)

    def _homes(self, keys: Words) -> Rows:
        homes = np.empty(len(keys), np.int64)
        route_all(self._css, keys, self.depth, homes)
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
