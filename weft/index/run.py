"""A run: immutable rows of one side, and the order that an access path wants them in.

Words, draws and payload stay as they arrived; `row[i]` says which of them is the i-th in index order. So sorting and
merging move row numbers and one key, never the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from weft.types import U32, WORD_MIN, Rows, Words

__all__ = ["Run"]


@dataclass(frozen=True)
class Run:
    """Rows as they arrived, with their index order.

    Rows that `row` does not name have expired; they are there until the run is compacted.
    `newest` is the greatest expiry word (WORD_MIN without expiry): the run can go when that has expired.
    `span` is, for interval access with the interval on this side, the greatest `hi - lo` (0 otherwise).
    `segment` is the name of the file that holds the run, "" while none does.
    """

    words: Words
    u: U32
    row: Rows
    payload: pa.Table
    newest: int = WORD_MIN
    span: int = 0
    segment: str = field(default="", compare=False)

    def __len__(self) -> int:
        return len(self.row)

    @property
    def nbytes(self) -> int:
        """Return the bytes of words, draws, order and payload."""
        return int(self.words.nbytes + self.u.nbytes + self.row.nbytes + self.payload.nbytes)

    def sorted_by(self, columns: tuple[int, ...]) -> tuple[Words, ...]:
        """Return word columns in index order."""
        return tuple(self.words[column][self.row] for column in columns)

    def is_sorted_by(self, columns: tuple[int, ...]) -> bool:
        """Tell whether the index order ascends lexicographically by the named columns."""
        keys = self.sorted_by(columns)
        if not keys or len(self) < 2:
            return True
        order = np.lexsort(keys[::-1])
        return all(bool((key[order] == key).all()) for key in keys)

    def compacted(self) -> Run:
        """Return the run without the rows that have expired."""
        if len(self.row) == len(self.u):
            return self
        alive = np.sort(self.row)
        number = np.empty(len(self.u), np.int64)
        number[alive] = np.arange(len(alive))
        payload = self.payload.take(pa.array(alive))
        return Run(self.words[:, alive], self.u[alive], number[self.row], payload, self.newest, self.span)
