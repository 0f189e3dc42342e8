"""The files of the pages: one page, its style, its scripts. No build step: what is here is what the browser gets."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["SCRIPTS", "STYLES", "TYPES", "asset"]

SCRIPTS = (
    "dom.js",
    "format.js",
    "charts.js",
    "heat.js",
    "overview.js",
    "balance.js",
    "pictures.js",
    "plan.js",
    "documents.js",
    "join.js",
    "app.js",
)
"""In the order in which they are loaded."""
STYLES = ("style.css",)
TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}  # fmt: skip
_NAMES = frozenset({"index.html", "icon.svg", *SCRIPTS, *STYLES})


@cache
def asset(name: str) -> bytes | None:
    """Return a file of the pages; None for any other name, whatever path it spells."""
    return files(__name__).joinpath(name).read_bytes() if name in _NAMES else None
