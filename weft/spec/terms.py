"""Terms: a predicate as comparisons between word columns of the two sides.

A *term* is `left OP right` over one word column of each side. The conjunction of the terms is what the kernels
decide; whatever they cannot decide stays behind as a residual condition that the runtime evaluates on the pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

__all__ = ["Access", "Op", "Term"]


class Op(IntEnum):
    """How two words are compared. The numbers are known to the kernels."""

    LT = 0
    LE = 1
    GT = 2
    GE = 3
    EQ = 4
    NE = 5
    BAND = 6
    """`lo <= left - right <= hi` on integers, without overflow."""
    FBAND = 7
    """`lo <= left - right <= hi` computed in float64 on the values behind the words; NaN never matches."""
    LAST = 8
    """Count window: the columns named are `seq`, the next ones `opp`; see `weft.spec.window.Last`."""


_FLIPPED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}


@dataclass(frozen=True, slots=True)
class Term:
    """`left OP right`, where `left` and `right` number word columns of the two sides."""

    left: int
    op: Op
    right: int
    lo: float = 0
    hi: float = 0

    def flip(self) -> Term:
        """Return the same condition read from the right side.

        >>> Term(0, Op.LT, 1).flip()
        Term(left=1, op=<Op.GT: 2>, right=0, lo=0, hi=0)
        """
        if self.op in (Op.BAND, Op.FBAND):
            return replace(self, left=self.right, right=self.left, lo=-self.hi, hi=-self.lo)
        return replace(self, left=self.right, right=self.left, op=_FLIPPED.get(self.op, self.op))


@dataclass(frozen=True, slots=True)
class Access:
    """The way into an index: what the stored rows are sorted by.

    `equal` names word columns (left, right) that must be equal; `within` is one range term; with `until` the two form
    an interval: `within` is `x >= lo` and `until` is `x <= hi` for the same `x` (either side may hold `x`).
    Stored rows are sorted by the equality word, then by the word that `within` names on their side.
    """

    equal: tuple[int, int] | None = None
    within: Term | None = None
    until: Term | None = None

    def flip(self) -> Access:
        """Return the same access seen from the right side."""
        return Access(
            None if self.equal is None else (self.equal[1], self.equal[0]),
            None if self.within is None else self.within.flip(),
            None if self.until is None else self.until.flip(),
        )
