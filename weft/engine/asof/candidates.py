"""Candidates of an as-of join: which right rows a left row may have, being equal in the `by` columns, and which of two is nearer.

Rows of both sides that are equal in their `by` columns get the same number; no hash is taken for what it stands for.

Who finds candidates (`weft.engine.asof.search` among rows that lie as they came, `weft.engine.asof.lookup` in a sorted table)
gives the first of each left row and a kernel that goes on from one to the next. They are asked in the order of their distance,
in rounds: all rows that are still without an answer ask their next few at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.engine.preserve import Accept
from weft.kernels import float_of, float_range, float_words, narrow
from weft.kernels.asof import gaps, gaps_of_doubles, number_texts, number_words
from weft.kernels.words import decimal_words
from weft.spec import Op, Term
from weft.spec.asof import Asof, GroupColumn
from weft.state import one_chunk
from weft.types import WORD_MAX, WORD_MIN, Bools, Words

__all__ = [
    "AHEAD", "BACK", "I32", "NONE", "Candidates", "Follow", "Gaps", "Groups", "HasWords", "fixed", "group_rows", "is_nan",
    "looks",
]  # fmt: skip

Number = TypeVar("Number", bound=np.generic)
I32 = NDArray[np.int32]
NONE: I32 = np.zeros(0, np.int32)
"""Of an order: that of the rows. Of groups: all rows are one."""
_ALL: Bools = np.zeros(0, np.bool_)


class HasWords(Protocol):
    """Rows as words, one array per column, with their payload."""

    @property
    def words(self) -> Words: ...
    @property
    def payload(self) -> pa.Table: ...


class Groups(NamedTuple):
    """The group of each row of both sides (-1: of none), and the number of groups."""

    left: I32
    right: I32
    number: int


def fixed(array: NDArray[Number]) -> NDArray[Number]:
    """Return an array that nobody may write to, as what Arrow has received: kernels are compiled for one kind alone."""
    found = array.view()
    found.flags.writeable = False
    return found


def group_rows(by: tuple[GroupColumn, ...], left: HasWords, right: HasWords) -> Groups:
    """Number the groups of the right side; left rows of any other group are of none."""
    found: Groups | None = None
    for column in by:
        for one in _numbered(column, left, right):
            found = one if found is None else _both(found, one)
    return Groups(NONE, NONE, 1) if found is None else found


def _numbered(column: GroupColumn, left: HasWords, right: HasWords) -> list[Groups]:
    if column.exact:
        numbers = number_words(fixed(right.words[column.right]), _ALL, fixed(left.words[column.left]), _ALL)
        return [Groups(numbers[1], numbers[0], numbers[2])]
    one, two = one_chunk(left.payload.column(column.left)), one_chunk(right.payload.column(column.right))
    if pa.types.is_decimal(one.type):  # wider than a word
        valid = _valid(two), _valid(one)
        halves = zip(decimal_words(one), decimal_words(two), strict=True)
        found = [number_words(fixed(two_), valid[0], fixed(one_), valid[1]) for one_, two_ in halves]
        return [Groups(numbers[1], numbers[0], numbers[2]) for numbers in found]
    (left_ends, left_text), (right_ends, right_text) = _text(one), _text(two)
    found_ = number_texts(right_ends, right_text, _valid(two), left_ends, left_text, _valid(one))
    return [Groups(found_[1], found_[0], found_[2])]


def _both(one: Groups, two: Groups) -> Groups:
    """Number the pairs of groups."""
    count = np.int64(max(two.number, 1))
    left, right = (a.astype(np.int64) * count + b for a, b in ((one.left, two.left), (one.right, two.right)))
    there = [(a >= 0) & (b >= 0) for a, b in ((one.left, two.left), (one.right, two.right))]
    numbers = number_words(fixed(right), there[1], fixed(left), there[0])
    return Groups(numbers[1], numbers[0], numbers[2])


def _valid(array: pa.Array) -> Bools:
    return np.asarray(array.is_valid()).astype(np.bool_) if array.null_count else _ALL


def _text(array: pa.Array) -> tuple[Words, NDArray[np.uint8]]:
    """Return where the texts of a column begin and end, and their bytes."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    array = array.cast(pa.large_binary())
    if not len(array):
        return fixed(np.zeros(1, np.int64)), fixed(np.zeros(0, np.uint8))
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
    return fixed(ends), fixed(np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8))


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
