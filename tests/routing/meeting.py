"""Joins of every shape, their rows, and the law of routing: a pair that can match meets in exactly one task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from weft.kernels import mix_words
from weft.kernels.words import float_of, float_words
from weft.routing import Plan
from weft.spec import Compare, Condition, JoinSpec, Key, Op, Window, build_spec, kind_named, tumbling, unbounded, within
from weft.spec.terms import Term
from weft.types import U32, WORD_MAX, WORD_MIN, Bools, Side, Words

__all__ = ["EDGES", "PRESERVING", "SPECS", "Rows", "check_meets_once", "check_whole", "matching", "rows_of"]

A, B, C = Key("a"), Key("b"), Key("c")
EDGES = (WORD_MIN, WORD_MIN + 1, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 11, WORD_MAX - 1, WORD_MAX)


def spec_of(*compares: Compare, window: Window | None = None, how: str = "inner") -> JoinSpec:
    return build_spec(Condition("test", compares), window or unbounded(), kind=kind_named(how))


SPECS = {
    "equal": spec_of(Compare(A, Op.EQ, A)),
    "two equal": spec_of(Compare(A, Op.EQ, A), Compare(B, Op.EQ, B)),
    "less": spec_of(Compare(A, Op.LT, A)),
    "at most": spec_of(Compare(A, Op.LE, B)),
    "greater": spec_of(Compare(A, Op.GT, B)),
    "at least": spec_of(Compare(A, Op.GE, A)),
    "not": spec_of(Compare(A, Op.NE, A)),
    "band": spec_of(Compare(A, Op.BAND, A, -2, 3)),
    "half band": spec_of(Compare(A, Op.BAND, A, -float("inf"), 3)),
    "other half band": spec_of(Compare(A, Op.BAND, B, 1, float("inf"))),
    "float band": spec_of(Compare(A, Op.FBAND, A, -1.5, 2.0)),
    "interval of the right": spec_of(Compare(A, Op.GE, B), Compare(A, Op.LE, C)),
    "interval of the left": spec_of(Compare(B, Op.LE, A), Compare(C, Op.GE, A)),
    "equal and band": spec_of(Compare(A, Op.EQ, A), Compare(B, Op.BAND, B, -1, 1)),
    "less, within time": spec_of(Compare(A, Op.LT, A), window=within(3, on="t")),
    "equal, within time": spec_of(Compare(A, Op.EQ, A), window=within(3, on="t")),
    "band, tumbling": spec_of(Compare(A, Op.BAND, A, -2, 3), window=tumbling(10, on="t", delay=0)),
    "two equal, tumbling": spec_of(Compare(A, Op.EQ, A), Compare(B, Op.EQ, B), window=tumbling(10, on="t", delay=0)),
}

PRESERVING = {
    "equal, left": spec_of(Compare(A, Op.EQ, A), how="left"),
    "equal, full": spec_of(Compare(A, Op.EQ, A), how="full"),
    "band, anti": spec_of(Compare(A, Op.BAND, A, -2, 3), how="left_anti"),
    "interval of the right, right": spec_of(Compare(A, Op.GE, B), Compare(A, Op.LE, C), how="right"),
    "less, semi": spec_of(Compare(A, Op.LT, A), how="left_semi"),
    "less, full": spec_of(Compare(A, Op.LT, A), how="full"),
}
"""Joins whose rows of one side or both must stay on one task each; only some schemes serve them."""


@dataclass(frozen=True)
class Rows:
    """Tuples of one side."""

    words: Words
    u: U32


def holds(term: Term, left: Words, right: Words) -> Bools:
    """Decide a term for every pair (left rows down, right rows across), in Python's integers or in floats."""
    a, b = left[term.left][:, None], right[term.right][None, :]
    if term.op is Op.FBAND:
        with np.errstate(invalid="ignore"):
            apart = float_of(left[term.left])[:, None] - float_of(right[term.right])[None, :]
        return np.asarray((apart >= term.lo) & (apart <= term.hi))
    if term.op is Op.BAND:
        exact = a.astype(object) - b.astype(object)
        return np.asarray((exact >= term.lo) & (exact <= term.hi), np.bool_)
    compare = {
        Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal, Op.EQ: np.equal,
        Op.NE: np.not_equal,
    }  # fmt: skip
    return np.asarray(compare[term.op](a, b))


def matching(spec: JoinSpec, left: Words, right: Words) -> Bools:
    """Tell which pairs can match (left rows down, right rows across)."""
    can = np.ones((left.shape[1], right.shape[1]), np.bool_)
    for term in spec.terms:
        can &= holds(term, left, right)
    return can


def check_meets_once(spec: JoinSpec, plan: Plan, left: Rows, right: Rows, *, exact: bool = True) -> None:
    """Check that every pair that can match meets in one task, whoever comes first; if not `exact`, in one at most."""
    can = matching(spec, left.words, right.words)
    for earlier, later in (("left", "right"), ("right", "left")):
        sides: dict[str, Rows] = {"left": left, "right": right}
        kept, asked = _visits(plan.store, earlier, sides[earlier]), _visits(plan.probe, later, sides[later])
        assert kept.shape == (plan.tasks, len(sides[earlier].u))
        meets = np.einsum("te,tl->el", kept.astype(np.int64), asked.astype(np.int64))
        if earlier == "right":
            meets = meets.T
        once = meets[can] == 1 if exact else meets[can] <= 1
        assert once.all(), f"{plan}: pairs meet {np.unique(meets[can])} times, {earlier} first"


def check_whole(spec: JoinSpec, plan: Plan, side: Side, rows: Rows) -> None:
    """Check that each row of a preserved side is stored on one task and probes that task alone."""
    if side in spec.kind.preserved:
        kept, asked = _visits(plan.store, side, rows), _visits(plan.probe, side, rows)
        assert (kept.sum(axis=0) == 1).all() and (kept == asked).all(), f"{plan} spreads rows of the {side} side"


def _visits(question, side: str, rows: Rows) -> Bools:
    answer = question(side, rows.words, rows.u)
    assert answer.dtype == np.bool_
    return np.asarray(answer)


@st.composite
def rows_of(draw: st.DrawFn, spec: JoinSpec, side: Side) -> Rows:
    part = spec.side(side)
    count = draw(st.integers(1, 12))
    floating = any(term.op is Op.FBAND for term in spec.terms)
    words = np.zeros((part.columns, count), np.int64)
    for column in range(part.columns):
        if column == part.mix:
            words[column] = mix_words([words[equal] for equal in part.equal])
        elif floating:
            values = st.sampled_from((0.0, -0.0, 1.0, 1.5, -2.0, 3.5, np.inf, -np.inf, np.nan, 1e300, 5e-324))
            words[column] = float_words(np.array(draw(st.lists(values, min_size=count, max_size=count))))
        else:
            values = st.sampled_from(EDGES)
            words[column] = draw(st.lists(values, min_size=count, max_size=count))
    u = st.one_of(st.sampled_from((0, 1, 2**31, 2**32 - 1)), st.integers(0, 2**32 - 1))
    return Rows(words, np.array(draw(st.lists(u, min_size=count, max_size=count)), np.uint32))
