"""Indexes: one side of one task, a set of runs and a way to find partners in them. Chosen by name."""

from __future__ import annotations

from weft.errors import UnknownName
from weft.index.bplustree import BPlusTree
from weft.index.chained import Chained
from weft.index.crossed import Crossed
from weft.index.csstree import CssTree
from weft.index.hash import Hash
from weft.index.hotcold import HotCold
from weft.index.imtree import ImTree
from weft.index.layout import Layout
from weft.index.pimtree import PimTree
from weft.index.protocol import Index, Matches, Probe
from weft.index.roundrobin import RoundRobin
from weft.index.run import Run
from weft.index.runs import Runs
from weft.index.runset import RunSet
from weft.index.scan import Scan
from weft.index.treeset import TreeSet
from weft.spec.terms import Access

__all__ = [
    "INDEXES", "BPlusTree", "Chained", "Crossed", "CssTree", "Hash", "HotCold", "ImTree", "Index", "Layout", "Matches",
    "PimTree", "Probe", "RoundRobin", "Run", "Runs", "Scan", "TreeSet", "index_named", "make_index",
]  # fmt: skip

_KINDS: tuple[type[RunSet] | type[TreeSet], ...] = (
    Runs, Scan, Hash, HotCold, Crossed, BPlusTree, CssTree, Chained, ImTree, PimTree, RoundRobin,
)  # fmt: skip
INDEXES: dict[str, type[RunSet] | type[TreeSet]] = {kind.name: kind for kind in _KINDS}
"""Every index by its name."""

KEPT = (1.25, 4)
"""Merge ratio and fanout of runs that are written when they are merged. 002-27 finds a ratio of 1 best; a little more lets
the oldest run of a sliding window expire as a whole instead of being written again."""


def index_named(name: str) -> type[RunSet] | type[TreeSet]:
    """Return the index class of that name."""
    if name not in INDEXES:
        raise UnknownName.among("index", name, INDEXES)
    return INDEXES[name]


def make_index(name: str, access: Access, expiry: int | None, *, kept: bool = False) -> RunSet | TreeSet:
    """Make an empty index.

    Parameters
    ----------
    name
        A key of `INDEXES`.
    access
        The way in, seen from the side that will probe: `right` columns are those of the rows stored here.
    expiry
        The stored word column that `expire` speaks of; None if rows never expire.
    kept
        The runs are written to a state store, rows and all: they are merged less often.
    """
    index = index_named(name)(Layout.of(access), expiry)
    if kept and isinstance(index, RunSet):
        index.merge_ratio, index.fanout = KEPT
    return index
