"""A probe made ready: its ranges over the sorted words, and what remains to be checked per candidate.

Every comparison of integers is a `Span`: the stored word lies in `[p + least, p + most]`. Spans over the sorted column
together become the range to search; the others are decided by a run's zone when they can be, and checked on each
candidate when not. A count window is two spans of which one must hold; mostly the zone rules one of them out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from weft.index.held import Held
from weft.index.layout import Layout
from weft.index.protocol import Probe
from weft.kernels.bounds import float_range, narrow
from weft.kernels.emit import Checks
from weft.kernels.sort import order_of, remembered
from weft.spec.terms import Op, Term
from weft.types import WORD_MAX, WORD_MIN, Bools, Rows, Words

__all__ = ["Plan", "Ranges", "Remaining", "Scratch", "Span", "count_window"]


@dataclass(frozen=True, slots=True)
class Span:
    """`p + least <= s <= p + most` for probe column `left` and stored column `right`; None is open."""

    left: int
    right: int
    least: int | None
    most: int | None


class Scratch(NamedTuple):
    """Room for one run's hits, used again for the next run."""

    which: Rows
    start: Rows
    end: Rows


@dataclass(frozen=True)
class Ranges:
    """Probe rows in search order, with the range of each; rows that can have no partner are left out."""

    rows: Rows
    equal: Words
    lo: Words
    hi: Words


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
class Remaining:
    """What is still to be checked per candidate of a run."""

    plan: Plan
    spans: tuple[Span, ...]
    odd: tuple[Term, ...]

    @cached_property
    def arrays(self) -> Checks:
        """Return the checks as the kernels want them."""
        return self.plan.arrays(self.spans, self.odd)


@dataclass
class Plan:
    """One probe against the runs of one index."""

    probe: Probe
    layout: Layout
    _ranges: dict[int, Ranges] = field(default_factory=dict)
    _bounds: dict[Span, tuple[Words, Words]] = field(default_factory=dict)
    _made: dict[tuple[Span | Term, ...], Remaining] = field(default_factory=dict)

    @cached_property
    def scratch(self) -> Scratch:
        """Return room for a hit of every probe."""
        room = len(self.probe.block)
        return Scratch(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))

    @cached_property
    def buffers(self) -> tuple[Rows, Rows]:
        """Return room for pairs, used again for the next run."""
        room = max(len(self.probe.block), 1024)
        return np.empty(room, np.int32), np.empty(room, np.int32)

    @cached_property
    def spans(self) -> list[Span]:
        """Return every term that is a span."""
        return [span for span in map(span_of, self.probe.terms) if span is not None]

    @cached_property
    def odd(self) -> list[Term]:
        """Return the terms that no range can decide."""
        return [term for term in self.probe.terms if term.op in (Op.NE, Op.FBAND)]

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
        equal = self.probe.access.equal
        same = None if equal is None or self.layout.equal is None else Span(equal[0], equal[1], 0, 0)
        return [span for span in self.spans if span.right != self.layout.key and span != same]

    @cached_property
    def counted(self) -> list[tuple[Term, tuple[Span, Span]]]:
        """Return the count windows, each with its two cases."""
        return [(term, count_window(term)) for term in self.probe.terms if term.op is Op.LAST]

    def checks(self, held: Held) -> Remaining | None:
        """Return what to check per candidate of this run; None when no row of it can match."""
        spans: list[Span] = []
        odd = list(self.odd)
        for span in self.remaining:
            verdict = self._verdict(span, held)
            if verdict is False:
                return None
            if verdict is None:
                spans.append(span)
        for term, cases in self.counted:
            verdicts = [self._verdict(span, held) for span in cases]
            if True in verdicts:
                continue
            possible = [span for span, verdict in zip(cases, verdicts, strict=True) if verdict is None]
            if not possible:
                return None
            if len(possible) == 1:
                spans.append(possible[0])
            else:
                odd.append(term)
        key: tuple[Span | Term, ...] = (*spans, *odd)
        if key not in self._made:
            self._made[key] = Remaining(self, tuple(spans), tuple(odd))
        return self._made[key]

    def arrays(self, spans: tuple[Span, ...], odd: tuple[Term, ...]) -> Checks:
        """Return checks as the kernels want them."""
        bounds = [self._bound(span) for span in spans]
        return Checks(
            np.array([span.right for span in spans], np.int64),
            _stacked([lo for lo, _ in bounds]),
            _stacked([hi for _, hi in bounds]),
            np.array([[term.op, term.left, term.right] for term in odd], np.int64).reshape(-1, 3),
            np.array([term.lo for term in odd], np.float64),
            np.array([term.hi for term in odd], np.float64),
        )

    def _verdict(self, span: Span, held: Held) -> bool | None:
        """Decide a span for all of a run: True and False are certain."""
        first, last = self.probe.block.limits[span.left]
        low, high = held.zone(span.right)
        least, most = span.least, span.most
        if (least is not None and high < first + least) or (most is not None and low > last + most):
            return False
        if (least is None or low >= last + least) and (most is None or high <= first + most):
            return True
        return None

    def _bound(self, span: Span) -> tuple[Words, Words]:
        if span not in self._bounds:
            ends = _shifted(self.probe.block.words[span.left], span, *self.probe.block.limits[span.left])
            if ends is None:
                lo, hi, alive = self._open()
                self._narrow(span, lo, hi, alive)
                lo[~alive], hi[~alive] = WORD_MAX, WORD_MIN
                ends = lo, hi
            self._bounds[span] = ends
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
        for searched in self.searched:
            self._narrow(searched, lo, hi, alive)
        loose = len(self.searched) > 1
        for term in self.odd:
            if term.op is Op.FBAND and term.right == self.layout.key:
                least, most, number = float_range(words[term.left], term.lo, term.hi)
                lo, hi, alive, loose = np.maximum(lo, least), np.minimum(hi, most), alive & number, True
        if self.layout.until is not None:
            # The interval is the stored side's: it began at most `span` before it ended, so not long before x.
            for until in self.spans:
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
        odd = any(term.op is Op.FBAND and term.right == self.layout.key for term in self.odd)
        if odd or self.layout.until is not None or not self._sorts_by:
            return None
        order = remembered(self.probe.block.words, self._sorts_by)
        if self.layout.key is None:
            equal = order.keys[0]
            return Ranges(order.rows, equal, equal, equal)
        if len(self.searched) != 1 or access.within is None or self.searched[0].left != access.within.left:
            return None
        span = self.searched[0]
        ends = _shifted(order.keys[-1], span, *self.probe.block.limits[span.left])
        return None if ends is None else Ranges(order.rows, order.keys[0], *ends)


def _shifted(words: Words, span: Span, first: int, last: int) -> tuple[Words, Words] | None:
    """Return both ends of a span of words within `[first, last]`; None when one of them would leave the domain."""
    least, most = span.least, span.most
    for by in (least, most):
        if by is not None and not (WORD_MIN <= by <= WORD_MAX and WORD_MIN <= first + by <= last + by <= WORD_MAX):
            return None
    lo = np.full(len(words), WORD_MIN) if least is None else words + least
    return lo, np.full(len(words), WORD_MAX) if most is None else words + most


def _stacked(columns: list[Words]) -> Words:
    """Lay columns one under the other; a single one is not copied."""
    if not columns:
        return np.empty((0, 0), np.int64)
    return columns[0][None, :] if len(columns) == 1 else np.stack(columns)
