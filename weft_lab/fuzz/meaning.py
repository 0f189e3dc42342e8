"""What a document means, by Python's own JSON parser: the oracle of the document reader, which shares no line with it."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, TypeAlias

__all__ = ["Meaning", "joins", "meaning_of", "spellable"]

Meaning: TypeAlias = dict[str, Any]
"""Values by dotted path; two values are equal if and only if their entries are."""

_LONG_POWER = re.compile(rb"[eE][+-]?\d{10,}")


class _Pairs(list[tuple[str, Any]]):
    __slots__ = ()


def meaning_of(data: bytes, *, nulls: bool, sets: bool) -> Meaning | None:
    """Return the meaning of a document; None if it is no JSON object in UTF-8."""
    try:
        parsed = json.loads(
            data.decode(), object_pairs_hook=_Pairs, parse_int=_number, parse_float=_number, parse_constant=_no_constant
        )
    except ValueError:
        return None
    return _flat(parsed, nulls, sets) if isinstance(parsed, _Pairs) else None


def spellable(data: bytes) -> bool:
    """Tell whether Weft may not refuse it although it is JSON: no deep nesting, no enormous exponents, no long repetition."""
    return data.count(b"[") + data.count(b"{") < 400 and not _LONG_POWER.search(data)


def joins(one: Meaning, two: Meaning) -> bool:
    """Tell whether two documents share a pair and contradict each other nowhere."""
    common = one.keys() & two.keys()
    return bool(common) and all(one[key] == two[key] for key in common)


def _flat(parsed: _Pairs, nulls: bool, sets: bool, prefix: str = "") -> Meaning:
    found: Meaning = {}
    for name, value in parsed:
        path = prefix + name
        if isinstance(value, _Pairs):
            for inner, one in _flat(value, True, sets, f"{path}.").items():
                _put(found, inner, one, nulls or bool(prefix))
        else:
            _put(found, path, _plain(value, sets), nulls or bool(prefix))
    return found


def _put(found: Meaning, path: str, value: Any, nulls: bool) -> None:
    """Let the last of equal paths count; a null takes away what stood before, unless nulls are values."""
    found.pop(path, None)
    if nulls or value != ("null",):
        found[path] = value


def _plain(value: Any, sets: bool) -> Any:
    if isinstance(value, _Pairs):
        return "object", frozenset((name, _plain(one, sets)) for name, one in dict(value).items())
    if isinstance(value, list):
        parts = [_plain(one, sets) for one in value]
        return ("set", frozenset(parts)) if sets else ("array", tuple(parts))
    if value is None:
        return ("null",)
    return ("truth", value) if isinstance(value, bool) else ("text", value) if isinstance(value, str) else value


def _number(text: str) -> tuple[str, int, str, int]:
    """Return sign, digits without zeros around them, and exponent: exact, whatever the size."""
    power = re.search(r"[eE][+-]?(\d+)", text)
    if power and len(power[1]) > 9:
        return "number", 0, text, 0
    sign, digits, exponent = Decimal(text).as_tuple()
    plain = "".join(map(str, digits)).lstrip("0")
    if not plain:
        return "number", 0, "", 0
    short = plain.rstrip("0")
    return "number", sign, short, int(exponent) + len(plain) - len(short)


def _no_constant(text: str) -> None:
    raise ValueError(text)
