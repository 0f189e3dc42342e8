"""Rows in the order of their content: for inputs whose rows arrive in another order when they are computed again.

Draws and row numbers follow from a row's position. Behind a shuffle the position is chance, because blocks are fetched as
they come: a partition that is computed twice, after the loss of an executor, would be routed in two ways. So its rows are
brought into an order that depends on nothing but the rows: that of a hash of the whole row. Rows with equal hashes are alike,
and it does not matter which of them comes first.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels import checksum, mix_words, order_of, words_of
from weft.state import one_chunk
from weft.types import Words

__all__ = ["content_digest", "in_content_order", "row_hashes"]


def in_content_order(table: pa.Table) -> tuple[pa.Table, str]:
    """Return a partition in the order of its content, and a digest of that.

    >>> one, digest = in_content_order(pa.table({"x": [3, 1, 2], "s": ["a", None, "b"]}))
    >>> two, same = in_content_order(pa.table({"x": [2, 3, 1], "s": ["b", "a", None]}))
    >>> one == two, digest == same
    (True, True)
    """
    hashes = row_hashes(table)
    order = order_of([hashes])
    return table.take(pa.array(order)), checksum(hashes[order].tobytes())


def content_digest(table: pa.Table) -> str:
    """Return a digest of all values of a partition whose rows come in one order, but may not have the same values again."""
    return checksum(row_hashes(table).tobytes())


def row_hashes(table: pa.Table) -> Words:
    """Return one hash word per row, over all of its columns."""
    columns = [_hashes(one_chunk(column)) for column in table.columns]
    return mix_words(columns) if columns else np.zeros(table.num_rows, np.int64)


def _hashes(array: pa.Array) -> Words:
    """Return a hash per value; NULL has one of its own, and values that only compare as equal have different ones."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    words = _values(array)
    if not array.null_count:
        return mix_words([words])
    valid = np.asarray(array.is_valid())
    return mix_words([np.where(valid, words, 0), valid.astype(np.int64)])


def _values(array: pa.Array) -> Words:
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_floating(kind):  # by their bits: 0.0 and -0.0 are not the same row
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]
        return words_of(array.view(bits), "value")[0]
    if pa.types.is_struct(kind):
        fields = [_hashes(field) for field in array.flatten()]
        return mix_words(fields) if fields else np.zeros(len(array), np.int64)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return _lists(array)
    if pa.types.is_decimal(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind):
        return words_of(array, "hash")[0]
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return words_of(array, "hash")[0]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        return words_of(array, "value")[0]
    return words_of(pa.array([repr(value) for value in array.to_pylist()], pa.string()), "hash")[0]


def _lists(array: pa.Array) -> Words:
    """Add up the hashes of a list's elements, each mixed with its place in the list."""
    if pa.types.is_map(array.type):
        entry = pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])
        array = array.cast(pa.list_(entry))
    inner = _hashes(pc.list_flatten(array))  # those of lists that are not NULL
    parent = pc.list_parent_indices(array).to_numpy().astype(np.int64, copy=False)
    place = np.arange(len(parent), dtype=np.int64) - np.searchsorted(parent, parent)
    total, size = np.zeros(len(array), np.int64), np.bincount(parent, minlength=len(array))
    np.add.at(total, parent, mix_words([inner, place]))  # sums wrap around
    return mix_words([total, size.astype(np.int64)])
