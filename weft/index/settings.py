"""What a tree index can be told, in one record; and index names that carry it: `pim-tree(merge_ratio=1/8, depth=2)`.

The whole text is what a job keeps of its index. The name before the bracket says how runs are laid out; the rest does not
change what lies in a state store.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from weft.errors import SpecError

__all__ = ["TreeSettings", "kind_of", "read_name", "show_name"]


@dataclass(frozen=True)
class TreeSettings:
    """Settings of the tree indexes; each index names those that it reads."""

    leaf: int = 32
    """Entries per leaf."""
    fan: int = 32
    """Children per inner node."""
    depth: int = 1
    """`pim-tree`: D_I, the depth of T_S whose nodes have sub-indexes, the root being at 0; clamped to the height (002-31)."""
    length: int = 2
    """`chained`: L, how many sub-indexes the window is to be spread over, the active one among them."""
    immutable: int = 1
    """`chained`: whether archived sub-indexes become CSS-trees (IB-chain) or stay B+-trees (B-chain)."""
    partitions: int = 4
    """`round-robin`: P, the number of cores that would share the window."""

    def __post_init__(self) -> None:
        for name, least, why, best in (
            ("leaf", 2, "A leaf holds at least 2 entries.", 32),
            ("fan", 4, "A node has at least 4 children.", 32),
            ("depth", 0, "The root of T_S is at depth 0.", 1),
            ("length", 2, "A chain has an active and an archived sub-index.", 2),
            ("immutable", 0, "1 is an IB-chain, 0 a B-chain.", 1),
            ("partitions", 1, "There is at least one.", 4),
        ):
            value: object = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise SpecError.of(f"{name}={value!r}.", f"It is a whole number. {why}", f"use {best}.")


_NAME = re.compile(r"\s*([a-z+-]+)\s*(?:\((.*)\))?\s*")
_SETTING = re.compile(r"\s*([a-z_]+)\s*=\s*(-?[0-9.]+(?:e-?[0-9]+)?(?:\s*/\s*[0-9]+)?)\s*")


def kind_of(text: str) -> str:
    """Return the name before the bracket.

    >>> kind_of("pim-tree(depth=2)")
    'pim-tree'
    """
    return text.partition("(")[0].strip()


def read_name(text: str) -> tuple[str, dict[str, float]]:
    """Take a name with settings apart.

    >>> read_name("pim-tree(merge_ratio=1/8, depth=2)")
    ('pim-tree', {'merge_ratio': 0.125, 'depth': 2})
    """
    whole = _NAME.fullmatch(text)
    inside = whole.group(2) if whole else None
    if inside is None:
        return text, {}
    settings: dict[str, float] = {}
    for part in inside.split(","):
        found = _SETTING.fullmatch(part)
        try:
            value = Fraction(found.group(2).replace(" ", "")) if found else None
        except (ValueError, ZeroDivisionError):
            value = None
        if found is None or value is None:
            raise SpecError.of(
                f"index={text!r}: {part.strip()!r} is no setting.",
                "Settings stand in brackets after the name, each with a number.",
                "write index='pim-tree(merge_ratio=1/8)'.",
            )
        if found.group(1) in settings:
            raise SpecError.of(
                f"index={text!r}: {found.group(1)!r} stands there twice.",
                "Each setting has one value.",
                "leave one of them out.",
            )
        settings[found.group(1)] = int(value) if value.denominator == 1 else float(value)
    return whole.group(1) if whole else text, settings


def show_name(name: str, settings: dict[str, float]) -> str:
    """Put a name with settings together: one text for one meaning.

    >>> show_name("pim-tree", {"merge_ratio": 0.125, "depth": 2})
    'pim-tree(depth=2, merge_ratio=0.125)'
    """
    if not settings:
        return name
    return f"{name}({', '.join(f'{key}={settings[key]:.12g}' for key in sorted(settings))})"
