"""Candidates of an as-of join: which of the right rows that a left row asks it may have, and which of two is nearer.

Who finds candidates (`weft.engine.asof.search` among rows that lie as they came, `weft.engine.asof.lookup` in a sorted table)
gives the first of each left row and a kernel that goes on from one to the next. They are asked in the order of their distance,
in rounds: all rows that are still without an answer ask their next few at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.engine.asof.groups import I32, HasWords, fixed
from weft.engine.preserve import Accept
from weft.kernels import float_of, float_range, float_words, narrow
from weft.kernels.asof import gaps, gaps_of_doubles
from weft.spec import Op, Term
from weft.spec.asof import Asof
from weft.types import WORD_MAX, WORD_MIN, Bools, Words

__all__ = ["AHEAD", "BACK", "Candidates", "Follow", "Gaps", "is_nan", "looks"]

Gaps = NDArray[Any]
"""Distances: words without a sign, or doubles."""

Follow = Callable[[Any, I32, Words, int, I32, I32], int]
"""Writes the next candidates of some rows: which rows, where each is (and goes on), bounds, how many at most, and both ends."""

BACK, AHEAD = 0, -1
"""The directions: looking ahead is looking back with all bits turned."""

_NAN = int(float_words(np.array([np.nan]))[0])
_PAIRS = 1 << 20
"""Candidates that are looked at together."""
_MOST = 64
"""Candidates of one row that are looked at together."""


def looks(asof: Asof) -> tuple[int, ...]:
    """Return the directions that a left row looks in."""
    return {"backward": (BACK,), "forward": (AHEAD,), "nearest": (BACK, AHEAD)}[asof.direction]


@dataclass(frozen=True)
class Candidates:
    """What decides among candidates; `compared`: whether these may differ in the equal columns."""

    asof: Asof
    left: HasWords
    right: HasWords
    accept: Accept | None = None
    compared: bool = False

    @property
    def sure(self) -> bool:
        """Tell whether the first candidate is the answer."""
        return not self.asof.terms and self.accept is None and not self.compared

    @property
    def places(self) -> tuple[Words, Words]:
        """Return the order words of both sides."""
        one, two = self.asof.order
        return fixed(self.left.words[one]), fixed(self.right.words[two])

    def nearest(self, found: Sequence[I32]) -> tuple[I32, Gaps]:
        """Return the nearest of what was found in each direction (-1: none), and how far it is, if anybody asks for that."""
        if len(found) == 1:
            return self._near(found[0])
        (back, before), (ahead, after) = map(self._near, found)
        later = (after < before) | (back < 0)
        return np.where(later, ahead, back), np.where(later, after, before)

    def _near(self, rows: I32) -> tuple[I32, Gaps]:
        """Leave out what is beyond the tolerance."""
        if self.asof.tolerance is None and self.asof.direction == "backward":
            return rows, np.zeros(0, np.uint64)
        left, right = self.places
        if self.asof.floating:
            apart: Gaps = gaps_of_doubles(float_of(left), float_of(right), rows)
            limit: Any = self.asof.tolerance
        else:
            apart, limit = gaps(left, right, rows), np.uint64(self.asof.limit)
        if self.asof.tolerance is not None:
            rows[apart > limit] = -1
        return rows, apart

    def first(self, at: I32, flip: int, follow: Follow) -> I32:
        """Return the first candidate of each row that satisfies everything; the search begins at `at`."""
        out = np.full(len(at), -1, np.int32)
        bounds = self._bounds(flip)
        rows, most = np.flatnonzero(at >= 0), 1
        while len(rows):
            for start in range(0, len(rows), _PAIRS // most):
                some = rows[start : start + _PAIRS // most]
                next_ = at[some]
                probe, stored = np.empty(len(some) * most, np.int32), np.empty(len(some) * most, np.int32)
                count = follow(some, next_, bounds, most, probe, stored)
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
            return back if flip == BACK else ahead
        out = np.full(len(words), WORD_MIN if flip == BACK else WORD_MAX)
        step = -int(limit) if flip == BACK else int(limit)
        narrow(words, step, flip == BACK, out, np.ones(len(words), np.bool_))
        return out

    def _accepted(self, probe: I32, stored: I32) -> Bools:
        holds = np.ones(len(probe), np.bool_)
        for term in self.asof.terms:
            holds &= _holds(term, self.left.words[term.left][probe], self.right.words[term.right][stored])
        if self.compared:
            holds &= self._alike(probe, stored)
        if self.accept is not None and holds.any():
            rows = np.flatnonzero(holds)
            holds[rows] = self.accept(self.left.payload, probe[rows], self.right.payload, stored[rows])
        return holds

    def _alike(self, probe: I32, stored: I32) -> Bools:
        """Compare the equal columns as they are: a word may be a hash."""
        alike = np.ones(len(probe), np.bool_)
        for column in self.asof.by:
            if column.exact:
                alike &= self.left.words[column.left][probe] == self.right.words[column.right][stored]
                continue
            one = _plain(self.left.payload.column(column.left).take(pa.array(probe)))
            two = _plain(self.right.payload.column(column.right).take(pa.array(stored)))
            equal = pc.equal(one, two.cast(one.type)).fill_null(False)
            alike &= np.asarray(equal.to_numpy(), np.bool_)
        return alike


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def is_nan(words: Words) -> Bools:
    """Tell which words stand for what is no number."""
    return np.asarray(words == _NAN)


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
