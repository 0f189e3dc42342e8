"""Trees in arrays: the B+-tree, many of them in one pool, and the immutable CSS-tree (002-08, 002-09, 002-13)."""

from __future__ import annotations

from weft.kernels.trees.css import Css, build, check_css, css_of, css_room, nodes_at, position, route_all, scan_css
from weft.kernels.trees.forest import Forest, check_forest, clear, entries, forest_of, insert_all, room_for, scan

__all__ = [
    "Css", "Forest", "build", "check_css", "check_forest", "clear", "css_of", "css_room", "entries", "forest_of", "insert_all",
    "nodes_at", "position", "room_for", "route_all", "scan", "scan_css",
]  # fmt: skip
