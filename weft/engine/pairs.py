"""Pairs that leave: with the columns that somebody reads, and in chunks of as many bytes as memory has room for.

Row numbers become rows once, however large rows are. Words of texts are hashes, so a pair that a search found may be none. Its
texts are compared where they lie, by row number: the rows are taken afterwards, and only the columns that are asked for.

In a self join no tuple meets itself, and on request each unordered pair leaves once. A tuple is routed in both roles. New left
rows look among old right rows and, in a second probe, among the new ones, where a tuple could meet itself; `rid` (or `seq`)
tells them apart. For unordered pairs the reading with the later tuple on the left wins; the other reading is reported only when
the first does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.index import Index, Matches, Probe
from weft.kernels import float_of, narrow, same_text
from weft.spec import JoinSpec, Op, Term
from weft.types import WORD_MAX, WORD_MIN, Block, Bools, Rows, Side, Words, columns_at, other

__all__ = [
    "BYTES", "TEXTS", "Leaving", "Pairs", "cuts", "once", "pairs_of", "portions", "row_bytes", "terms_hold", "told_apart",
]  # fmt: skip

TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
"""Types whose values are compared in place."""


@dataclass(frozen=True)
class Leaving:
    """Payload columns by side, all of a side that is not named; and pairs of left and right columns whose texts are equal."""

    columns: Mapping[Side, tuple[str, ...]] = field(default_factory=dict)
    texts: tuple[tuple[str, str], ...] = ()

    def of(self, payload: pa.Table, side: Side) -> pa.Table:
        """Return the columns that leave."""
        return payload.select(self.columns[side]) if side in self.columns else payload

    def equal(self, side: Side, payload: pa.Table, match: Matches) -> Matches:
        """Return the matches whose texts are equal; `payload` is that of the probing `side`."""
        for left, right in self.texts:
            here, there = (left, right) if side == "left" else (right, left)
            found = _same(_texts(payload, here), _texts(match.run.payload, there), match.probe, match.stored)
            if not found.all():
                match = Matches(match.run, match.probe[found], match.stored[found])
        return match


class _Texts(NamedTuple):
    ends: Rows
    content: NDArray[np.uint8]


def _texts(payload: pa.Table, name: str) -> _Texts:
    """Return the buffers of a column, which nobody may write to."""
    column = payload.column(name)
    array = (
        column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
    )
    word = np.dtype(np.int32 if array.type in (pa.string(), pa.binary()) else np.int64)
    _, offsets, data = array.buffers()
    ends = (
        np.frombuffer(offsets, word, len(array) + 1, array.offset * word.itemsize) if len(array) else np.zeros(1, word)
    )
    content = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    for each in (ends, content):  # compiled for one kind of arrays
        each.flags.writeable = False
    return _Texts(ends, content)


def _same(here: _Texts, there: _Texts, probe: Rows, stored: Rows) -> NDArray[np.bool_]:
    same = np.empty(len(probe), np.bool_)
    same_text(*here, *there, np.asarray(probe, np.int32), np.asarray(stored, np.int32), same)
    return same


BYTES = 1 << 25
"""What the rows of one chunk of pairs take at most, and one pair more: a pair is never cut."""


@dataclass(frozen=True)
class Pairs:
    """Matched rows side by side; `swapped` marks an unordered pair that also holds the other way round.

    `ids` are the keys of the pairs, where they are asked for (`weft.engine.row_ids`).
    """

    left: pa.Table
    right: pa.Table
    swapped: pa.Array | None = None
    ids: pa.ChunkedArray | None = None

    def __len__(self) -> int:
        return max(int(self.left.num_rows), int(self.right.num_rows))  # a table without columns has no rows


def pairs_of(side: Side, probe: Block, matches: Iterator[Matches], leaving: Leaving) -> Iterator[Pairs]:
    """Take the payload of both rows of every match; `side` is the probing side."""
    for _, pairs in portions(side, probe, matches, leaving):
        yield pairs


def portions(
    side: Side, probe: Block, matches: Iterator[Matches], leaving: Leaving
) -> Iterator[tuple[Matches, Pairs]]:  # fmt: skip
    """Yield matches as they come with what leaves of their rows, those of large rows in pieces."""
    here = leaving.of(probe.payload, side)
    for found in matches:
        match = leaving.equal(side, probe.payload, found)
        if not len(match):
            continue
        there = leaving.of(match.run.payload, other(side))
        for low, high in cuts(row_bytes(here, match.probe) + row_bytes(there, match.stored), len(match)):
            some = match
            if high - low < len(match):
                some = Matches(match.run, match.probe[low:high], match.stored[low:high])
            probing, stored = here.take(pa.array(some.probe)), there.take(pa.array(some.stored))
            yield some, Pairs(probing, stored) if side == "left" else Pairs(stored, probing)


def cuts(sizes: Words | int, count: int, most: int = 1 << 62) -> Iterator[tuple[int, int]]:
    """Yield ranges of `count` things of these sizes (or of one), each within `BYTES` and `most`, or one thing alone.

    >>> list(cuts(np.array([5, BYTES, 7, 7]), 4))
    [(0, 2), (2, 4)]
    """
    if isinstance(sizes, int):
        most = min(most, max(1, BYTES // max(sizes, 1)))
    elif int(sizes.sum()) > BYTES:
        before = (np.cumsum(sizes) - sizes) // BYTES
        ends = [*(np.flatnonzero(np.diff(before)) + 1).tolist(), count]
        yield from ((at, min(at + most, high)) for low, high in zip([0, *ends], ends, strict=False)
                    for at in range(low, high, most))  # fmt: skip
        return
    yield from ((low, min(low + most, count)) for low in range(0, count, most))


def row_bytes(table: pa.Table, rows: Rows) -> Words | int:
    """Return the bytes of the named rows; one number if all rows take the same."""
    total: Words | int = 0
    for column in table.columns:
        if column.num_chunks == 1:
            total = total + _bytes(column.chunk(0), rows)
            continue
        start, found = 0, np.zeros(len(rows), np.int64)
        for chunk in column.chunks:
            here = (rows >= start) & (rows < start + len(chunk))
            found[here] = _bytes(chunk, rows[here] - start)
            start += len(chunk)
        total = total + found
    return total


def _bytes(array: pa.Array, rows: Rows) -> Words | int:
    """Return the bytes of some rows of an array; what is inside lists counts by its average."""
    kind = array.type
    if not len(rows):
        return 0
    if isinstance(kind, pa.BaseExtensionType):
        return _bytes(array.storage, rows)
    if pa.types.is_struct(kind):
        return sum((_bytes(array.field(number), rows) for number in range(kind.num_fields)), 0)
    small = pa.types.is_string(kind) or pa.types.is_binary(kind)
    if small or pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        word = np.dtype(np.int32 if small else np.int64)
        offsets = np.frombuffer(array.buffers()[1], word, len(array) + 1, array.offset * word.itemsize)
        return np.asarray(offsets[1:].take(rows) - offsets.take(rows), np.int64) + word.itemsize
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        offsets = array.offsets.to_numpy()
        inner = max(1, int(offsets[-1] - offsets[0]))
        return np.asarray((offsets[rows + 1] - offsets[rows]) * (array.nbytes / inner), np.int64) + 8
    return int(-(-array.nbytes // max(1, len(array))))


def once(
    spec: JoinSpec, asking: dict[Side, Block], old: dict[Side, Index], new: Index, chunk: int, leaving: Leaving
) -> Iterator[Pairs]:  # fmt: skip
    """Yield the pairs of a self join."""
    if len(asking["left"]):
        block = asking["left"]
        found = old["right"].probe(Probe(block, spec.access, spec.terms), chunk)
        yield from _kept(spec, "left", block, found, "old", leaving)
        found = new.probe(Probe(block, spec.access, told_apart(spec)), chunk)
        yield from _kept(spec, "left", block, found, "new", leaving)
    if len(asking["right"]):
        block = asking["right"]
        found = old["left"].probe(Probe(block, spec.access_of("right"), spec.terms_of("right")), chunk)
        yield from _kept(spec, "right", block, found, "old", leaving)


def told_apart(spec: JoinSpec) -> tuple[Term, ...]:
    """Return the terms for rows of one batch, where a tuple could meet itself."""
    number = _number(spec)
    return (*spec.terms, Term(number, Op.NE, number))


def _kept(
    spec: JoinSpec, side: Side, block: Block, matches: Iterator[Matches], among: str, leaving: Leaving
) -> Iterator[Pairs]:  # fmt: skip
    for match, pairs in portions(side, block, matches, leaving):
        yield _oriented(spec, side, block, match, among, pairs) if spec.unordered else pairs


def _oriented(spec: JoinSpec, side: Side, block: Block, match: Matches, among: str, pairs: Pairs) -> Pairs:
    """Drop the reading with the earlier tuple on the left where the other reading holds too.

    Without a residual that is decided here; with one, `swapped` tells the runtime which pairs to check both ways.
    """
    probing, stored = columns_at(block.words, match.probe), columns_at(match.run.words, match.stored)
    left, right = (probing, stored) if side == "left" else (stored, probing)
    swapped = _left_is_earlier(spec, left, right, side, among) & terms_hold(spec.terms, right, left)
    if spec.left.nulls is not None:
        swapped &= _not_null(spec, "left", right) & _not_null(spec, "right", left)
    if spec.condition.residual:
        return Pairs(pairs.left, pairs.right, pa.array(swapped))
    keep = np.flatnonzero(~swapped)
    if len(keep) == len(swapped):
        return pairs
    return Pairs(pairs.left.take(pa.array(keep)), pairs.right.take(pa.array(keep)))


def _not_null(spec: JoinSpec, role: Side, words: Words) -> Bools:
    """Tell which tuples have all keys of a role."""
    assert spec.left.nulls is not None
    keys = sum(1 << column for column in spec.used(role))
    return np.asarray(words[spec.left.nulls] & np.int64(keys) == 0)


def _number(spec: JoinSpec) -> int:
    """Return the word column that numbers the tuples: `rid` within a batch, or `opp`, a count window's own number."""
    part = spec.left
    if part.rid is not None:
        return part.rid
    assert part.seq is not None
    return part.seq + 1


