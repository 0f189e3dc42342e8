"""Indexes that only comparisons need: the PIM-Tree paper's competitors.

Weft finds them by name, as it would yours: they are entry points of the group `weft.indexes`.
"""

from __future__ import annotations

from weft_lab.indexes.bplustree import BPlusTree, RoundRobin
from weft_lab.indexes.chained import Chained
from weft_lab.indexes.csstree import CssTree
from weft_lab.indexes.imtree import ImTree

__all__ = ["BPlusTree", "Chained", "CssTree", "ImTree", "RoundRobin"]
