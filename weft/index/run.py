"""A run: immutable rows of one side; and the layout, the order that an access path wants them in.

Rows stay in the parts they arrived in; `row[i]` says which of them is the i-th in index order. So sorting and merging
move row numbers and one key, never the rows. A run that was made of packed words has the row numbers in them.
Seen as one block (`words`, `u`, `payload`) a run of several parts is put together on first use.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from weft.kernels.packed import Packed
from weft.spec.terms import Access
from weft.types import U32, WORD_MIN, Block, Bools, Rows, Words, all_flags

__all__ = ["Layout", "Run"]


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
