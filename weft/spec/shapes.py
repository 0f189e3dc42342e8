"""Whether data read from a file has the shape that its dataclass declares.

A checksum tells that a file is what somebody wrote, not that Weft wrote it. What is read is checked against the annotations of
the class that it becomes, so that nothing is computed from a text where a number belongs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Literal, NewType, get_args, get_origin, get_type_hints

__all__ = ["Width", "check_shape", "fits", "listed"]

Width = NewType("Width", int)
"""How far two words are apart: more than a word can hold where one is negative."""


def check_shape(made: Any) -> None:
    """Raise TypeError where a field of a dataclass holds something else than its annotation says.

    >>> from weft.routing.fixed import HashPlan
    >>> check_shape(HashPlan(4, left="x"))
    Traceback (most recent call last):
    TypeError: left is 'x'
    """
    for name, hint in _hints(made.__class__):
        value = getattr(made, name)
        if not fits(value, hint):
            raise TypeError(f"{name} is {value!r}")


def listed(value: object) -> Sequence[Any]:
    """Return a list as it is; raise TypeError for what can be run through as well, such as an empty table."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{value!r} is not a list")
    return value


@cache
def _hints(kind: Any) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((field.name, hints[field.name]) for field in fields(kind))


def fits(value: object, hint: Any) -> bool:
    """Tell whether a value is what an annotation says; a list passes for a tuple, as JSON has no tuples.

    >>> fits({"left": 3}, dict[str, int]), fits([1, 2.5], tuple[int, ...]), fits(2**63, int)
    (True, False, False)
    >>> fits(2**63, Width), fits(2**64, Width)
    (True, False)
    """
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    if hint is Width:
        return isinstance(value, int) and not isinstance(value, bool) and -(2**64) < value < 2**64
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is tuple:
        if not isinstance(value, (tuple, list)):
            return False
        if len(inner) == 2 and inner[1] is Ellipsis:
            if inner[0] is int and set(map(type, value)) <= {int}:  # tables can be long
                return not value or (min(value) >= -(2**63) and max(value) < 2**63)
            return all(fits(one, inner[0]) for one in value)
        return len(value) == len(inner) and all(map(fits, value, inner))
    if origin is dict:
        return isinstance(value, Mapping) and all(
            fits(key, inner[0]) and fits(one, inner[1]) for key, one in value.items()
        )
    if origin is Literal:
        return value in inner
    return isinstance(value, hint) if isinstance(hint, type) and hint is not Any else True
