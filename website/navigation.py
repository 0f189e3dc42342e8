"""The navigation of mkdocs.yml, in which `folder/*` stands for the pages of a folder that no entry names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["expanded", "named"]


def expanded(nav: list[Any], present: Iterable[str]) -> list[Any]:
    """Replace every `folder/*` by the pages of the folder that the navigation does not name; `./*` are those in no folder.

    >>> expanded([{"Guide": ["guide/a.md", "guide/*"]}], ["guide/b.md", "guide/a.md"])
    [{'Guide': ['guide/a.md', 'guide/b.md']}]
    """
    left = sorted(set(present) - set(named(nav)))
    return list(_filled(nav, left))


def named(nav: Any) -> Iterator[str]:
    """Yield the pages that a navigation names, section by section."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for below in nav.values():
            yield from named(below)
    else:
        for entry in nav:
            yield from named(entry)


def _filled(entries: list[Any], left: list[str]) -> Iterator[Any]:
    for entry in entries:
        if isinstance(entry, str) and entry.endswith("/*"):
            folder = entry.removesuffix("*").removeprefix("./").rstrip("/")
            yield from (page for page in left if page.rpartition("/")[0] == folder)
        elif isinstance(entry, dict):
            yield {
                title: list(_filled(below, left)) if isinstance(below, list) else below
                for title, below in entry.items()
            }
        else:
            yield entry
