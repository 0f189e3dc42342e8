"""Pairs that leave: row numbers become rows once, in chunks of as many bytes as memory has room for, however large rows are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.index import Matches
from weft.types import Block, Rows, Side, Words

__all__ = ["BYTES", "Pairs", "cuts", "pairs_of", "portions", "row_bytes"]

BYTES = 1 << 25
"""What the rows of one chunk of pairs take at most, and one pair more: a pair is never cut."""


@dataclass(frozen=True)
class Pairs:
    """Matched rows side by side; `swapped` marks an unordered pair that also holds the other way round."""

    left: pa.Table
    right: pa.Table
    swapped: pa.Array | None = None

    def __len__(self) -> int:
        return max(int(self.left.num_rows), int(self.right.num_rows))  # a table without columns has no rows


def pairs_of(side: Side, probe: Block, matches: Iterator[Matches]) -> Iterator[Pairs]:
    """Take the payload of both rows of every match; `side` is the probing side."""
    for match in portions(probe, matches):
        probing = probe.payload.take(pa.array(match.probe))
        stored = match.run.payload.take(pa.array(match.stored))
        yield Pairs(probing, stored) if side == "left" else Pairs(stored, probing)


def portions(probe: Block, matches: Iterator[Matches]) -> Iterator[Matches]:
    """Yield matches as they come, those of large rows in pieces."""
    for match in matches:
        if not len(match):
            continue
        sizes = row_bytes(probe.payload, match.probe) + row_bytes(match.run.payload, match.stored)
        for low, high in cuts(sizes, len(match)):
            whole = high - low == len(match)
            yield match if whole else Matches(match.run, match.probe[low:high], match.stored[low:high])


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
