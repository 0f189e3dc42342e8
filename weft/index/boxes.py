"""A range of the run's order and a range of a second word, over one run: when blocks pay, and the walk through them.

Two bands are the usual case, `abs(l.x - r.x) <= 5 AND abs(l.y - r.y) <= 5`; a band with an inequality, stored intervals and an
equality in front are others. The search has found what the first range leaves each probe. How much of that a second one keeps is
measured on some of those candidates, and the estimates are compared (`BoxCosts`): blocks sorted by the second word
(`weft.kernels.boxes`), or a look at every candidate.

The search finds stored intervals by where they begin, and the longest one bounds how early that may be. As a difference of
words that bound is of no use where intervals differ in length, nor for doubles, whose words lie far apart near zero. The greatest
end so far, in order of the beginnings, knows better: before the first place where it is late enough, every interval has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from weft.index.probe_plan import ProbePlan
from weft.index.protocol import Matches
from weft.index.run import IndexedRun
from weft.kernels.boxes import Boxes, Level, begin_later, bits_for, build_level, walk_boxes
from weft.kernels.emit import Checks, Hits, keep_passing, keep_ranged
from weft.kernels.peaks import greatest_so_far
from weft.kernels.sort import order_of
from weft.kernels.words import float_range, narrow
from weft.spec.terms import Op
from weft.types import WORD_MAX, WORD_MIN, Rows, Words

__all__ = ["BoxCosts", "SecondRange", "second_range", "stream_boxes", "without_ended"]

_PROBES, _EACH = 64, 16
"""Candidates that are looked at to choose: so many probes, so many of each."""


@dataclass(frozen=True)
class BoxCosts:
    """Nanoseconds on one core; what decides whether a run is cut into blocks."""

    look: float = 1.3
    """One candidate, looked at in the stretch that the search left."""
    build: float = 30.0
    """Sorting one stored row by the second word, and dealing it out."""
    search: float = 80.0
    """Finding one probe's place in its blocks."""
    found: float = 4.5
    """One row in range of the second word: blocks cover a stretch about twice."""
    ended: float = 4.0
    """Candidates per row and probe from which intervals that ended too early are looked for."""

    def pays(self, rows: int, probes: int, candidates: int, share: float) -> bool:
        """Tell whether blocks are estimated to be cheaper; `share` of the candidates is in the second range."""
        return rows * self.build + probes * self.search + candidates * share * self.found < candidates * self.look

    @property
    def never(self) -> float:
        """Return the candidates per probe below which no estimate is needed."""
        return self.search / self.look


class SecondRange(NamedTuple):
    """The second range: stored rows with `low <= most` and `high >= least` of the probe row.

    `low` and `high` are one column unless the stored row has an interval. Check number `decided` holds for all of them; -1: none.
    """

    low: int
    high: int
    least: Words
    most: Words
    decided: int


def second_range(
    indexed: IndexedRun, plan: ProbePlan, hits: Hits, checks: Checks, costs: BoxCosts
) -> SecondRange | None:
    """Choose the range that leaves the fewest candidates; None if it is cheaper to look at each of them."""
    candidates = int((hits.end - hits.start).sum())
    if candidates <= costs.never * len(hits.which):
        return None
    ranges = _ranges(plan, checks)
    if not ranges:
        return None
    probe, stored = _sample(hits, indexed.run.row)
    shares = [_share(indexed, each, probe, stored) for each in ranges]
    least = int(np.argmin(shares))
    return ranges[least] if costs.pays(len(indexed), len(hits.which), candidates, shares[least]) else None


def _ranges(plan: ProbePlan, checks: Checks) -> list[SecondRange]:
    """Return what is left to be checked as ranges: each check alone, and pairs of one upper and one lower end."""
    found = [
        SecondRange(column, column, lo, hi, number)
        for number, (column, lo, hi) in enumerate(zip(checks.column.tolist(), checks.lo, checks.hi, strict=True))
    ]
    below = [each for each in found if bool((each.least == WORD_MIN).all())]
    above = [each for each in found if bool((each.most == WORD_MAX).all())]
    found += [
        SecondRange(one.low, two.low, two.least, one.most, one.decided)
        for one, two in product(below, above)
        if one is not two
    ]
    for (op, left, right), lo, hi in zip(checks.odd.tolist(), checks.odd_lo, checks.odd_hi, strict=True):
        if op == Op.FBAND:
            least, most, number = float_range(plan.probe.block.words[left], lo, hi)
            least[~number], most[~number] = WORD_MAX, WORD_MIN
            found.append(SecondRange(right, right, least, most, -1))
    return found


