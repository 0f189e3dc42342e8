"""Kinds of joins: which rows leave besides pairs, or instead of them.

A side is *preserved* if it matters whether a row of it has found a partner: an outer join returns its rows without one, a
semi join those with one, an anti join those without one.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.errors import SpecError
from weft.spec.window import Last, Tumbling, TumblingRows, Window, Within
from weft.types import Side

__all__ = ["INNER", "KINDS", "Kind", "check_ends", "check_unordered", "kind_named", "right_selected"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of join: whether `pairs` leave, and whether `unmatched` rows of preserved sides do."""

    name: str
    preserved: tuple[Side, ...] = ()
    pairs: bool = True
    unmatched: bool = False

    @property
    def sides(self) -> tuple[Side, ...]:
        """Return the sides whose columns the result has."""
        return ("left", "right") if self.pairs else ("left",)

    def absent(self, side: Side) -> bool:
        """Tell whether the columns of a side are NULL in some rows of the result."""
        return self.pairs and self.unmatched and any(one != side for one in self.preserved)


INNER = Kind("inner")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        INNER,
        Kind("left", ("left",), unmatched=True),
        Kind("right", ("right",), unmatched=True),
        Kind("full", ("left", "right"), unmatched=True),
        Kind("left_semi", ("left",), pairs=False),
        Kind("left_anti", ("left",), pairs=False, unmatched=True),
    )
}

_SPELLINGS = {
    "leftouter": "left", "rightouter": "right", "outer": "full", "fullouter": "full", "semi": "left_semi",
    "leftsemi": "left_semi", "anti": "left_anti", "leftanti": "left_anti",
}  # fmt: skip
"""How Spark lets users spell them, without underscores."""


def kind_named(how: object) -> Kind:
    """Return a kind by its name, in any of Spark's spellings.

    >>> kind_named("left_outer").name, kind_named("LeftSemi").name
    ('left', 'left_semi')
    >>> kind_named("cross")
    Traceback (most recent call last):
        ...
    weft.errors.SpecError: There is no how='cross'.
    Known: inner, left, right, full, left_semi, left_anti.
    Hint: omit how= for an inner join; Spark's spellings, such as 'left_outer', work too.
    """
    plain = how.lower().replace("_", "") if isinstance(how, str) else ""
    name = _SPELLINGS.get(plain, how.lower() if isinstance(how, str) else "")
    if name not in KINDS:
        raise SpecError.of(
            f"There is no how={how!r}.",
            f"Known: {', '.join(KINDS)}.",
            "omit how= for an inner join; Spark's spellings, such as 'left_outer', work too.",
        )
    return KINDS[name]


def check_ends(kind: Kind, window: Window) -> None:
    """Refuse windows of streams that never end, where rows leave when their window has ended."""
    timed = isinstance(window, (Within, Tumbling))
    ends = (
        window.delays.known is not None
        if isinstance(window, (Within, Tumbling))
        else isinstance(window, (Last, TumblingRows))
    )
    if not kind.unmatched or ends:
        return
    raise SpecError.of(
        f"how={kind.name!r} needs a window that ends.",
        "In this window a row can match at any later time, so an unmatched row could never be emitted"
        + (": no row is ever late, because a side has no delay." if timed else ": its rows never expire."),
        "set delay= in the window, or a watermark on both inputs (withWatermark)."
        if timed
        else "use weft.within('10 seconds', on='ts', delay='5 seconds'); how='left_semi' and 'inner' work with any window.",
    )


def check_unordered(kind: Kind, unordered: bool) -> None:
    """Refuse unordered pairs of anything but an inner join: neither row of a pair could be the preserved one."""
    if unordered and kind.preserved:
        raise SpecError.of(
            f"unordered=True cannot be combined with how={kind.name!r}.",
            "An unordered pair has no left or right row to preserve.",
            "omit unordered=; a row that matches in only one order then counts as matched only on that side.",
        )


def right_selected(aliases: tuple[str, str]) -> SpecError:
    """Return what is wrong with a selection of right columns where left rows leave alone."""
    left, right = aliases
    return SpecError.of(
        f"select= names columns of {right}.",
        f"Semi and anti joins return only rows of {left}.",
        f"select columns of {left}, or use how='inner' or how='left'.",
    )
