"""A probe made ready: its ranges over the sorted words, and what remains to be checked per candidate.

What follows from the terms alone is worked out once (`Shape`). Every comparison of integers is a `Span`: the stored word lies in
`[p + least, p + most]`. Spans over the sorted column together become the range to search; the others are decided by a run's zone
when they can be, and checked on each candidate when not. A count window is two spans of which one must hold; mostly the zone
rules one of them out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from weft.index.protocol import Probe
from weft.index.run import IndexedRun, Layout
from weft.kernels.emit import Checks
from weft.kernels.packed import Frame, pack_ends
from weft.kernels.sort import order_of, remembered
from weft.kernels.words import float_range, narrow
from weft.spec.terms import Access, Op, Term
from weft.types import WORD_MAX, WORD_MIN, Bools, Rows, Words

__all__ = ["ProbePlan", "Ranges", "Remaining", "Scratch", "Shape", "Span", "count_window", "shape_of", "span_of"]


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


_CACHED = 1 << 15
"""Pairs whose two arrays stay in the cache while they are checked."""


class Scratch(NamedTuple):
    """Room for one run's hits, used again for the next run."""

    which: Rows
    start: Rows
    end: Rows


class Remaining(NamedTuple):
    """What is still to be checked per candidate of a run."""

    spans: tuple[Span, ...]
    odd: tuple[Term, ...]


@dataclass(frozen=True)
class Ranges:
    """Probe rows in search order, with the range of each; rows that can have no partner are left out.

    A range is `[low + least, high + most]`; no end leaves the domain. It is made of these when it is asked for: packed
    ends are made without the plain ones.
    """

    rows: Rows
    equal: Words
    low: Words
    high: Words
    least: int = 0
    most: int = 0
    _packed: dict[Frame, tuple[Words, Words]] = field(default_factory=dict)

    @cached_property
    def lo(self) -> Words:
        """Return the lower ends, ascending."""
        return self.low + self.least if self.least else self.low

    @cached_property
    def hi(self) -> Words:
        """Return the upper ends."""
        return self.high + self.most if self.most else self.high

    def packed(self, frame: Frame) -> tuple[Words, Words]:
        """Return both ends as words of a frame."""
        if frame not in self._packed:
            self._packed[frame] = pack_ends(self.low, self.high, self.least, self.most, frame)
        return self._packed[frame]


