"""One B+-tree over the window: probe, delete what expired, insert (002-02, 002-03)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from weft.index.treeset import Candidates, TreeSet
from weft.types import Rows, Words

__all__ = ["BPlusTree"]


class BPlusTree(TreeSet):
    """The classic index-based window join: every expired row is deleted from the tree, one by one."""

    name: ClassVar[str] = "bplustree"
    deletes: ClassVar[bool] = True

    def _reset(self) -> None:
        self._grove = self._trees()

    def _add(self, keys: Words, numbers: Rows) -> None:
        self._grove.insert(np.zeros(len(keys), np.int64), keys, numbers)

    def _load(self, keys: Words, numbers: Rows) -> None:
        self._grove.load(0, keys, numbers)

    def _remove(self, keys: Words, numbers: Rows) -> None:
        self._grove.delete(np.zeros(len(keys), np.int64), keys, numbers)

    def _candidates(self, lo: Words, hi: Words, room: int) -> Candidates:
        return self._grove.stream(np.zeros(len(lo), np.int64), lo, hi, room)

    def _validate_trees(self) -> int:
        return self._grove.validate()

    def _parts(self) -> dict[str, int]:
        return {"tree": self._grove.nbytes}
