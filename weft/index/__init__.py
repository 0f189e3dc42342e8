"""Indexes: one side of one task, a set of runs and a way to find partners in them. Chosen by name."""

from __future__ import annotations

from weft.index.catalog import GROUP, INDEXES, index_named, known_indexes, make_index, named_index
from weft.index.crossed import Crossed
from weft.index.hotcold import HotCold
from weft.index.peaks import RunPeaks
from weft.index.probe_plan import ProbePlan, span_of
from weft.index.protocol import Index, Matches, Probe
from weft.index.run import Layout, Run
from weft.index.run_building import MergePolicy
from weft.index.runs import Boxes, Hash, Runs, Scan
from weft.index.runset import RunSet
from weft.index.trees import PimTree, TreeSet, kind_of, read_name, show_name

__all__ = [
    "GROUP", "INDEXES", "Boxes", "Crossed", "Hash", "HotCold", "Index", "Layout", "Matches", "MergePolicy", "PimTree", "Probe",
    "ProbePlan", "Run", "RunPeaks", "RunSet", "Runs", "Scan", "TreeSet", "index_named", "kind_of", "known_indexes", "make_index",
    "named_index", "read_name", "show_name", "span_of",
]  # fmt: skip
