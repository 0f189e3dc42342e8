"""What pairs leave with: the columns that somebody reads, once texts that have one hash are known to be equal.

Words of texts are hashes, so a pair that a search found may be none. Its texts are compared where they lie, by row number: the
rows are taken afterwards, and only the columns that are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.index import Matches
from weft.kernels import same_text
from weft.types import Rows, Side

__all__ = ["TEXTS", "Leaving"]

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
