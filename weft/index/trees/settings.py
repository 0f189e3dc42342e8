"""What a tree index can be told, in one record; and index names that carry it: `pim-tree(merge_ratio=1/8, depth=2)`.

The whole text is what a job keeps of its index. The name before the bracket says how runs are laid out; the rest does not
change what lies in a state store.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from weft.errors import SpecError
from weft.spec import names
from weft.spec.names import kind_of

__all__ = ["TreeSettings", "kind_of", "read_name", "setting", "show_name"]


def setting(default: int, least: int, why: str) -> Any:
    """Declare a setting of a tree: a whole number, `least` or more, and why."""
    return field(default=default, metadata={"least": least, "why": why})


@dataclass(frozen=True)
class TreeSettings:
    """Settings of every tree index; one that has more of them extends this record."""

    leaf: int = setting(32, 2, "A leaf holds at least 2 entries.")
    """Entries per leaf."""
    fan: int = setting(32, 4, "A node has at least 4 children.")
    """Children per inner node."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value: object = getattr(self, each.name)
            if not isinstance(value, int) or value < each.metadata["least"]:
                raise SpecError.of(
                    f"{each.name}={value!r}.", f"It is a whole number. {each.metadata['why']}", f"use {each.default}."
                )


def read_name(text: str) -> tuple[str, dict[str, float]]:
    """Take a name with settings apart; those of an index are numbers.

    >>> read_name("pim-tree(merge_ratio=1/8, depth=2)")
    ('pim-tree', {'merge_ratio': 0.125, 'depth': 2})
    """
    example = "pim-tree(merge_ratio=1/8)"
    name, settings = names.read_name("index", text, example)
    numbers: dict[str, float] = {}
    for key, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise SpecError.of(
                f"index={text!r}: {key}={value!r} is not a setting.",
                "Settings go in parentheses after the name, each with a number.",
                f"write index={example!r}.",
            )
        numbers[key] = value
    return name, numbers


def show_name(name: str, settings: dict[str, float]) -> str:
    """Put a name with settings together: one text for one meaning.

    >>> show_name("pim-tree", {"merge_ratio": 0.125, "depth": 2})
    'pim-tree(depth=2, merge_ratio=0.125)'
    """
    if not settings:
        return name
    return f"{name}({', '.join(f'{key}={settings[key]:.12g}' for key in sorted(settings))})"
