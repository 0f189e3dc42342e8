"""Names of indexes and schemes: with settings, such as `pim-tree(merge_ratio=1/8, depth=2)`, and from other packages.

A value is a number (a fraction too), true, false, none, or a text, which needs quotes only where it has a comma or an
apostrophe in it. Indexes and schemes are asked for by such names, in Python, in job files and on the command line. Those of other
packages are found by name through packaging entry points, and loaded when they are asked for:

    [project.entry-points."weft.indexes"]
    my-index = "my_package:MyIndex"

`index="my-index"` then works wherever the package is installed, in Spark's Python workers too, because only the name travels.
Weft's own names are looked up first, so a package cannot replace them.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from weft.errors import SpecError

__all__ = ["Setting", "installed", "kind_of", "load", "read_name"]

Setting: TypeAlias = int | float | bool | str | None

_NAME = re.compile(r"\s*([a-z+-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_SETTING = re.compile(r"""\s*([a-z_]+)\s*=\s*("[^"]*"|'[^']*'|[^,"'=]+?)\s*""")
_PART = re.compile(r"""(?:"[^"]*"|'[^']*'|[^,])*""")
_NUMBER = re.compile(r"-?[0-9.]+(?:e-?[0-9]+)?(?:\s*/\s*[0-9]+)?")
_WORDS: dict[str, Setting] = {"true": True, "false": False, "none": None}


def kind_of(text: str) -> str:
    """Return the name before the bracket.

    >>> kind_of("pim-tree(depth=2)")
    'pim-tree'
    """
    return text.partition("(")[0].strip()


def read_name(what: str, text: str, example: str) -> tuple[str, dict[str, Setting]]:
    """Take a name with settings apart; `what` is the option it was given for, `example` a name that would do.

    >>> read_name("scheme", "sta(hot=auto, choices='two choices', worth=1/50)", "sta(hot=3)")
    ('sta', {'hot': 'auto', 'choices': 'two choices', 'worth': 0.02})
    """
    whole = _NAME.fullmatch(text)
    inside = whole.group(2) if whole else None
    if whole is None or inside is None:
        return text, {}
    settings: dict[str, Setting] = {}
    for part in _parts(inside):
        found = _SETTING.fullmatch(part)
        if found is None:
            raise SpecError.of(
                f"{what}={text!r}: {part.strip()!r} is not a setting.",
                "Settings go in parentheses after the name, each as setting=value.",
                f"write {what}={example!r}.",
            )
        name, value = found.groups()
        if name in settings:
            raise SpecError.of(
                f"{what}={text!r}: {name!r} is given twice.",
                "Each setting has one value.",
                "leave one of them out.",
            )
        settings[name] = _value(value)
    return whole.group(1), settings


def _parts(inside: str) -> list[str]:
    """Cut at the commas that are not in quotes."""
    found, at = [], 0
    while True:
        part = _PART.match(inside, at)
        assert part is not None
        found.append(part.group())
        if part.end() >= len(inside):
            return found
        at = part.end() + 1


def _value(text: str) -> Setting:
    if text[0] in "\"'":
        return text[1:-1]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if not _NUMBER.fullmatch(text):
        return text
    try:
        number = Fraction(text.replace(" ", ""))
    except (ValueError, ZeroDivisionError):
        return text  # 1/0, 1.2.3: whoever reads the setting refuses it by name
    return int(number) if number.denominator == 1 else float(number)


@cache
def _found(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group; read once, because that looks at every installed package."""
    return {point.name: point for point in entry_points(group=group)}


def installed(group: str) -> list[str]:
    """Return the names that installed packages offer in a group, without loading any of them.

    >>> installed("weft.nothing")
    []
    """
    return sorted(_found(group))


def load(group: str, name: str) -> object | None:
    """Load what an installed package offers by this name in a group; None if no package does.

    >>> load("weft.nothing", "my-index") is None
    True
    """
    point = _found(group).get(name)
    return None if point is None else point.load()
