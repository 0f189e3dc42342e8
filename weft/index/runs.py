"""Indexes made of runs: how a probe finds its partners in one of them.

- `Runs`, the default: each run is the bottom of a CSS-tree; two inequalities, or two bands, by blocks when that is cheaper.
- `Boxes`: the same, always by blocks where there are two ranges.
- `Hash`: an equality finds its group by one look-up, the range word is bisected inside it.
- `Scan`: every probe meets every stored row. The yardstick, and the best there is for a handful of rows.

A probe comes from `RunSet.probe`, run by run. `Runs` searches and emits in one pass where ranges are short, and sets up
`weft.kernels.two_inequalities` where blocks are cheaper; in all other cases an index finds the candidates of each probe
(`Hits`), and `emit_matches` checks them and streams the pairs. What a search leaves open (`pair_check`) is chosen once per run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from weft.errors import SpecError
from weft.index.boxes import BoxCosts, second_range, stream_boxes, without_ended
from weft.index.probe_plan import ProbePlan, Ranges, Remaining, Span, count_window
from weft.index.protocol import Matches
from weft.index.run import Framing, IndexedRun, Layout, line_of
from weft.index.runset import RunSet
from weft.kernels.emit import Checks, Hits, Stored, emit, keep_apart, keep_counted, keep_either, keep_last, keep_ranged
from weft.kernels.packed import Beside, Frame
from weft.kernels.search import Fences, find_grouped, find_lexical, find_range
from weft.kernels.search_and_emit import approach, emit_near
from weft.kernels.sort import order_of
from weft.kernels.two_inequalities import RADIX, build_level, head_limits, levels, walk_level, worthwhile
from weft.spec.terms import Op, Term
from weft.types import WORD_MAX, WORD_MIN, Block, Rows, Words

__all__ = [
    "Boxes", "Hash", "PairCheck", "Runs", "Scan", "Second", "emit_matches", "find_ranges", "pair_check", "second_inequality",
    "stream_blocks",
]  # fmt: skip

_SHORT = 8
"""Up to this many rows per range, checks that look words up are made after emission."""
_SAMPLED = 32
_MANY = 4
"""From this many candidates per stored row on, checks read words brought into index order."""


class Runs(RunSet):
    """Sorted immutable runs: a probe block, sorted too, walks each of them."""

    name: ClassVar[str] = "runs"
    box_costs: ClassVar[BoxCosts] = BoxCosts()

    def _matches(self, indexed: IndexedRun, plan: ProbePlan, remaining: Remaining, chunk: int) -> Iterator[Matches]:
        """Stream the matches of one run in one of three ways."""
        at_once = self._at_once(indexed, plan, remaining, chunk)
        if at_once is not None:
            return at_once
        hits, checks = without_ended(indexed, plan, find_ranges(indexed, plan), self.box_costs), plan.checks(remaining)
        if len(checks.column) and worthwhile(len(indexed), len(hits.which), int((hits.end - hits.start).sum())):
            second = second_inequality(indexed, hits, checks)
            if second is not None:
                return stream_blocks(indexed, plan, hits, checks, second, chunk)
        return self._boxed_or_each(indexed, plan, hits, checks, chunk)

    def _boxed_or_each(
        self, indexed: IndexedRun, plan: ProbePlan, hits: Hits, checks: Checks, chunk: int
    ) -> Iterator[Matches]:  # fmt: skip
        """Look at every candidate, or at those in range of a second word if that is cheaper."""
        box = second_range(indexed, plan, hits, checks, self.box_costs)
        if box is None:
            return emit_matches(indexed, plan, hits, checks, chunk)
        return stream_boxes(indexed, plan, hits, checks, box, chunk)

    def _at_once(
        self, indexed: IndexedRun, plan: ProbePlan, remaining: Remaining, chunk: int
    ) -> Iterator[Matches] | None:  # fmt: skip
        """Search and emit in one pass: for short ranges with at most one check; None where it does not pay."""
        if len(self.layout.columns) != 1 or not plan.bounded:
            return None
        check = pair_check(indexed, plan, remaining)
        if check is None:
            return None
        ranges = plan.ranges(indexed.run.span)
        searched = self._searched(indexed, ranges)
        if not check.looks_nothing_up and searched.rows_per_range() > _SHORT:
            return None
        return _search_and_emit(indexed, plan, ranges, searched, check, chunk)

    def _searched(self, indexed: IndexedRun, ranges: Ranges) -> _Searched:
        """Return what the ranges are searched in: packed words, if there is a frame for them."""
        frame = self._framing.of(self._runs)
        if frame is None:
            return _Searched(indexed.leading, indexed.run.row, indexed.fences, ranges.lo, ranges.hi)
        packed = indexed.pack(frame)
        return _Searched(packed.words, frame.mask, packed.fences, *ranges.packed(frame))

    @cached_property
    def _framing(self) -> Framing:
        return Framing(self.layout.columns[0])

    def _frame_for(self, block: Block) -> Frame | None:
        return self._framing.with_block(self._runs, block) if len(self.layout.columns) == 1 else None


class Boxes(Runs):
    """Sorted runs that are always cut into blocks of a second range if there is one; `Runs` does it where it pays."""

    name: ClassVar[str] = "boxes"
    box_costs: ClassVar[BoxCosts] = BoxCosts(look=1, build=0, search=0, found=0, ended=0)

    def _matches(self, indexed: IndexedRun, plan: ProbePlan, remaining: Remaining, chunk: int) -> Iterator[Matches]:
        hits = without_ended(indexed, plan, find_ranges(indexed, plan), self.box_costs)
        return self._boxed_or_each(indexed, plan, hits, plan.checks(remaining), chunk)


class Hash(RunSet):
    """Sorted runs with an open-addressing directory over the groups of equal words."""

    name: ClassVar[str] = "hash"

    def _laid_out(self, layout: Layout) -> Layout:
        if layout.equal is None:
            raise SpecError.of("The hash index needs an equality.", "The predicate has none.", "use the runs index.")
        return layout

    def _matches(self, indexed: IndexedRun, plan: ProbePlan, remaining: Remaining, chunk: int) -> Iterator[Matches]:
        ranges = plan.ranges(indexed.run.span)
        which, start, end = plan.scratch
        # Without a range word the group is the answer, and the equality word itself serves as a key that never excludes.
        keys = indexed.leading if self.layout.key is None else indexed.keys[1]
        n = find_grouped(
            indexed.leading, keys, indexed.directory, ranges.equal, ranges.lo, ranges.hi, which, start, end
        )
        hits = Hits(ranges.rows, which[:n], start[:n], end[:n])
        return emit_matches(indexed, plan, hits, plan.checks(remaining), chunk)


class Scan(RunSet):
    """Unsorted runs; all terms are checked on all pairs (002-03 NLWJ)."""

    name: ClassVar[str] = "scan"

    def _laid_out(self, layout: Layout) -> Layout:
        return Layout()

    def _matches(self, indexed: IndexedRun, plan: ProbePlan, remaining: Remaining, chunk: int) -> Iterator[Matches]:
        return emit_matches(indexed, plan, find_ranges(indexed, plan), plan.checks(remaining), chunk)


def find_ranges(indexed: IndexedRun, plan: ProbePlan) -> Hits:
    """Find the candidates of every probe in a sorted run; of an unsorted one that is all of it."""
    ranges, layout = plan.ranges(indexed.run.span), plan.layout
    which, start, end = plan.scratch
    if layout.equal is not None and layout.key is not None:
        n = find_lexical(indexed.leading, indexed.keys[1], ranges.equal, ranges.lo, ranges.hi, which, start, end)
    elif layout.columns:
        n = find_range(indexed.leading, indexed.fences, ranges.lo, ranges.hi, which, start, end)
    else:
        n = len(ranges.rows)
        which[:n], start[:n], end[:n] = np.arange(n), 0, len(indexed)
    return Hits(ranges.rows, which[:n], start[:n], end[:n])


def emit_matches(indexed: IndexedRun, plan: ProbePlan, hits: Hits, checks: Checks, chunk: int) -> Iterator[Matches]:
    """Stream the candidates that pass the checks."""
    if not len(hits.which):
        return
    left = int((hits.end - hits.start).sum())
    words, at = indexed.in_order if left > _MANY * len(indexed) else (indexed.run.words, indexed.run.row)
    stored, state = Stored(indexed.run.row, at, words), np.zeros(2, np.int64)
    while state[0] < len(hits.which):
        room = min(chunk, left)
        out_probe, out_stored = np.empty(room, np.int32), np.empty(room, np.int32)
        count = emit(hits, stored, plan.probe.block.words, checks, state, out_probe, out_stored)
        if count:
            yield Matches.filled(indexed.run, out_probe, out_stored, count)


class _Searched(NamedTuple):
    """Sorted keys with their rows, and the ranges that are looked for."""

    keys: Words
    row: Beside
    fences: Fences
    lo: Words
    hi: Words

    def rows_per_range(self) -> float:
        """Estimate how many rows a range holds, from a few of them."""
        some = slice(None, None, max(1, len(self.lo) // _SAMPLED))
        first = np.searchsorted(self.keys, self.lo[some], "left")
        counts = np.searchsorted(self.keys, self.hi[some], "right") - first
        return float(counts.mean()) if len(counts) else 0.0


def _search_and_emit(
    indexed: IndexedRun, plan: ProbePlan, ranges: Ranges, searched: _Searched, check: PairCheck, chunk: int
) -> Iterator[Matches]:  # fmt: skip
    """Search and emit in one pass, then check what remains on the pairs found."""
    keys, row, fences, lo, hi = searched
    near, state = approach(keys, fences, lo), np.array([0, -1, 0])
    probe, stored = (buffer[:chunk] for buffer in plan.buffers)  # stay in the cache; what was found is copied out
    while state[0] < len(ranges.rows):
        count = emit_near(keys, row, fences.fences, *near, lo, hi, ranges.rows, state, probe, stored)
        count = check.keep(probe, stored, count)
        if count:
            yield Matches(indexed.run, probe[:count].copy(), stored[:count].copy())


class Second(NamedTuple):
    """Check number `check` is one-sided: `upward` asks for words of at least `ends`, otherwise of at most."""

    check: int
    upward: bool
    ends: Words
    suffix: bool


def second_inequality(indexed: IndexedRun, hits: Hits, checks: Checks) -> Second | None:
    """Find the second of two inequalities, if all candidate ranges share one end of the run."""
    suffix = bool((hits.end == len(indexed)).all())
    if not suffix and not bool((hits.start == 0).all()):
        return None
    if len(indexed) > np.iinfo(np.int32).max:
        return None
    for check in range(len(checks.column)):
        if bool((checks.hi[check] == WORD_MAX).all()):
            return Second(check, True, checks.lo[check], suffix)
        if bool((checks.lo[check] == WORD_MIN).all()):
            return Second(check, False, checks.hi[check], suffix)
    return None


def stream_blocks(
    indexed: IndexedRun, plan: ProbePlan, hits: Hits, checks: Checks, second: Second, chunk: int
) -> Iterator[Matches]:  # fmt: skip
    """Yield the pairs level by level; memory is one level, the probe and one chunk."""
    run, block, n = indexed.run, plan.probe.block, len(indexed)
    words = run.words
    y = words[checks.column[second.check]][run.row]
    order = order_of([y])  # run positions by ascending y
    rows = hits.rows[hits.which]
    limit = head_limits(y[order], second.ends[rows], second.upward)
    position: Rows = np.ascontiguousarray(order[::-1]) if second.upward else order
    places = (n - 1 - position if second.suffix else position).astype(np.int32)
    length = n - hits.start if second.suffix else hits.end.copy()
    rest = _without(checks, second.check)
    row = run.row[position]
    level = np.empty(n, np.int32)
    room = min(chunk, max(1024, n + len(block)))
    for bits in range(0, RADIX * levels(n), RADIX):
        build_level(places, bits, level, np.empty(((n - 1) >> bits) + 1, np.int32))
        state = np.zeros(3, np.int64)
        while state[0] < len(length):
            probe, stored = np.empty(room, np.int32), np.empty(room, np.int32)
            count = walk_level(level, bits, length, limit, rows, row, block.words, words, rest, state, probe, stored)
            if count:
                yield Matches.filled(run, probe, stored, count)
            if count == room:
                room = min(chunk, 2 * room)


def _without(checks: Checks, check: int) -> Checks:
    keep = [t for t in range(len(checks.column)) if t != check]
    return checks._replace(column=checks.column[keep], lo=checks.lo[keep], hi=checks.hi[keep])


_FAR = 1 << 62


class PairCheck(NamedTuple):
    """`keep` moves the pairs that pass to the front of both arrays and returns how many they are."""

    keep: Callable[[Rows, Rows, int], int]
    looks_nothing_up: bool


def pair_check(indexed: IndexedRun, plan: ProbePlan, remaining: Remaining) -> PairCheck | None:
    """Return the check of at most one remaining term; None when there is more to check."""
    spans, odd = remaining.spans, remaining.odd
    if len(spans) + len(odd) == 0:
        return PairCheck(lambda _probe, _stored, count: count, looks_nothing_up=True)
    if len(spans) == 1 and not odd:
        return _counted(indexed, plan, spans[0]) or _apart(indexed, plan, spans[0]) or _ranged(indexed, plan, remaining)
    if len(odd) == 1 and not spans and odd[0].op is Op.LAST:
        return _last(indexed, plan, odd[0])
    return None


class _Line(NamedTuple):
    """A span between words that follow from row numbers: `least <= stored - step * probe <= most`."""

    step: int
    least: int
    most: int


def _line(indexed: IndexedRun, plan: ProbePlan, span: Span) -> _Line | None:
    base, line = indexed.counts_from(span.right), line_of(plan.probe.block, span.left)
    if base is None or line is None:
        return None
    first, step = line
    least = -_FAR if span.least is None else first + span.least - base
    most = _FAR if span.most is None else first + span.most - base
    return _Line(step, _clip(least), _clip(most))


def _clip(bound: int) -> int:
    """Bring a bound on the difference of row numbers into a word; there it is far from all of them."""
    return max(-_FAR, min(_FAR, bound))


def _counted(indexed: IndexedRun, plan: ProbePlan, span: Span) -> PairCheck | None:
    line = _line(indexed, plan, span)
    if line is None:
        return None
    return PairCheck(lambda probe, stored, count: keep_counted(probe, stored, count, *line), looks_nothing_up=True)


def _apart(indexed: IndexedRun, plan: ProbePlan, span: Span) -> PairCheck | None:
    """Check the difference of two words, where none can leave the domain."""
    (first, last), (low, high) = plan.probe.block.limits[span.left], indexed.zone(span.right)
    if low - last < WORD_MIN or high - first > WORD_MAX:
        return None
    asking, words = plan.probe.block.words[span.left], indexed.run.column(span.right)
    least = WORD_MIN if span.least is None else max(WORD_MIN, span.least)
    most = WORD_MAX if span.most is None else min(WORD_MAX, span.most)
    if least > WORD_MAX or most < WORD_MIN:
        return None
    return PairCheck(
        lambda probe, stored, count: keep_apart(probe, stored, count, asking, words, least, most),
        looks_nothing_up=False,
    )


def _ranged(indexed: IndexedRun, plan: ProbePlan, remaining: Remaining) -> PairCheck:
    words, checks = indexed.run.column(remaining.spans[0].right), plan.checks(remaining)
    lo, hi = checks.lo[0], checks.hi[0]
    return PairCheck(
        lambda probe, stored, count: keep_ranged(probe, stored, count, words, lo, hi), looks_nothing_up=False
    )


def _last(indexed: IndexedRun, plan: ProbePlan, term: Term) -> PairCheck:
    """Check a count window both of whose cases are possible: the stored row came first, or the probe did."""
    one, two = (_line(indexed, plan, span) for span in count_window(term))
    if one is not None and two is not None:
        return PairCheck(
            lambda probe, stored, count: keep_either(probe, stored, count, *one, *two), looks_nothing_up=True
        )
    asking = plan.probe.block.words[term.left : term.left + 2]
    words, n = indexed.run.words[term.right : term.right + 2], int(term.hi)
    return PairCheck(
        lambda probe, stored, count: keep_last(probe, stored, count, asking, words, n), looks_nothing_up=False
    )
