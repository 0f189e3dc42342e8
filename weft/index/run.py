"""A run: immutable rows of one side, their words sorted for the access path.

Words and `u` are in index order; the payload stays in arrival order, and `row[i]` says which payload row the i-th
sorted row is. So sorting never moves payload, and merging two runs only appends it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from weft.types import U32, WORD_MIN, Rows, Words

__all__ = ["Run"]


@dataclass(frozen=True)
class Run:
    """Sorted words with a reference to their payload.

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
        """Return the bytes of words, draws, references and payload."""
        return int(self.words.nbytes + self.u.nbytes + self.row.nbytes + self.payload.nbytes)

    def is_sorted_by(self, columns: tuple[int, ...]) -> bool:
        """Tell whether the words ascend lexicographically by the named columns."""
        if not columns or len(self) < 2:
            return True
        order = np.lexsort([self.words[column] for column in reversed(columns)])
        return all(bool((self.words[c][order] == self.words[c]).all()) for c in columns)
