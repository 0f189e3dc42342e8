"""A run: immutable rows of one side; the layout, the order that an access path wants them in; and a run as an index holds it.

Rows stay in the parts they arrived in; `row[i]` says which of them is the i-th in index order. So sorting and merging
move row numbers and one key, never the rows. A run that was made of packed words has the row numbers in them.
Seen as one block (`words`, `u`, `payload`) a run of several parts is put together on first use.

An index holds a run with its sorted keys and, once asked for, its directories. All of it derives from the run and none of it is
saved. A column can be a line: its words count up by one row by row, as row numbers do, or stand still; then no word is looked up.
Packed keys need a frame, one for all runs of an index, so that they can be merged as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from weft.kernels.packed import Frame, Packed, frame_of, pack, pack_by
from weft.kernels.peaks import Peaks
from weft.kernels.search import Fences, directory_of, fences_of
from weft.kernels.words import counts_up
from weft.spec.terms import Access
from weft.types import U32, WORD_MIN, Block, Bools, Rows, Words, all_flags, columns_at

__all__ = ["Framing", "IndexedRun", "Layout", "Run", "counts_from", "line_of"]


@dataclass(frozen=True)
class Layout:
    """Word columns of the stored rows: the equality word, the range word, and the interval's other end if it has one.

    >>> from weft.spec.terms import Op, Term
    >>> Layout.of(Access((0, 1), Term(2, Op.LT, 3))).columns
    (1, 3)
    """

    equal: int | None = None
    key: int | None = None
    until: int | None = None

    @classmethod
    def of(cls, access: Access) -> Layout:
        """Read the stored columns from an access path seen from the probing side."""
        equal = None if access.equal is None else access.equal[1]
        key = None if access.within is None else access.within.right
        until = None if access.until is None or access.until.right == key else access.until.right
        return cls(equal, key, until)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Return what the rows are sorted by, the leading column first."""
        return tuple(column for column in (self.equal, self.key) if column is not None)


@dataclass(frozen=True)
class Run:
    """Rows as they arrived, with their index order.

    Rows that `row` does not name have expired; they are there until the run is compacted.
    `newest` is the greatest expiry word (WORD_MIN without expiry): the run can go when that has expired.
    `span` is, for interval access with the interval on this side, the greatest `hi - lo` (0 otherwise).
    `segment` is the name of the file that holds the run, "" while none does.
    """

    parts: tuple[Block, ...]
    order: Rows | Packed
    newest: int = WORD_MIN
    span: int = 0
    segment: str = field(default="", compare=False)

    @classmethod
    def of(cls, block: Block, row: Rows, newest: int = WORD_MIN, span: int = 0, segment: str = "") -> Run:
        """Make a run of one part."""
        return cls((block,), np.asarray(row, np.int32), newest, span, segment)

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def row(self) -> Rows:
        """Return the row numbers in index order."""
        return self.order.rows if isinstance(self.order, Packed) else self.order

    @cached_property
    def block(self) -> Block:
        """Return all rows as one block, the payload in one chunk."""
        whole = Block.concat(self.parts)
        return replace(whole, payload=whole.payload.combine_chunks())

    @property
    def words(self) -> Words:
        """Return the words of all rows, in order of arrival."""
        return self.block.words

    @property
    def u(self) -> U32:
        """Return the draws of all rows."""
        return self.block.u

    @property
    def payload(self) -> pa.Table:
        """Return the payload of all rows."""
        return self.block.payload

    @cached_property
    def rows(self) -> int:
        """Return the number of rows, expired ones included."""
        return sum(len(part) for part in self.parts)

    @property
    def nbytes(self) -> int:
        """Return the bytes of words, draws, order and payload."""
        return int(4 * len(self) + sum(b.words.nbytes + b.u.nbytes + b.payload.nbytes for b in self.parts))

    @property
    def matched(self) -> Bools:
        """Tell which rows have found a partner."""
        found = all_flags(self.parts)
        return np.zeros(self.rows, np.bool_) if found is None else found

    def flagged(self, matched: Bools) -> Run:
        """Return the run, file and all, with other flags."""
        flags = np.split(matched, np.cumsum([len(part) for part in self.parts])[:-1])
        made = replace(self, parts=tuple(part.flagged(f) for part, f in zip(self.parts, flags, strict=True)))
        if "block" in self.__dict__:  # putting the parts together again would copy every row
            made.__dict__["block"] = self.block.flagged(matched)
        return made

    def column(self, column: int) -> Words:
        """Return one word column of all rows."""
        if len(self.parts) == 1 or "block" in self.__dict__:
            return self.words[column]
        return np.concatenate([part.words[column] for part in self.parts])

    def sorted_by(self, columns: tuple[int, ...]) -> tuple[Words, ...]:
        """Return word columns in index order."""
        return tuple(self.column(column)[self.row] for column in columns)

    def is_sorted_by(self, columns: tuple[int, ...]) -> bool:
        """Tell whether the index order ascends lexicographically by the named columns."""
        keys = self.sorted_by(columns)
        if not keys or len(self) < 2:
            return True
        order = np.lexsort(keys[::-1])
        return all(bool((key[order] == key).all()) for key in keys)

    def compacted(self) -> Run:
        """Return the run without the rows that have expired."""
        if len(self) == self.rows:
            return self
        alive = np.sort(self.row)
        number = np.empty(self.rows, np.int32)
        number[alive] = np.arange(len(alive), dtype=np.int32)
        return Run.of(self.block.take(alive), number[self.row], self.newest, self.span)


