"""IM-Tree (002-10, 002-11): a mutable B+-tree T_I takes the inserts, an immutable one T_S holds the rest.

When T_I has reached the merge ratio of T_S, both are merged into a new T_S, and what has expired is left behind: no entry is
ever deleted. A probe searches both. The paper merges when |T_I| = m · w; a window's size is not known here, but
T_S holds it at each merge, so T_I is compared with T_S.
"""

from __future__ import annotations

from itertools import chain
from typing import ClassVar

import numpy as np

from weft.index.grove import Grove, stream_css
from weft.index.treeset import Candidates, TreeSet
from weft.kernels.merge import Sorted, merge_all
from weft.kernels.trees import Css, check_css
from weft.types import Rows, Words

__all__ = ["ImTree"]


class ImTree(TreeSet):
    """Delta merging: T_I and T_S."""

    name: ClassVar[str] = "im-tree"
    reads: ClassVar[tuple[str, ...]] = ("merge_ratio", "leaf", "fan")

    def _reset(self) -> None:
        empty = np.empty(0, np.int64)
        self._archive(empty, empty)

    def _archive(self, keys: Words, numbers: Rows) -> None:
        """Make the entries T_S, and T_I empty."""
        self._css: Css = self._fixed(keys, numbers)
        self._grove = self._mutable()

    def _mutable(self) -> Grove:
        return self._trees()

    def _homes(self, keys: Words) -> Rows:
        """Return the tree of T_I that each key belongs to."""
        return np.zeros(len(keys), np.int64)

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
        return self._css.entries + self._grove.validate()

    def _parts(self) -> dict[str, int]:
        # 002-16: while it merges, the new T_S stands beside the old one.
        entry = self._css.key.itemsize + self._css.row.itemsize
        return {
            "T_S": self._css.nbytes,
            "T_I": self._grove.nbytes,
            "merge buffer": (self._css.entries + len(self._grove)) * entry,
        }
