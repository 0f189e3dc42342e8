"""Tree indexes: what they share, the PIM-Tree, and the paper's model of what they cost."""

from __future__ import annotations

from weft.index.trees.cost_model import Cost, Workload, best_ratio, predict_pim_tree
from weft.index.trees.pimtree import PimTree
from weft.index.trees.settings import TreeSettings, kind_of, read_name, setting, show_name
from weft.index.trees.treeset import Candidates, Grove, NumberedRun, TreeSet, stream_css

__all__ = [
    "Candidates", "Cost", "Grove", "NumberedRun", "PimTree", "TreeSet", "TreeSettings", "Workload", "best_ratio", "kind_of",
    "predict_pim_tree", "read_name", "setting", "show_name", "stream_css",
]  # fmt: skip
