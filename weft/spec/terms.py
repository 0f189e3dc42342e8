"""A condition taken apart: what each side can filter alone, what an index can serve, and the rest.

Front ends (`weft.local.analyze` by sqlglot, `weft.spark.analysis` by Spark's own analyzer) produce a `Condition`; nothing below
them knows in which language the user wrote it. Its comparisons become *terms*, `left OP right` over one word column of each side.
Their conjunction is what the kernels decide; whatever they cannot decide stays behind as a residual condition that
the runtime evaluates on the pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Literal, TypeAlias

__all__ = ["Access", "Compare", "Condition", "Encode", "Key", "Op", "Term"]


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


Encode: TypeAlias = Literal["value", "hash", "prefix"]
"""How a key becomes a word. *value*: exactly, order kept (numbers, dates, timestamps, booleans, decimals up to 18 digits).
*hash*: 64-bit hash, for equality of strings, binaries and wide decimals. *prefix*: leading 64 bits, order kept but ties."""


Step: TypeAlias = str
"""What a whole word stands for in a band: "1", "day", "microsecond", or a power of ten such as "0.01"."""


@dataclass(frozen=True, slots=True)
class Key:
    """An expression of one side, in the type in which Spark compares it."""

    text: str
    encode: Encode = "value"


@dataclass(frozen=True, slots=True)
class Compare:
    """`left OP right` over keys; for BAND and FBAND `lo <= left - right <= hi`.

    A *weak* comparison is necessary but not sufficient (hashes, prefixes, rounded bands): the conjunct it comes from
    stays in the residual as well, and strict operators are loosened when it becomes a term.
    """

    left: Key
    op: Op
    right: Key
    lo: float = 0
    hi: float = 0
    weak: bool = False
    step: Step = "1"
    """What one unit of `lo` and `hi` is; it only matters to people."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The conjuncts of `on`, sorted by who can decide them.

    `text` is the whole condition in normal form (part of the state's fingerprint), `said` as the user wrote it. `residual`,
    `left_only` and `right_only` are SQL over the aliases, "" when there is nothing to check.
    """

    text: str
    compares: tuple[Compare, ...]
    residual: str = ""
    left_only: str = ""
    right_only: str = ""
    said: str = field(default="", compare=False)
