"""Indexes: one side of one task, a set of runs and a way to find partners in them. Chosen by name."""

from __future__ import annotations

from weft.errors import SpecError, UnknownName
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
from weft.index.settings import TreeSettings, kind_of, read_name, show_name
from weft.index.treeset import TreeSet
from weft.spec.terms import Access

__all__ = [
    "INDEXES", "BPlusTree", "Chained", "Crossed", "CssTree", "Hash", "HotCold", "ImTree", "Index", "Layout", "Matches",
    "PimTree", "Probe", "RoundRobin", "Run", "Runs", "Scan", "TreeSet", "index_named", "kind_of", "make_index",
    "named_index", "read_name", "show_name",
]  # fmt: skip

_KINDS: tuple[type[RunSet] | type[TreeSet], ...] = (
    Runs, Scan, Hash, HotCold, Crossed, BPlusTree, CssTree, Chained, ImTree, PimTree, RoundRobin,
)  # fmt: skip
INDEXES: dict[str, type[RunSet] | type[TreeSet]] = {kind.name: kind for kind in _KINDS}
"""Every index by its name."""

KEPT = (1.25, 4, 2048, 4, 4)
"""How runs are merged that are written then, in the order of `RunSet`: seldom. 002-27 finds a ratio of 1 best; a little
more lets the oldest run of a sliding window expire as a whole instead of being written again."""


def index_named(name: str) -> type[RunSet] | type[TreeSet]:
    """Return the index class of that name."""
    if name not in INDEXES:
        raise UnknownName.among("index", name, INDEXES)
    return INDEXES[name]


def named_index(text: str) -> tuple[type[RunSet] | type[TreeSet], dict[str, float]]:
    """Return the index class of a name, and the settings that the name carries: `chained(length=3)`."""
    name, settings = read_name(text)
    kind = index_named(name)
    known = kind.reads if issubclass(kind, TreeSet) else ()
    for setting in settings:
        if setting not in known:
            what = f"It has: {', '.join(known)}." if known else "It has none."
            raise SpecError.of(f"index={text!r}: {name} has no setting {setting!r}.", what, f"write index={name!r}.")
    if "merge_ratio" in settings and not settings["merge_ratio"] > 0:
        ratio = settings["merge_ratio"]
        raise SpecError.of(f"index={text!r}: merge_ratio={ratio:g}.", "It must be positive.", "leave it out, or use 1.")
    # Made only to be checked: a name may carry fractions, which the settings refuse by themselves.
    TreeSettings(**{key: value for key, value in settings.items() if key != "merge_ratio"})  # type: ignore[arg-type]
    return kind, settings


def make_index(name: str, access: Access, expiry: int | None, *, kept: bool = False) -> RunSet | TreeSet:
    """Make an empty index.

    Parameters
    ----------
    name
        A key of `INDEXES`, for the trees with settings if need be: `pim-tree(merge_ratio=1/8)`.
    access
        The way in, seen from the side that will probe: `right` columns are those of the rows stored here.
    expiry
        The stored word column that `expire` speaks of; None if rows never expire.
    kept
        The runs are written to a state store, rows and all: they are merged less often.
    """
    kind, settings = named_index(name)
    if issubclass(kind, TreeSet):
        ratio = settings.pop("merge_ratio", 1.0)
        return kind(Layout.of(access), expiry, ratio, **{key: int(value) for key, value in settings.items()})
    return kind(Layout.of(access), expiry, *KEPT) if kept else kind(Layout.of(access), expiry)
