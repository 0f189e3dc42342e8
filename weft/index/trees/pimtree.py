"""PIM-Tree (002-10, 002-11, 002-13 to 002-15): a mutable T_I takes the inserts, an immutable T_S holds the rest.

When T_I has reached the merge ratio of T_S, both are merged into a new T_S, and what has expired is left behind: no entry is
ever deleted. A probe searches both. The paper merges when |T_I| = m · w; a window's size is not known here, but
T_S holds it at each merge, so T_I is compared with T_S.

T_I is cut into sub-indexes, one per node of T_S at the insertion depth. A sub-index covers the value range of its node, so an
insert descends T_S to that depth and then a small tree that is still in the cache. The tail leaf of each is linked to the head
leaf of the next: a range is scanned in one go. After a merge the ranges are those of the new T_S, and so follow the distribution
(002-25). The locks of the sub-indexes are in `weft.local.parallel`: a task of a micro-batch engine has its index for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from weft.index.trees.cost_model import Cost, Workload, predict_pim_tree
from weft.index.trees.settings import TreeSettings, setting
from weft.index.trees.treeset import Candidates, Grove, TreeSet, stream_css
from weft.kernels.merge import Sorted, merge_all
from weft.kernels.trees import Css, check_css, nodes_at, route_all
from weft.types import Rows, Words

__all__ = ["PimSettings", "PimTree"]


@dataclass(frozen=True)
class PimSettings(TreeSettings):
    """Settings of a PIM-Tree."""

    depth: int = setting(1, 0, "The root of T_S is at depth 0.")
    """D_I, the depth of T_S whose nodes have sub-indexes, the root being at 0; clamped to the height (002-31)."""


class PimTree(TreeSet):
    """Partitioned delta merging: T_S, and T_I in sub-indexes of the nodes at `depth`."""

    name: ClassVar[str] = "pim-tree"
    settings_type: ClassVar[type[TreeSettings]] = PimSettings
    merges: ClassVar[bool] = True

    @classmethod
    def predict(cls, load: Workload, settings: Mapping[str, float]) -> Cost | None:
        return predict_pim_tree(load, settings.get("merge_ratio", 1.0), int(settings.get("depth", 1)))

    @property
    def depth(self) -> int:
        """Return the depth of T_S whose nodes have sub-indexes."""
        assert isinstance(self.settings, PimSettings)
        return self.settings.depth

    @property
    def sub_indexes(self) -> int:
        """Return the number of sub-indexes."""
        self._ready()
        return self._grove.forest.trees

    def _reset(self) -> None:
        empty = np.empty(0, np.int64)
        self._archive(empty, empty)

    def _archive(self, keys: Words, numbers: Rows) -> None:
        """Make the entries T_S, and T_I empty."""
        self._css: Css = self._fixed(keys, numbers)
        self._grove = self._mutable()

    def _mutable(self) -> Grove:
        """Make an empty T_I for the new T_S."""
        return self._trees(nodes_at(self._css, 0, self.depth), linked=True)

    def _homes(self, keys: Words) -> Rows:
        """Return the sub-index that each key belongs to."""
        homes = np.empty(len(keys), np.int64)
        route_all(self._css, keys, self.depth, homes)
        return homes

    def _add(self, keys: Words, numbers: Rows) -> None:
        self._grove.insert(self._homes(keys), keys, numbers)
        if len(self._grove) >= max(self.merge_ratio * self._css.entries, self.small):
            self._merge()

    def _load(self, keys: Words, numbers: Rows) -> None:
        """Rows of the newest runs are T_I, as far as the merge ratio lets them; all others are T_S."""
        newer = numbers >= self._first_of_t_i(numbers)
        self._archive(keys[~newer], numbers[~newer])
        self._grove.insert(self._homes(keys[newer]), keys[newer], numbers[newer])

    def _first_of_t_i(self, numbers: Rows) -> int:
        first = self._next
        for kept in reversed(self._kept[1:]):
            mutable = int(np.count_nonzero(numbers >= kept.base))
            if mutable >= max(self.merge_ratio * (len(numbers) - mutable), self.small):
                break
            first = kept.base
        return first

    def _merge(self) -> None:
        """Merge T_S and T_I, which is sorted through its leaves, without what has expired (002-10, 002-14)."""
        pieces = []
        for keys, numbers in ((self._css.key, self._css.row), self._grove.sorted()):
            living = self._living(numbers)
            pieces.append(Sorted((keys[living],), numbers[living]))
        merged = merge_all(pieces)
        self._archive(merged.keys[0], merged.row)

    def _candidates(self, lo: Words, hi: Words, room: int) -> Candidates:
        mutable = self._grove.stream(self._homes(lo), lo, hi, room)
        return chain(stream_css(self._css, lo, hi, room), mutable)

    def _validate_trees(self) -> int:
        check_css(self._css)
        held = self._css.entries + self._grove.validate()
        keys, numbers = self._grove.sorted()
        forest = self._grove.forest
        homes = np.repeat(np.arange(forest.trees), [forest.count(tree) for tree in range(forest.trees)])
        assert bool((homes == self._homes(keys)).all()), "an entry is out of its range"
        assert len(numbers) == len(self._grove), "a sub-index is not linked"
        return held

    def _parts(self) -> dict[str, int]:
        # 002-16: while it merges, the new T_S stands beside the old one.
        entry = self._css.key.itemsize + self._css.row.itemsize
        return {
            "T_S": self._css.nbytes,
            "T_I": self._grove.nbytes,
            "merge buffer": (self._css.entries + len(self._grove)) * entry,
        }
