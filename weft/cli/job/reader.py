"""Reading a table of the job file key by key: unknown ones, missing ones, wrong types; every mistake is kept, with its line.

What Spark finds wrong with a checked job later is told the same way: the key, its line, what would be right. On which line a key
stands tomllib does not tell, so the file is read for that once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from weft.cli.job.model import SYNONYMS, TABLES, CheckedJob, Field, JobMistakes, Mistake
from weft.errors import JobError, SpecError, UnknownName, WeftError
from weft.spec.names import installed

__all__ = ["JobReader", "blaming", "doubled", "in_two", "key_lines", "line_of", "shown"]

_WANTED = {
    "text": "a text in quotes", "texts": "a list of texts", "table": "a table", "switch": "true or false",
    "count": "a whole number of at least 1",
    "duration": "a duration such as \"10 seconds\", or a whole number in the column's own units",
}  # fmt: skip


_NUL, _WITHOUT = "It contains a NUL character, which paths and SQL cannot have.", "remove \\u0000 from it."


class JobReader:
    """The parsed file, the line of each key, and the mistakes found so far."""

    def __init__(self, data: dict[str, Any], lines: dict[str, int]) -> None:
        self.data, self.lines = data, lines
        self.mistakes: list[Mistake] = []

    def wrong(self, path: str, what: str, right: str = "") -> None:
        """Note a mistake; `path` is the dotted path of the key, or of the table when the key is not there."""
        self.mistakes.append(Mistake(shown(path), self.line(path), what, right))

    def line(self, path: str) -> int:
        """Return the line of a key, or of its table when the key is not there."""
        return line_of(self.lines, path)

    def complain(self, path: str, error: WeftError) -> None:
        """Note what a WeftError says, in one sentence and its hint."""
        self.wrong(path, *in_two(error))

    def table(self, name: str, fields: Mapping[str, Field] | None = None) -> dict[str, Any]:
        """Return the sound part of a table: known keys with values of the right type."""
        fields = TABLES[name] if fields is None else fields
        found: Any = self.data
        for part in name.split(".") if name else ():
            found = found.get(part, {}) if isinstance(found, dict) else {}
        if not isinstance(found, dict):
            return {}
        sound: dict[str, Any] = {}
        for key, value in found.items():
            path = f"{name}.{key}" if name else key
            if key not in fields:
                self._unknown(path, key, fields)
            elif self._typed(path, fields[key], value):
                sound[key] = value
        for key, field in fields.items():
            if field.required and key not in found:
                example = f"write {key} = {field.example}" if field.example else f"add a table [{key}]"
                self.wrong(f"{name}.{key}" if name else key, "It is missing.", f"{example}.")
        return sound

    def _unknown(self, path: str, key: str, fields: Mapping[str, Field]) -> None:
        close = get_close_matches(key, [*fields, *SYNONYMS], n=1)
        near = SYNONYMS.get(key) or next((SYNONYMS.get(name, name) for name in close), None)
        if near in fields:
            right = f"did you mean {near!r}?"
        elif near in TABLES[""] or key in TABLES[""]:
            right = f"write {near or key} at the top of the file, above the first [table]."
        else:
            owners = [name for name, table in TABLES.items() if name and key in table]
            right = f"{key} belongs in [{owners[0]}]." if owners else "remove it."
        self.wrong(path, f"There is no such key. Known here: {', '.join(fields)}.", right)

    def _typed(self, path: str, field: Field, value: Any) -> bool:
        if not _is(field.kind, value):
            right = (
                f"write {path.rpartition('.')[2]} = {field.example}." if field.example else f"write a table [{path}]."
            )
            if field.kind == "table" and isinstance(value, list):
                right = f"write [{path}] in single brackets: [[{path}]] begins a list of tables."
            self.wrong(path, f"It is {_said(value)}, and must be {_WANTED[field.kind]}.", right)
            return False
        if any("\0" in item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)):
            self.wrong(path, _NUL, _WITHOUT)
            return False
        if field.kind == "text" and not value.strip():
            self.wrong(path, "It is empty.", f"write {path.rpartition('.')[2]} = {field.example}.")
            return False
        plain = value.partition("(")[0].strip() if field.settings else value
        if field.choices and plain not in field.choices:
            choices = (*field.choices, *(installed(field.plugins) if field.plugins else ()))
            if plain in choices:
                return True
            near = get_close_matches(value, choices, n=1)
            right = f"did you mean {near[0]!r}?" if near else f"write {path.rpartition('.')[2]} = {field.example}."
            self.wrong(path, f"There is no {value!r}. Known: {', '.join(choices)}.", right)
            return False
        return True

    def strings(self, path: str, values: Mapping[str, Any]) -> dict[str, str]:
        """Return options or settings as Spark takes them: all texts."""
        plain: dict[str, str] = {}
        for key, value in _flat(values):
            if isinstance(value, (dict, list)):
                self.wrong(f"{path}.{key}", f"It is {_said(value)}, and must be a text, a number, true or false.")
            elif "\0" in f"{key}{value}":
                self.wrong(f"{path}.{key}".replace("\0", "\\u0000"), _NUL, _WITHOUT)
            else:
                plain[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return plain


def in_two(error: WeftError) -> tuple[str, str]:
    """Return what a WeftError says in one line, and its hint."""
    lines = str(error).splitlines()
    hint = next((line.removeprefix("Hint: ") for line in lines if line.startswith("Hint: ")), "")
    return " ".join(line for line in lines if not line.startswith("Hint: ")), hint


def shown(path: str) -> str:
    """Write a dotted path as users see it.

    >>> shown("join.window.kind"), shown("checkpoint"), shown("join")
    ('[join].window.kind', 'checkpoint', '[join]')
    """
    table, _, key = path.partition(".")
    if key:
        return f"[{table}].{key}"
    return f"[{table}]" if table in TABLES else table


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield keys whole: `spark.driver.memory = "4g"` without quotes is three tables to TOML, and one key to Spark."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _is(kind: str, value: Any) -> bool:
    if kind == "text":
        return isinstance(value, str)
    if kind == "texts":
        return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
    if kind == "switch":
        return isinstance(value, bool)
    if kind == "count":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if kind == "duration":
        return isinstance(value, (str, int)) and not isinstance(value, bool)
    return isinstance(value, dict)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value!r}"
    return f"a {'list' if isinstance(value, list) else 'table' if isinstance(value, dict) else type(value).__name__}"


@contextmanager
def blaming(job: CheckedJob) -> Iterator[None]:
    """Let errors that say which argument they are about name the key of the job file that gave it."""
    try:
        yield
    except (JobError, SpecError, UnknownName) as error:
        if isinstance(error, JobMistakes) or not error.argument:
            raise
        path = error.argument  # of weft.join, whose arguments are the keys of [join]; or a key of the file
        if path in TABLES["join"]:
            path = f"join.{path}"
        raise JobMistakes.found(job.path, [Mistake(shown(path), line_of(job.lines, path), *in_two(error))]) from None


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