def _left_is_earlier(spec: JoinSpec, left: Words, right: Words, side: Side, among: str) -> Bools:
    if among == "new" or spec.counted:
        number = _number(spec)
        return np.asarray(left[number] < right[number])
    return np.full(left.shape[1], side == "right")


def terms_hold(terms: tuple[Term, ...], left: Words, right: Words) -> Bools:
    """Evaluate the terms on rows side by side."""
    holds = np.ones(left.shape[1], np.bool_)
    for term in terms:
        a, b = left[term.left], right[term.right]
        if term.op is Op.BAND:
            least, most, near = np.full(len(a), WORD_MIN), np.full(len(a), WORD_MAX), np.ones(len(a), np.bool_)
            for end, lower, bound in ((-term.hi, True, least), (-term.lo, False, most)):
                narrow(a, None if math.isinf(end) else int(end), lower, bound, near)
            near &= (least <= b) & (b <= most)
        elif term.op is Op.FBAND:
            with np.errstate(invalid="ignore"):
                difference = float_of(a) - float_of(b)
                near = (difference >= term.lo) & (difference <= term.hi)
        elif term.op is Op.LAST:
            a_opp, b_opp, n = left[term.left + 1], right[term.right + 1], int(term.hi)
            near = ((b < a_opp) & (b >= a_opp - n)) | ((a < b_opp) & (a >= b_opp - n))
        else:
            near = _COMPARE[term.op](a, b)
        holds &= near
    return holds


_COMPARE = {
    Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal, Op.EQ: np.equal,
    Op.NE: np.not_equal,
}  # fmt: skip
