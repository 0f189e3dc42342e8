"""Terms as spans: what of a probe follows from its terms alone, worked out once.

Every comparison of integers is a `Span`: the stored word lies in `[p + least, p + most]`. Spans over the sorted column
together become the range to search; the others are checked. A count window is two spans of which one must hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

from weft.index.run import Layout
from weft.spec.terms import Access, Op, Term

__all__ = ["Shape", "Span", "count_window", "shape_of", "span_of"]


@dataclass(frozen=True, slots=True)
class Span:
    """`p + least <= s <= p + most` for probe column `left` and stored column `right`; None is open."""

    left: int
    right: int
    least: int | None
    most: int | None


def span_of(term: Term) -> Span | None:
    """Return the term as a span, None if it is not one."""
    if term.op is Op.BAND:
        least, most = _whole(-term.hi, upward=True), _whole(-term.lo, upward=False)
    elif term.op in _SHIFTS:
        least, most = _SHIFTS[term.op]
    else:
        return None
    return Span(term.left, term.right, least, most)


_SHIFTS: dict[Op, tuple[int | None, int | None]] = {
    Op.LT: (1, None), Op.LE: (0, None), Op.GT: (None, -1), Op.GE: (None, 0), Op.EQ: (0, 0),
}  # fmt: skip


def _whole(bound: float, upward: bool) -> int | None:
    """Round a bound inward; None when it is infinitely far out, a number beyond all words when infinitely far in."""
    if isinstance(bound, int):
        return bound
    if math.isinf(bound):
        return None if (bound < 0) == upward else (1 if bound > 0 else -1) << 66
    return math.ceil(bound) if upward else math.floor(bound)


def count_window(term: Term) -> tuple[Span, Span]:
    """Return a count window as its two cases: the stored row came first, or the probe did."""
    n = int(term.hi)
    return Span(term.left + 1, term.right, -n, -1), Span(term.left, term.right + 1, 1, n)


@dataclass(frozen=True)
class Shape:
    """The terms of a probe, sorted by what becomes of them."""

    terms: tuple[Term, ...]
    access: Access
    layout: Layout

    @cached_property
    def spans(self) -> list[Span]:
        """Return every term that is a span."""
        return [span for span in map(span_of, self.terms) if span is not None]

    @cached_property
    def odd(self) -> list[Term]:
        """Return the terms that no range can decide."""
        return [term for term in self.terms if term.op in (Op.NE, Op.FBAND)]

    @cached_property
    def searched(self) -> list[Span]:
        """Return the spans over the sorted range column, which the search decides."""
        return [span for span in self.spans if span.right == self.layout.key]

    @cached_property
    def bounded(self) -> bool:
        """Tell whether the ranges have two ends: then they are mostly short."""
        return self.layout.key is None or any(s.least is not None and s.most is not None for s in self.searched)

    @cached_property
    def remaining(self) -> list[Span]:
        """Return the spans that neither the search nor the equality decides."""
        equal = self.access.equal
        same = None if equal is None or self.layout.equal is None else Span(equal[0], equal[1], 0, 0)
        return [span for span in self.spans if span.right != self.layout.key and span != same]

    @cached_property
    def counted(self) -> list[tuple[Term, tuple[Span, Span]]]:
        """Return the count windows, each with its two cases."""
        return [(term, count_window(term)) for term in self.terms if term.op is Op.LAST]


@lru_cache(maxsize=256)
def shape_of(terms: tuple[Term, ...], access: Access, layout: Layout) -> Shape:
    """Return the shape of a probe, from memory if it was met before."""
    return Shape(terms, access, layout)
