"""Which of the pairs just found stay: the checks that a range search leaves open, chosen once per run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from weft.index.probe_plan import ProbePlan, Remaining, Span, count_window
from weft.index.run import IndexedRun, line_of
from weft.kernels.pair_filters import keep_apart, keep_counted, keep_either, keep_last, keep_ranged
from weft.spec.terms import Op, Term
from weft.types import WORD_MAX, WORD_MIN, Rows

__all__ = ["PairCheck", "pair_check"]

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
