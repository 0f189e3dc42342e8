"""Indexes by name: Weft's own, and those of other packages, which say so as entry points (`weft.spec.names`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from weft.errors import SpecError, UnknownName
from weft.index.crossed import Crossed
from weft.index.hotcold import HotCold
from weft.index.peaks import RunPeaks
from weft.index.run import Layout
from weft.index.run_building import PERSISTED
from weft.index.runs import Boxes, Hash, Runs, Scan
from weft.index.runset import RunSet
from weft.index.trees import PimTree, TreeSet, read_name
from weft.spec.names import installed, load
from weft.spec.terms import Access

__all__ = ["GROUP", "INDEXES", "IndexKind", "index_named", "known_indexes", "make_index", "named_index"]

IndexKind: TypeAlias = type[RunSet] | type[TreeSet]

_KINDS: tuple[IndexKind, ...] = (Runs, Boxes, Scan, Hash, HotCold, Crossed, RunPeaks, PimTree)
INDEXES: dict[str, IndexKind] = {kind.name: kind for kind in _KINDS}
"""Weft's own indexes by name."""

GROUP = "weft.indexes"
"""The entry points of other packages' indexes."""


def known_indexes() -> list[str]:
    """Return the names of all indexes, those of installed packages too."""
    return [*INDEXES, *installed(GROUP)]


def index_named(name: str) -> IndexKind:
    """Return the index class of that name."""
    if name in INDEXES:
        return INDEXES[name]
    found = load(GROUP, name)
    if found is None:
        raise UnknownName.among("index", name, known_indexes())
    if isinstance(found, type) and issubclass(found, (RunSet, TreeSet)) and found.name == name:
        return found
    raise SpecError.of(
        f"The entry point {name!r} of {GROUP!r} is {found!r}.",
        f"An index is a class that derives from weft.index.RunSet or weft.index.TreeSet, here with name = {name!r}.",
        "correct the package that declares it.",
    )


def named_index(text: str) -> tuple[IndexKind, dict[str, float]]:
    """Return the index class of a name, and the settings that the name carries: `pim-tree(depth=2)`."""
    name, settings = read_name(text)
    kind = index_named(name)
    known = kind.reads() if issubclass(kind, TreeSet) else ()
    for setting in settings:
        if setting not in known:
            what = f"It has: {', '.join(known)}." if known else "It has none."
            raise SpecError.of(f"index={text!r}: {name} has no setting {setting!r}.", what, f"write index={name!r}.")
    if "merge_ratio" in settings and not settings["merge_ratio"] > 0:
        ratio = settings["merge_ratio"]
        raise SpecError.of(f"index={text!r}: merge_ratio={ratio:g}.", "It must be positive.", "leave it out, or use 1.")
    if issubclass(kind, TreeSet):
        # Made only to be checked: a name may carry fractions, which the settings refuse by themselves.
        kind.settings_type(**{key: value for key, value in settings.items() if key != "merge_ratio"})  # type: ignore[arg-type]
    return kind, settings


def make_index(name: str, access: Access, expiry: int | None, *, kept: bool = False) -> RunSet | TreeSet:
    """Make an empty index.

    Parameters
    ----------
    name
        A name of `known_indexes`, for the trees with settings if need be: `pim-tree(merge_ratio=1/8)`.
    access
        The way in, seen from the side that will probe: `right` columns are those of the rows stored here.
    expiry
        The stored word column that `expire` speaks of; None if rows never expire.
    kept
        The runs are written to a state store, rows and all: they are merged less often.
    """
    kind, settings = named_index(name)
    layout = Layout.of(access)
    if issubclass(kind, TreeSet):
        merging = replace(kind.default_merging, ratio=settings.pop("merge_ratio", kind.default_merging.ratio))
        return kind(layout, expiry, merging, **{key: int(value) for key, value in settings.items()})
    return kind(layout, expiry, PERSISTED) if kept else kind(layout, expiry)
