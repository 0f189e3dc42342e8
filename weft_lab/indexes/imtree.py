"""IM-Tree (002-10, 002-11): delta merging without sub-indexes. T_I is one B+-tree, whatever T_S looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from weft.index.trees import Grove, PimTree, TreeSettings
from weft.index.trees.cost_model import Cost, Workload
from weft.types import Rows, Words
from weft_lab.indexes.cost import predict_im_tree

__all__ = ["ImTree"]


class ImTree(PimTree):
    """Delta merging: T_I and T_S."""

    name: ClassVar[str] = "im-tree"
    settings_type: ClassVar[type[TreeSettings]] = TreeSettings

    @classmethod
    def predict(cls, load: Workload, settings: Mapping[str, float]) -> Cost | None:
        return predict_im_tree(load, settings.get("merge_ratio", 1.0))

    def _mutable(self) -> Grove:
        return self._trees()

    def _homes(self, keys: Words) -> Rows:
        return np.zeros(len(keys), np.int64)