def _sample(hits: Hits, row: Rows) -> tuple[Rows, Rows]:
    """Return some candidates: probe rows and stored rows."""
    some = np.linspace(0, len(hits.which) - 1, min(_PROBES, len(hits.which))).astype(np.int64)
    length = (hits.end - hits.start)[some]
    at = hits.start[some][:, None] + length[:, None] * np.arange(_EACH) // _EACH
    return np.repeat(hits.rows[hits.which[some]], _EACH), row[at.ravel()]


def _share(indexed: IndexedRun, second: SecondRange, probe: Rows, stored: Rows) -> float:
    low, high = (indexed.run.column(column)[stored] for column in (second.low, second.high))
    return float(((low <= second.most[probe]) & (high >= second.least[probe])).mean())


def stream_boxes(
    indexed: IndexedRun, plan: ProbePlan, hits: Hits, checks: Checks, second: SecondRange, chunk: int
) -> Iterator[Matches]:  # fmt: skip
    """Yield the pairs, level by level; memory is one level, the hits and one chunk."""
    run, n = indexed.run, len(indexed)
    low = run.column(second.low)[run.row]
    order = order_of([low])
    high = run.column(second.high)[run.row][order] if second.high != second.low else np.empty(0, np.int64)
    low = low[order]
    boxes, keep = Boxes(second.least, second.most), _filter(plan, indexed, _without(checks, second.decided))
    place, sorted_low = np.empty(n, np.int32), np.empty(n, np.int64)
    reach = np.empty(n, np.int64) if len(high) else sorted_low
    needed, room = bits_for(hits.end - hits.start), min(chunk, max(1024, 2 * len(hits.which)))
    for bits in np.flatnonzero(np.bincount(needed)).tolist():
        here = needed == bits
        some = hits if here.all() else Hits(hits.rows, hits.which[here], hits.start[here], hits.end[here])
        build_level(order, low, high, bits, np.empty(((n - 1) >> bits) + 1, np.int64), place, sorted_low, reach)
        level, state = Level(bits, place, sorted_low, reach), np.array([0, -1, -1], np.int64)
        while state[0] < len(some.which):
            probe, position = np.empty(room, np.int32), np.empty(room, np.int32)
            found = walk_boxes(level, some, boxes, state, probe, position)
            stored = run.row[position[:found]]
            count = keep(probe, stored, found)
            if count:
                yield Matches.filled(run, probe[:found], stored, count)
            if found == room:
                room = min(chunk, 2 * room)


def _filter(plan: ProbePlan, indexed: IndexedRun, rest: Checks) -> Callable[[Rows, Rows, int], int]:
    """Return what moves the pairs that pass the other checks to the front, and returns how many they are."""
    if len(rest.column) + len(rest.odd) == 0:
        return lambda _probe, _stored, count: count
    if len(rest.odd) == 0 and len(rest.column) == 1:
        words = indexed.run.column(int(rest.column[0]))
        return lambda probe, stored, count: keep_ranged(probe, stored, count, words, rest.lo[0], rest.hi[0])
    asking, words = plan.probe.block.words, indexed.run.words
    return lambda probe, stored, count: keep_passing(probe, stored, count, asking, words, rest)


def _without(checks: Checks, number: int) -> Checks:
    keep = [t for t in range(len(checks.column)) if t != number]
    return checks._replace(column=checks.column[keep], lo=checks.lo[keep], hi=checks.hi[keep])


def without_ended(indexed: IndexedRun, plan: ProbePlan, hits: Hits, costs: BoxCosts) -> Hits:
    """Move the starts of stretches to the first interval that may not have ended, where candidates are many."""
    until, rows, block = plan.layout.until, len(hits.which), plan.probe.block
    if until is None or int((hits.end - hits.start).sum()) <= costs.ended * (len(indexed) + rows):
        return hits
    least, alive = np.full(len(block), WORD_MIN), np.ones(len(block), np.bool_)
    for span in plan.shape.spans:
        if span.right == until and span.least is not None:
            narrow(block.words[span.left], span.least, True, least, alive)
    groups = indexed.leading if len(indexed.layout.columns) > 1 else None
    so_far = greatest_so_far(indexed.run.column(until)[indexed.run.row], groups)
    found = begin_later(hits, least, so_far)
    return Hits(hits.rows, hits.which[:found], hits.start[:found], hits.end[:found])
