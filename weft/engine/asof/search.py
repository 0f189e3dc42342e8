"""The search of an as-of join: for each left row its right row, in whole columns; a pure function of the rows.

Without a further condition both sides are walked once (`weft.kernels.asof`). With one, each left row asks the right rows of its
group in the order of their distance, in rounds: all rows that are still without an answer ask their next few at once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.engine.asof.groups import I32, NONE, Groups, HasWords, fixed, group_rows
from weft.engine.preserve import Accept
from weft.kernels import float_of, float_range, float_words, narrow, order_of, words_of
from weft.kernels.asof import ascends, gaps, gaps_of_doubles, last_before, linked, next_candidates, turned
from weft.spec import Op, Term
from weft.spec.asof import Asof
from weft.types import WORD_MAX, WORD_MIN, Bools, Words

__all__ = ["Gaps", "Search", "is_nan", "tie_words"]

Gaps = NDArray[Any]
"""Distances: words without a sign, or doubles."""

_NAN = int(float_words(np.array([np.nan]))[0])
_BACK, _AHEAD = 0, -1
_PAIRS = 1 << 20
"""Candidates that are looked at together."""
_MOST = 64
"""Candidates of one row that are looked at together."""


class Search:
    """What both sides have in common, worked out once: groups, and rows in their order."""

    def __init__(self, asof: Asof, left: HasWords, right: HasWords, accept: Accept | None = None) -> None:
        self.asof, self.left, self.right, self.accept = asof, left, right, accept
        self.places = fixed(left.words[asof.order[0]]), fixed(right.words[asof.order[1]])
        self.groups = _placed(asof, group_rows(asof.by, left, right), *self.places)

    @cached_property
    def order(self) -> I32:
        """Return the right rows by place, then by what decides among those at one place."""
        asof, words = self.asof, self.right.words
        arrival = words[asof.arrival] if asof.arrival >= 0 else None
        ties = None if asof.ties is None else tie_words(self.right.payload, asof.ties)
        first = None if arrival is None or ascends(arrival) else order_of([arrival])
        if first is None and ties is None and ascends(self.places[1]):
            return NONE
        columns = [
            column if first is None else column[first] for column in (self.places[1], ties) if column is not None
        ]
        order = order_of(columns)
        return order if first is None else first[order]

    def found(self) -> tuple[I32, Gaps]:
        """Return the right row of each left row (-1: none), and how far it is; no distances where nobody asks for them."""
        asof = self.asof
        if asof.direction != "nearest":
            return self._near(self._looking(_BACK if asof.back else _AHEAD))
        back, before = self._near(self._looking(_BACK))
        ahead, after = self._near(self._looking(_AHEAD))
        later = (after < before) | (back < 0)
        return np.where(later, ahead, back), np.where(later, after, before)

    def _near(self, rows: I32) -> tuple[I32, Gaps]:
        """Leave out what is beyond the tolerance."""
        if self.asof.tolerance is None and self.asof.direction == "backward":
            return rows, np.zeros(0, np.uint64)
        if self.asof.floating:
            apart: Gaps = gaps_of_doubles(float_of(self.places[0]), float_of(self.places[1]), rows)
            limit: Any = self.asof.tolerance
        else:
            apart, limit = gaps(*self.places, rows), np.uint64(self.asof.limit)
        if self.asof.tolerance is not None:
            rows[apart > limit] = -1
        return rows, apart

    def _looking(self, flip: int) -> I32:
        """Return the nearest right row in one direction that satisfies the further condition."""
        left, right = self.places
        order = self.order if flip == _BACK else turned(right, self.order)
        asking = NONE if ascends(left) else order_of([left])
        if flip == _AHEAD:
            asking = turned(left, asking)
        groups = self.groups
        heads = last_before(
            left, groups.left, asking, right, groups.right, order, groups.number, self.asof.strict, flip
        )  # fmt: skip
        if not self.asof.terms and self.accept is None:
            return heads
        return self._first_accepted(heads, linked(groups.right, order, len(right), groups.number), flip)

    def _first_accepted(self, at: I32, before: I32, flip: int) -> I32:
        out = np.full(len(at), -1, np.int32)
        bounds, places = self._bounds(flip), self.places[1]
        rows, most = np.flatnonzero(at >= 0), 1
        while len(rows):
            for start in range(0, len(rows), _PAIRS // most):
                some = rows[start : start + _PAIRS // most]
                next_ = at[some]
                probe, stored = np.empty(len(some) * most, np.int32), np.empty(len(some) * most, np.int32)
                count = next_candidates(some, next_, before, places, bounds, flip, most, probe, stored)
                probe, stored = probe[:count], stored[:count]
                hits = np.flatnonzero(self._accepted(probe, stored))[::-1]  # the first of each row is written last
                out[probe[hits]] = stored[hits]
                at[some] = next_
            rows = rows[(out[rows] < 0) & (at[rows] >= 0)]
            most = min(2 * most, _MOST)
        return out

    def _bounds(self, flip: int) -> Words:
        """Return the word beyond which no right row is within the tolerance; of doubles, perhaps a little beyond."""
        if self.asof.tolerance is None:
            return np.zeros(0, np.int64)
        words, limit = self.places[0], self.asof.tolerance
        if self.asof.floating:
            back, ahead, _ = float_range(words, -limit, limit)
            return back if flip == _BACK else ahead
        out = np.full(len(words), WORD_MIN if flip == _BACK else WORD_MAX)
        step = -int(limit) if flip == _BACK else int(limit)
        narrow(words, step, flip == _BACK, out, np.ones(len(words), np.bool_))
        return out

    def _accepted(self, probe: I32, stored: I32) -> Bools:
        holds = np.ones(len(probe), np.bool_)
        for term in self.asof.terms:
            holds &= _holds(term, self.left.words[term.left][probe], self.right.words[term.right][stored])
        if self.accept is not None and holds.any():
            rows = np.flatnonzero(holds)
            holds[rows] = self.accept(self.left.payload, probe[rows], self.right.payload, stored[rows])
        return holds

    def superseded(self, since: int) -> Bools:
        """Tell which right rows no left row at `since` or later may have."""
        asof, places = self.asof, self.places[1]
        least = since + 1 if asof.strict and asof.direction == "forward" else since
        behind: Bools = places < max(least, WORD_MIN)
        if asof.direction == "forward":
            return behind
        if asof.tolerance is not None:
            gone: Bools = places < max(since - int(asof.tolerance), WORD_MIN)
        else:
            gone = np.zeros(len(places), np.bool_)
        if asof.chooses:
            return gone
        # Of each group the last row that a left row at `since` may have, and none before it. Looking ahead, what is at
        # `since` itself may be had as well: it is not behind.
        eligible = behind if asof.strict or asof.ahead else places <= since
        order = self.order if len(self.order) else np.arange(len(places), dtype=np.int32)
        group = self.groups.right if len(self.groups.right) else np.zeros(len(places), np.int32)
        ranked = order[eligible[order] & (group[order] >= 0)]
        last = np.full(max(self.groups.number, 1), -1, np.int64)
        last[group[ranked]] = ranked  # the last one written stays
        last = last[last >= 0]
        too_old = gone[last]
        gone[ranked] = True
        gone[last] = too_old
        return gone


def _placed(asof: Asof, groups: Groups, left: Words, right: Words) -> Groups:
    """Take rows whose place is no number out of their groups: nothing is near to them."""
    if not asof.floating:
        return groups
    lost = is_nan(left), is_nan(right)
    if not (lost[0].any() or lost[1].any()):
        return groups
    made = [
        np.where(gone, np.int32(-1), group if len(group) else np.int32(0)).astype(np.int32)
        for gone, group in zip(lost, (groups.left, groups.right), strict=True)
    ]
    return Groups(made[0], made[1], groups.number)


def is_nan(words: Words) -> Bools:
    """Tell which words stand for what is no number."""
    return np.asarray(words == _NAN)


def tie_words(payload: pa.Table, column: int) -> Words:
    """Return the words that decide among rows at one place; NULL is the least."""
    words, valid = words_of(payload.column(column), "value")
    return words if valid is None else np.where(valid, words, WORD_MIN)


_OPS: dict[Op, Any] = {
    Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal, Op.EQ: np.equal,
    Op.NE: np.not_equal,
}  # fmt: skip


def _holds(term: Term, left: Words, right: Words) -> Bools:
    """Evaluate a term on candidates."""
    if term.op in _OPS:
        return np.asarray(_OPS[term.op](left, right))
    if term.op is Op.FBAND:
        with np.errstate(invalid="ignore"):
            apart = float_of(left) - float_of(right)
        return np.asarray((apart >= term.lo) & (apart <= term.hi))
    holds = np.ones(len(left), np.bool_)
    least, most = np.full(len(left), WORD_MIN), np.full(len(left), WORD_MAX)
    narrow(left, None if np.isinf(term.hi) else -int(term.hi), True, least, holds)
    narrow(left, None if np.isinf(term.lo) else -int(term.lo), False, most, holds)
    return np.asarray(holds & (right >= least) & (right <= most))