@dataclass
class ProbePlan:
    """One probe against the runs of one index.

    It holds arrays of the batch's size, so nothing that it holds may point back to it: in a circle they would stay
    until Python looks for circles, and the next batch would work on fresh pages.
    """

    probe: Probe
    layout: Layout
    _ranges: dict[int, Ranges] = field(default_factory=dict)
    _bounds: dict[Span, tuple[Words, Words]] = field(default_factory=dict)
    _checks: dict[Remaining, Checks] = field(default_factory=dict)

    @cached_property
    def scratch(self) -> Scratch:
        """Return room for a hit of every probe."""
        room = len(self.probe.block)
        return Scratch(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))

    @cached_property
    def buffers(self) -> tuple[Rows, Rows]:
        """Return room for pairs, used again for the next run: some for each probe, but no more than a cache holds."""
        rows = len(self.probe.block)
        room = max(rows, min(3 * rows, _CACHED), 1024)
        return np.empty(room, np.int32), np.empty(room, np.int32)

    @cached_property
    def shape(self) -> Shape:
        """Return what follows from the terms alone."""
        return shape_of(self.probe.terms, self.probe.access, self.layout)

    @property
    def bounded(self) -> bool:
        """Tell whether the ranges have two ends: then they are mostly short."""
        return self.shape.bounded

    def remaining(self, indexed: IndexedRun) -> Remaining | None:
        """Return what to check per candidate of this run; None when no row of it can match."""
        spans: list[Span] = []
        odd = list(self.shape.odd)
        for span in self.shape.remaining:
            verdict = self._verdict(span, indexed)
            if verdict is False:
                return None
            if verdict is None:
                spans.append(span)
        for term, cases in self.shape.counted:
            verdicts = [self._verdict(span, indexed) for span in cases]
            if True in verdicts:
                continue
            possible = [span for span, verdict in zip(cases, verdicts, strict=True) if verdict is None]
            if not possible:
                return None
            if len(possible) == 1:
                spans.append(possible[0])
            else:
                odd.append(term)
        return Remaining(tuple(spans), tuple(odd))

    def checks(self, remaining: Remaining) -> Checks:
        """Return checks as the kernels want them."""
        if remaining not in self._checks:
            self._checks[remaining] = self._as_arrays(*remaining)
        return self._checks[remaining]

    def _as_arrays(self, spans: tuple[Span, ...], odd: tuple[Term, ...]) -> Checks:
        bounds = [self._bound(span) for span in spans]
        return Checks(
            np.array([span.right for span in spans], np.int64),
            _stacked([lo for lo, _ in bounds]),
            _stacked([hi for _, hi in bounds]),
            np.array([[term.op, term.left, term.right] for term in odd], np.int64).reshape(-1, 3),
            np.array([term.lo for term in odd], np.float64),
            np.array([term.hi for term in odd], np.float64),
        )

    def _verdict(self, span: Span, indexed: IndexedRun) -> bool | None:
        """Decide a span for all of a run: True and False are certain."""
        first, last = self.probe.block.limits[span.left]
        low, high = indexed.zone(span.right)
        least, most = span.least, span.most
        if (least is not None and high < first + least) or (most is not None and low > last + most):
            return False
        if (least is None or low >= last + least) and (most is None or high <= first + most):
            return True
        return None

    def _bound(self, span: Span) -> tuple[Words, Words]:
        if span not in self._bounds:
            if _stays(span, *self.probe.block.limits[span.left]):
                words = self.probe.block.words[span.left]
                lo, hi = (np.full(len(words), end) if by is None else words + by for by, end in _ends(span))
            else:
                lo, hi, alive = self._open()
                self._narrow(span, lo, hi, alive)
                lo[~alive], hi[~alive] = WORD_MAX, WORD_MIN
            self._bounds[span] = lo, hi
        return self._bounds[span]

    def _open(self) -> tuple[Words, Words, Bools]:
        n = len(self.probe.block)
        return np.full(n, WORD_MIN), np.full(n, WORD_MAX), np.ones(n, np.bool_)

    def _narrow(self, span: Span, lo: Words, hi: Words, alive: Bools) -> None:
        words = self.probe.block.words[span.left]
        narrow(words, span.least, True, lo, alive)
        narrow(words, span.most, False, hi, alive)

    def ranges(self, span: int) -> Ranges:
        """Return the search ranges for runs of that interval span (0 when the run holds no intervals)."""
        if span not in self._ranges:
            self._ranges[span] = self._range(span)
        return self._ranges[span]

    def _range(self, span: int) -> Ranges:
        words, access = self.probe.block.words, self.probe.access
        plain = self._plain_range()
        if plain is not None:
            return plain
        lo, hi, alive = self._open()
        for searched in self.shape.searched:
            self._narrow(searched, lo, hi, alive)
        loose = len(self.shape.searched) > 1
        for term in self.shape.odd:
            if term.op is Op.FBAND and term.right == self.layout.key:
                least, most, number = float_range(words[term.left], term.lo, term.hi)
                lo, hi, alive, loose = np.maximum(lo, least), np.minimum(hi, most), alive & number, True
        if self.layout.until is not None:
            # The interval is the stored side's: it began at most `span` before it ended, so not long before x.
            for until in self.shape.spans:
                if until.right == self.layout.until and until.least is not None:
                    narrow(words[until.left], until.least - span, True, lo, alive)
            loose = True
        alive &= lo <= hi
        rows: Rows
        if loose or access.within is None:
            by = [lo] if access.equal is None else [words[access.equal[0]], lo]
            rows = order_of(by) if self.layout.columns else np.arange(len(lo), dtype=np.int32)
        else:
            rows = remembered(words, self._sorts_by).rows
        if not alive.all():
            rows = rows[alive[rows]]
        least = lo[rows]  # in search order
        return Ranges(rows, least if access.equal is None else words[access.equal[0]][rows], least, hi[rows])

    @property
    def _sorts_by(self) -> tuple[int, ...]:
        """Return the probe columns whose order is that of the ranges: one span moves all words alike."""
        equal, within = self.probe.access.equal, self.probe.access.within
        return (() if equal is None else (equal[0],)) + (() if within is None else (within.left,))

    def _plain_range(self) -> Ranges | None:
        """Return the ranges when they are one span over sorted words, or one equality, and no end leaves the domain."""
        access = self.probe.access
        odd = any(term.op is Op.FBAND and term.right == self.layout.key for term in self.shape.odd)
        if odd or self.layout.until is not None or not self._sorts_by:
            return None
        order = remembered(self.probe.block.words, self._sorts_by)
        if self.layout.key is None:
            equal = order.keys[0]
            return Ranges(order.rows, equal, equal, equal)
        if len(self.shape.searched) != 1 or access.within is None or self.shape.searched[0].left != access.within.left:
            return None
        span, keys = self.shape.searched[0], order.keys[-1]
        if not _stays(span, *self.probe.block.limits[span.left]):
            return None
        low, high = (np.full(len(keys), end) if by is None else keys for by, end in _ends(span))
        return Ranges(order.rows, order.keys[0], low, high, span.least or 0, span.most or 0)


def _ends(span: Span) -> tuple[tuple[int | None, int], tuple[int | None, int]]:
    """Return by how much each end of a span is away from the word, and where it is when it is open."""
    return (span.least, WORD_MIN), (span.most, WORD_MAX)


def _stays(span: Span, first: int, last: int) -> bool:
    """Tell whether no end of a span of words within `[first, last]` leaves the domain."""
    return all(
        by is None or (WORD_MIN <= by <= WORD_MAX and WORD_MIN <= first + by <= last + by <= WORD_MAX)
        for by, _ in _ends(span)
    )


def _stacked(columns: list[Words]) -> Words:
    """Lay columns one under the other; a single one is not copied."""
    if not columns:
        return np.empty((0, 0), np.int64)
    return columns[0][None, :] if len(columns) == 1 else np.stack(columns)
