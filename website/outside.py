"""What a built page would fetch from other servers. There must be nothing: the site works without a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["fetched"]

_TAGS = re.compile(r"<(?:link|script|img|iframe|source|video|audio|embed|object|use|image)\b[^>]*>", re.IGNORECASE)
_ADDRESS = re.compile(r"\b(?:href|src|srcset|data|xlink:href)\s*=\s*[\"']?((?:https?:)?//[^\"'\s>]+)", re.IGNORECASE)
_NOT_FETCHED = re.compile(r"\brel\s*=\s*[\"']?(?:canonical|author|license)\b", re.IGNORECASE)
_CSS = re.compile(r"(?:@import\s+[\"']?|url\(\s*[\"']?)((?:https?:)?//[^\"')\s]+)")


def fetched(site: Path) -> list[str]:
    """Return `page: address` for everything that a page or a style sheet fetches from elsewhere."""
    return sorted(
        f"{path.relative_to(site)}: {address}"
        for pattern, find in (("*.html", in_page), ("*.css", in_style))
        for path in site.rglob(pattern)
        for address in find(path.read_text(encoding="utf-8"))
    )


def in_page(text: str) -> Iterator[str]:
    """Yield the addresses that the tags and inline styles of a page fetch.

    >>> list(in_page('<script src="https://cdn.example/x.js"></script> <a href="https://example.org">a link</a>'))
    ['https://cdn.example/x.js']
    """
    for tag in _TAGS.findall(text):
        if not _NOT_FETCHED.search(tag):
            yield from _ADDRESS.findall(tag)
    for style in re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL | re.IGNORECASE):
        yield from in_style(style)


def in_style(text: str) -> Iterator[str]:
    """Yield the addresses that a style sheet imports.

    >>> list(in_style("@import url(https://fonts.example/a.css); a { background: url(data:image/png;base64,A) }"))
    ['https://fonts.example/a.css']
    """
    yield from _CSS.findall(text)
