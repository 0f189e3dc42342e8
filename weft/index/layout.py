"""How stored rows are sorted: the stored side's half of an access path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from weft.spec.terms import Access

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """Word columns of the stored rows: the equality word, the range word, and the interval's other end if it has one.

    >>> from weft.spec.terms import Op, Term
    >>> Layout.of(Access((0, 1), Term(2, Op.LT, 3))).columns
    (1, 3)
    """

    equal: int | None = None
    key: int | None = None
    until: int | None = None

    @classmethod
    def of(cls, access: Access) -> Layout:
        """Read the stored columns from an access path seen from the probing side."""
        equal = None if access.equal is None else access.equal[1]
        key = None if access.within is None else access.within.right
        until = None if access.until is None or access.until.right == key else access.until.right
        return cls(equal, key, until)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Return what the rows are sorted by, the leading column first."""
        return tuple(column for column in (self.equal, self.key) if column is not None)
