"""On which line of a TOML file a key stands; tomllib does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["doubled", "key_lines", "line_of"]

_HEADER = re.compile(r"^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_INNER = re.compile(r"""(?:^|[{,\s])([A-Za-z0-9_-]+|"[^"]*"|'[^']*')\s*=""")


def key_lines(text: str) -> dict[str, int]:
    r"""Return the line of every table and key, by its dotted path; keys of inline tables stand on their table's line.

    >>> key_lines('checkpoint = "c"\n[join]\non = "l.a > r.b"\nwindow = {kind = "last"}')["join.window.kind"]
    4
    """
    lines: dict[str, int] = {}
    for path, number in _walk(text):
        lines.setdefault(path, number)
    return lines


def line_of(lines: dict[str, int], path: str) -> int:
    """Return the line of a key, or of the table that it belongs into; 0 if neither is there."""
    while path not in lines and "." in path:
        path = path.rpartition(".")[0]
    return lines.get(path, 0)


def doubled(text: str) -> tuple[str, int, int] | None:
    r"""Return the first key or table that stands there twice, with both lines.

    >>> doubled('[left]\nformat = "csv"\nformat = "json"')
    ('left.format', 2, 3)
    """
    lines: dict[str, int] = {}
    for path, number in _walk(text):
        if path in lines:
            return path, lines[path], number
        lines[path] = number
    return None


def _walk(text: str) -> Iterator[tuple[str, int]]:
    """Yield every table and key with its line."""
    table, key, closing = "", "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if closing:  # inside a text or an array of several lines
            if closing in _code(line, closing):
                closing = ""
            elif closing == "]":
                yield from _inner(line, key, number)
            continue
        header = _HEADER.match(line)
        if header:
            table = _plain(header[1])
            yield table, number
            continue
        found = _KEY.match(line)
        if not found:
            continue
        key = ".".join(part for part in (table, _plain(found[1])) if part)
        yield key, number
        value = line[found.end() :].strip()
        closing = _open_end(value)
        if value.startswith("{"):
            yield from _inner(value, key, number)


def _inner(text: str, key: str, number: int) -> Iterator[tuple[str, int]]:
    for inner in _INNER.finditer(_without_strings(text)):
        yield f"{key}.{_plain(inner[1])}", number


def _open_end(value: str) -> str:
    """Return what ends a value that goes on over the next lines, "" if it does not."""
    for quote in ('"""', "'''"):
        if value.startswith(quote):
            return "" if quote in value[3:] else quote
    bare = _without_strings(value)
    return "]" if value.startswith("[") and bare.count("[") > bare.count("]") else ""


def _code(line: str, closing: str) -> str:
    return _without_strings(line) if closing == "]" else line


def _without_strings(text: str) -> str:
    """Blank out values in quotes and comments, so that what looks like a key or bracket in them is none."""
    blanked = re.sub(r"""=\s*("(?:[^"\\]|\\.)*"|'[^']*')""", "= ", text)
    blanked = re.sub(r"""("(?:[^"\\]|\\.)*"|'[^']*')(?!\s*=)""", "", blanked)
    return blanked.split("#")[0]


def _plain(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))