@dataclass(eq=False)
class IndexedRun:
    """A run and what speeds up its probes.

    A column's zone bounds its words: a term that no word, or every word, of the zone satisfies is decided once for the
    whole run.
    """

    run: Run
    layout: Layout
    made: tuple[Words, ...] | None = None
    """The sorted key columns, when whoever made the run had them at hand."""
    packed: Packed | None = None
    """The one key column packed with the rows, once somebody asked for that."""
    _zones: dict[int, tuple[int, int]] = field(default_factory=dict)
    _counts: dict[int, int | None] = field(default_factory=dict)
    peaks: dict[tuple[int, bool], Peaks] = field(default_factory=dict)
    """Trees of maxima over columns, or of minima (`weft.index.peaks`)."""

    def __len__(self) -> int:
        return len(self.run)

    @cached_property
    def keys(self) -> tuple[Words, ...]:
        """Return the columns of the layout in index order."""
        if self.made is None and self.packed is not None:
            return (self.packed.keys,)
        return self.run.sorted_by(self.layout.columns) if self.made is None else self.made

    @cached_property
    def in_order(self) -> tuple[Words, Rows]:
        """Return all words in index order, and the positions they then have: for checks of many candidates."""
        return columns_at(self.run.words, self.run.row), np.arange(len(self.run), dtype=np.int32)

    def pack(self, frame: Frame) -> Packed:
        """Return the keys packed in that frame; it must hold them."""
        if self.packed is None or self.packed.frame != frame:
            if self.made is None and self.packed is None and "keys" not in self.__dict__:
                self.packed = pack_by(self.run.column(self.layout.columns[0]), self.run.row, frame)
            else:
                self.packed = pack(self.leading, self.run.row, frame)
        return self.packed

    def zone(self, column: int) -> tuple[int, int]:
        """Return the least and the greatest word of a column."""
        if column not in self._zones:
            self._zones[column] = _around([part.limits[column] for part in self.run.parts])
        return self._zones[column]

    def counts_from(self, column: int) -> int | None:
        """Return the first word if the column counts up by one row by row, as row numbers do; else None.

        Then the word of a row follows from the row: checking it needs no look at the words.
        """
        if column not in self._counts:
            low, high = self.zone(column)
            next_word = low if high - low == self.run.rows - 1 else None
            for part in self.run.parts:
                if next_word is None or not counts_from(part, column, next_word):
                    next_word = None
                    break
                next_word += len(part)
            self._counts[column] = None if next_word is None else low
        return self._counts[column]

    def inherit(self, merged: Sequence[IndexedRun]) -> None:
        """Learn what is known of the runs that were merged into this one, oldest first; only oldest rows may be gone."""
        for column, first in merged[0]._counts.items():
            end = first
            for each in merged:
                end = None if end is None or each.counts_from(column) != end else end + each.run.rows
            if end is not None:
                self._counts[column], self._zones[column] = end - self.run.rows, (end - self.run.rows, end - 1)
        if self.run.rows == sum(each.run.rows for each in merged):
            for column in merged[0]._zones.keys() - self._zones.keys():
                self._zones[column] = _around([each.zone(column) for each in merged])

    def validate(self, expiry: int | None, before: int) -> None:
        """Check the run against its layout, its own payload and the expiry bound."""
        run = self.run
        assert len(run) and run.words.shape[1] == len(run.u), "columns differ in length"
        assert run.words.shape[1] == run.payload.num_rows or not run.payload.num_columns, "payload differs in length"
        assert run.is_sorted_by(self.layout.columns), "a run is not sorted"
        if expiry is not None:
            assert run.newest >= before, "an expired run was kept"
            assert run.words[expiry].max() <= run.newest, "newest is not the newest"

    @cached_property
    def leading(self) -> Words:
        """Return the column that the run is sorted by first."""
        return self.keys[0]

    @cached_property
    def fences(self) -> Fences:
        """Return the upper levels of the tree over the leading words."""
        return fences_of(self.leading)

    @cached_property
    def directory(self) -> Rows:
        """Return the hash directory of the equality word."""
        return directory_of(self.leading)


