"""The general reader: one document at a time, through Python's own parser.

It reads what the fast one leaves (objects inside arrays, large arrays as sets), and it is the plainest statement of what a
document means, so tests hold the fast one against it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from weft.kernels.documents.json_text import FREE, LEVELS, TIMES

__all__ = ["Refusal", "members_of", "spelled", "spelled_number"]

_LONE = re.compile("[\ud800-\udfff]")
_PLAIN, _SMALL = 21, -6


class Refusal(ValueError):
    """Why a document cannot be read."""


class _Number(str):
    """The spelling of a number."""

    __slots__ = ()


class _Object(list[tuple[str, Any]]):
    """The members of an object as they stand."""

    __slots__ = ()


def members_of(text: str, *, nulls: bool = False, sets: bool = False) -> list[str]:
    """Return the members `"path":value` of a document; of equal paths the last counts.

    >>> members_of('{"a": {"b": 1.0, "c": [2, "x"]}, "d": null}')
    ['"a.b":1', '"a.c":[2,"x"]']
    """
    try:
        parsed = json.loads(
            text, object_pairs_hook=_Object, parse_int=_number, parse_float=_number, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise Refusal(f"nested deeper than {LEVELS} levels") from None
    if not isinstance(parsed, _Object):
        raise Refusal("not an object")
    found: dict[str, str] = {}
    room = max(TIMES * len(text.encode("utf-8", "surrogatepass")), FREE)
    waiting: list[tuple[str, Iterator[tuple[str, Any]]]] = [("", iter(parsed))]  # no recursion: Python's own is short
    while waiting:
        prefix, items = waiting[-1]
        entry = next(items, None)
        if entry is None:
            waiting.pop()
            continue
        path, value = prefix + entry[0], entry[1]
        if isinstance(value, _Object):
            if len(waiting) == LEVELS:
                raise Refusal(f"nested deeper than {LEVELS} levels")
            waiting.append((f"{path}.", iter(value)))
            continue
        name, text = spelled_string(path), spelled(value, sets, len(waiting))
        found.pop(name, None)  # the last one counts, and stands where it stood
        if value is not None or nulls:
            found[name] = text
            room -= len(name.encode()) + len(text.encode()) + 1
        if room < 0:
            raise Refusal(f"its pairs repeat long names and take more than {TIMES} times its size")
    return [f"{path}:{value}" for path, value in found.items()]


def spelled(value: Any, sets: bool = False, level: int = 0) -> str:
    """Return the one spelling of a parsed value; objects inside arrays have their members sorted by name."""
    if not isinstance(value, list):
        return _scalar(value)
    open_: list[tuple[list[Any], list[str]]] = [(_parts(value), [])]
    while True:
        parts, texts = open_[-1]
        if parts:
            part = parts.pop()
            if not isinstance(part, list):
                texts.append(_scalar(part))
            elif level + len(open_) >= LEVELS:
                raise Refusal(f"nested deeper than {LEVELS} levels")
            else:
                open_.append((_parts(part), []))
                parts.append(part)  # stays until its text is made
            continue
        open_.pop()
        whole = value if not open_ else open_[-1][0].pop()
        text = _closed(whole, texts, sets)
        if not open_:
            return text
        open_[-1][1].append(text)


def _parts(value: list[Any]) -> list[Any]:
    """Return the values inside an object or array, the last first."""
    inner = list(dict(value).values()) if isinstance(value, _Object) else list(value)
    return inner[::-1]


def _closed(value: list[Any], texts: list[str], sets: bool) -> str:
    if isinstance(value, _Object):
        named = sorted(zip(map(spelled_string, dict(value)), texts, strict=True))
        return "{" + ",".join(f"{name}:{text}" for name, text in named) + "}"
    if sets:
        texts = sorted(set(texts), key=lambda text: text.encode())
    return "[" + ",".join(texts) + "]"


def _scalar(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return spelled_string(value)
    return "null" if value is None else "true" if value else "false"


def spelled_string(text: str) -> str:
    """Return a string in quotes; a lone surrogate stays an escape, because UTF-8 cannot say it."""
    return _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def spelled_number(text: str) -> str:
    """Return the one spelling of a number, by its exact decimal value.

    >>> [spelled_number(x) for x in ("1.0", "10e-1", "-0.0", "1e3", "0.00012", "1e-9", "1e25")]
    ['1', '1', '0', '1000', '0.00012', '1e-9', '1e25']
    """
    power = re.search(r"[eE][+-]?(\d+)", text)
    if power and len(power[1]) > 9:
        raise Refusal("a number's exponent has more than 9 digits")
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    number = "".join(map(str, digits)).lstrip("0")
    stripped = number.rstrip("0")
    if not stripped:
        return "0"
    before = len(number) + exponent  # digits before the point
    minus, size = "-" if sign else "", len(stripped)
    if _SMALL < before <= 0:
        return f"{minus}0.{'0' * -before}{stripped}"
    if 0 < before <= _PLAIN:
        whole = stripped[:before].ljust(before, "0")
        return f"{minus}{whole}.{stripped[before:]}" if size > before else f"{minus}{whole}"
    fraction = f".{stripped[1:]}" if size > 1 else ""
    return f"{minus}{stripped[0]}{fraction}e{before - 1}"


def _number(text: str) -> _Number:
    return _Number(spelled_number(text))


def _refuse_constant(text: str) -> None:
    raise Refusal(f"{text} is not JSON")
