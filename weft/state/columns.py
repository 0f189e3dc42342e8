"""Word columns in Arrow: written only when the payload does not say the same.

A key that is a plain payload column has its word in that column already, so it is neither shipped nor saved a second time;
the reader makes it again, which for numbers and timestamps is a look at the same bytes. Which words are left out, and what
they follow from, stands with the data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from weft.kernels import words_of
from weft.types import Words

__all__ = ["Derived", "note_of", "one_chunk", "read_words", "written_words"]

Derived = Mapping[int, int]
"""Word column to the payload column it follows from."""

_PREFIX = "_w"


def written_words(words: Words, derived: Derived) -> tuple[list[pa.Array], list[str]]:
    """Return the word columns that have to be written, and their names."""
    kept = [number for number in range(len(words)) if number not in derived]
    return [pa.array(words[number]) for number in kept], [f"{_PREFIX}{number}" for number in kept]


def note_of(derived: Derived) -> str:
    """Return what the reader must know about the words that were left out."""
    return json.dumps({str(word): column for word, column in sorted(derived.items())})


def read_words(
    names: Sequence[str], columns: Sequence[pa.Array], payload: Sequence[pa.Array], note: str, rows: int
) -> Words:
    """Put the written words and those that follow from the payload together again."""
    found = {
        int(name.removeprefix(_PREFIX)): column
        for name, column in zip(names, columns, strict=False)
        if name.startswith(_PREFIX)
    }
    derived = {int(word): column for word, column in json.loads(note).items()}
    words = np.empty((len(found) + len(derived), rows), np.int64)
    for number, column in found.items():
        words[number] = column.to_numpy()
    for number, place in derived.items():
        words[number] = words_of(payload[place], "value")[0]
    return words


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, without a copy if it is in one already."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
