"""Who a row is: batch, map partition and position, which a replay keeps, and the key of a pair made of both.

The position is that of the row in its partition of the batch as it is routed: behind a shuffle, its position by content. Spark
may number the partitions of a replayed batch anew (those of Kafka come in the order of a hash map), so a partition's number is
its rank among all of its side by a digest of its rows; partitions with equal digests are alike, and any of them may be first.
Both numbers are the last two columns of the payload, and only where somebody asks for the key.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.engine.content_order import row_hashes
from weft.engine.pairs import Pairs
from weft.kernels import mix_words

__all__ = ["ROW_ID", "digest_of", "identified", "numbered", "ranked"]

ROW_ID = ("row batch", "row place")
"""The two columns: the batch, and partition and position in one number."""

_POSITION = 40
"""Bits of the position."""


def numbered(payload: pa.Table, batch: int, first: int) -> pa.Table:
    """Fill in batch and position; the `first` row has that position."""
    rows, kept = payload.num_rows, payload.num_columns - len(ROW_ID)
    places = np.arange(first, first + rows, dtype=np.int64)
    columns = [*payload.columns[:kept], pa.array(np.full(rows, batch, np.int64)), pa.array(places)]
    return pa.table(columns, schema=payload.schema)


def digest_of(table: pa.Table, first: int) -> int:
    """Return a digest of rows and their positions; those of the pieces of a partition add up."""
    positions = np.arange(first, first + table.num_rows, dtype=np.int64)
    return int(mix_words([row_hashes(table), positions]).sum(dtype=np.int64))


def ranked(payload: pa.Table, rank: int) -> pa.Table:
    """Fill in the number of the partition."""
    places = np.asarray(payload.column(payload.num_columns - 1)) + (np.int64(rank) << np.int64(_POSITION))
    return pa.table([*payload.columns[:-1], pa.array(places)], schema=payload.schema)


def identified(pairs: Pairs, prefix: str) -> Pairs:
    """Return pairs without the numbers of their rows and with the key made of them; an absent row has none.

    >>> schema = pa.schema([("x", pa.int64()), *((name, pa.int64()) for name in ROW_ID)])
    >>> row = ranked(numbered(pa.table([[7], [0], [0]], schema=schema), batch=12, first=41), 3)
    >>> alone = pa.table([pa.nulls(1, field.type) for field in schema], schema=schema)
    >>> [identified(Pairs(*both), "5f0c").ids.to_pylist() for both in ((row, row), (row, alone), (alone, row))]
    [['5f0c-12.3.41-12.3.41'], ['5f0c-12.3.41-'], ['5f0c--12.3.41']]
    """
    words = [pa.scalar(prefix)] if prefix else []
    rows = [_words(table, len(pairs)) for table in (pairs.left, pairs.right)]
    ids = pc.binary_join_element_wise(*words, *rows, "-")
    left, right = (table.select(table.column_names[: -len(ROW_ID)]) for table in (pairs.left, pairs.right))
    return replace(pairs, left=left, right=right, ids=ids)


def _words(table: pa.Table, rows: int) -> pa.ChunkedArray:
    """Return the numbers of rows as text."""
    if not table.num_columns:  # a side that does not leave
        return pa.chunked_array([pa.array([""] * rows, pa.string())])
    batch, place = table.columns[-len(ROW_ID) :]
    position = pc.bit_wise_and(place, pa.scalar((1 << _POSITION) - 1, pa.int64()))
    numbers = (batch, pc.shift_right(place, pa.scalar(_POSITION, pa.int64())), position)
    return pc.binary_join_element_wise(*[number.cast(pa.string()) for number in numbers], ".").fill_null("")
