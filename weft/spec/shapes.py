"""Whether data read from a file has the shape that its dataclass declares.

A checksum tells that a file is what somebody wrote, not that Weft wrote it. What is read is checked against the annotations of
the class that it becomes, so that nothing is computed from a text where a number belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    return _test(hint)(value)


Test = Callable[[Any], bool]


@cache
def _test(hint: Any) -> Test:
    """Return what tests values against an annotation: manifests have hundreds of entries, and every batch reads several."""
    if hint is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    if hint is Width:
        return lambda value: isinstance(value, int) and not isinstance(value, bool) and -(2**64) < value < 2**64
    if hint is float:
        return lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _test_of_many(inner[0]) if len(inner) == 2 and inner[1] is Ellipsis else _test_of_each(inner)
    if origin is dict:
        key, content = map(_test, inner)
        return lambda value: isinstance(value, Mapping) and all(map(key, value)) and all(map(content, value.values()))
    if origin is Literal:
        return lambda value: value in inner
    known = hint if isinstance(hint, type) and hint is not Any else object
    return lambda value: isinstance(value, known)


def _test_of_many(hint: Any) -> Test:
    """Return what tests lists; they can be long, so a list of rows is tested column by column."""
    one, inner = _test(hint), get_args(hint)
    columns = tuple(map(_test_of_many, inner)) if get_origin(hint) is tuple and Ellipsis not in inner else ()

    def many(value: Any) -> bool:
        if not isinstance(value, (tuple, list)):
            return False
        kinds = set(map(type, value))
        if hint is int and kinds <= {int}:
            return not value or (min(value) >= -(2**63) and max(value) < 2**63)
        if hint is str and kinds <= {str}:
            return True
        if columns and kinds <= {tuple, list} and set(map(len, value)) == {len(columns)}:
            return all(test(column) for test, column in zip(columns, zip(*value, strict=True), strict=True))
        return all(map(one, value))

    return many


def _test_of_each(hints: Sequence[Any]) -> Test:
    """Return what tests tuples that have so many elements."""
    tests = tuple(map(_test, hints))

    def each(value: Any) -> bool:
        if not isinstance(value, (tuple, list)) or len(value) != len(tests):
            return False
        return all(test(one) for test, one in zip(tests, value, strict=True))

    return each
