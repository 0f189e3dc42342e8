"""Indexes and schemes of other packages: found by name through packaging entry points, loaded when they are asked for.

A package that brings an index says so in its `pyproject.toml`, and `index="my-index"` works wherever the package is
installed, in Spark's Python workers too, because only the name travels:

    [project.entry-points."weft.indexes"]
    my-index = "my_package:MyIndex"

Weft's own names are looked up first, so a package cannot replace them.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

__all__ = ["installed", "load"]


@cache
def _found(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group; read once, because that looks at every installed package."""
    return {point.name: point for point in entry_points(group=group)}


def installed(group: str) -> list[str]:
    """Return the names that installed packages offer in a group, without loading any of them.

    >>> installed("weft.nothing")
    []
    """
    return sorted(_found(group))


def load(group: str, name: str) -> object | None:
    """Load what an installed package offers by this name in a group; None if no package does.

    >>> load("weft.nothing", "my-index") is None
    True
    """
    point = _found(group).get(name)
    return None if point is None else point.load()