def _around(zones: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the zone around one or several."""
    return zones[0] if len(zones) == 1 else (min(low for low, _ in zones), max(high for _, high in zones))


def line_of(block: Block, column: int) -> tuple[int, int] | None:
    """Return (first word, step) if the words count up by one (step 1) or stand still (step 0); else None.

    Then a word follows from its row number and need not be looked up.
    """
    if column not in block.lines:
        words, (low, high) = block.words[column], block.limits[column]
        counts = high - low == len(words) - 1 and counts_up(words)
        block.lines[column] = (low, 0) if low == high else (low, 1) if counts else None
    return block.lines[column]


def counts_from(block: Block, column: int, first: int) -> bool:
    """Tell whether the words count up by one from `first` on."""
    line = line_of(block, column)
    return line == (first, 1) or (line == (first, 0) and len(block) == 1)


class Framing:
    """The frame of an index: chosen when a probe first asks for it, and again when keys or rows outgrow it.

    A new frame means packing every run again. So there is none as long as fewer rows came since the last one than half
    of those held: then keys and rows lie apart. All of it derives from the runs, and answers do not depend on it.
    """

    def __init__(self, column: int) -> None:
        self._column = column
        self._frame: Frame | None = None
        self._asked = False
        self._came = 0

    def of(self, runs: Sequence[IndexedRun]) -> Frame | None:
        """Return the frame for a probe of these runs; None if keys spread too far."""
        if not self._asked:
            self._asked = True
            self._choose([held.zone(self._column) for held in runs], sum(held.run.rows for held in runs))
        return self._frame

    def with_block(self, runs: Sequence[IndexedRun], block: Block) -> Frame | None:
        """Return the frame for a block that joins these runs; None as long as no probe has asked for one."""
        if not self._asked:
            return None
        self._came += len(block)
        zone, rows = block.limits[self._column], len(block) + sum(held.run.rows for held in runs)
        if self._frame is None or not self._frame.holds(*zone, rows):
            self._frame = None
            if 2 * self._came >= rows:
                self._choose([zone, *(held.zone(self._column) for held in runs)], rows)
        return self._frame

    def _choose(self, zones: Sequence[tuple[int, int]], rows: int) -> None:
        """Choose a frame with as much room again for keys and rows to come; without, if it must be."""
        self._came = 0
        low, high = min(low for low, _ in zones), max(high for _, high in zones)
        room = (high - low) // 2
        self._frame = frame_of(low - room, high + room, 2 * rows) or frame_of(low, high, rows)
