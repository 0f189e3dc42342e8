"""Trees in arrays: the B+-tree, many of them in one pool, and the immutable CSS-tree (002-08, 002-09, 002-13)."""

from __future__ import annotations

from weft.kernels.trees.css import (
    Css,
    build,
    check_css,
    css_of,
    css_room,
    nodes_at,
    position,
    route,
    route_all,
    scan_css,
)
from weft.kernels.trees.delete import delete, delete_all
from weft.kernels.trees.forest import Forest, clear, forest_of, insert, insert_all, room_for, start_of
from weft.kernels.trees.load import bulk_load, check_forest, entries, scan

__all__ = [
    "Css", "Forest", "build", "bulk_load", "check_css", "check_forest", "clear", "css_of", "css_room", "delete", "delete_all",
    "entries", "forest_of", "insert", "insert_all", "nodes_at", "position", "room_for", "route", "route_all", "scan",
    "scan_css", "start_of",
]  # fmt: skip
