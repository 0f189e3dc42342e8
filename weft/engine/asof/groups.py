"""Rows of both sides that are equal in their `by` columns get the same number; no hash is taken for what it stands for."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.kernels.asof import number_texts, number_words
from weft.kernels.words import decimal_words
from weft.spec.asof import GroupColumn
from weft.state import one_chunk
from weft.types import Bools, Words

__all__ = ["I32", "NONE", "Groups", "HasWords", "fixed", "group_rows"]

Number = TypeVar("Number", bound=np.generic)
I32 = NDArray[np.int32]
NONE: I32 = np.zeros(0, np.int32)
"""Of an order: that of the rows. Of groups: all rows are one."""
_ALL: Bools = np.zeros(0, np.bool_)


class HasWords(Protocol):
    """Rows as words, one array per column, with their payload."""

    @property
    def words(self) -> Words: ...
    @property
    def payload(self) -> pa.Table: ...


class Groups(NamedTuple):
    """The group of each row of both sides (-1: of none), and the number of groups."""

    left: I32
    right: I32
    number: int


def fixed(array: NDArray[Number]) -> NDArray[Number]:
    """Return an array that nobody may write to, as what Arrow has received: kernels are compiled for one kind alone."""
    found = array.view()
    found.flags.writeable = False
    return found


def group_rows(by: tuple[GroupColumn, ...], left: HasWords, right: HasWords) -> Groups:
    """Number the groups of the right side; left rows of any other group are of none."""
    found: Groups | None = None
    for column in by:
        for one in _numbered(column, left, right):
            found = one if found is None else _both(found, one)
    return Groups(NONE, NONE, 1) if found is None else found


def _numbered(column: GroupColumn, left: HasWords, right: HasWords) -> list[Groups]:
    if column.exact:
        numbers = number_words(fixed(right.words[column.right]), _ALL, fixed(left.words[column.left]), _ALL)
        return [Groups(numbers[1], numbers[0], numbers[2])]
    one, two = one_chunk(left.payload.column(column.left)), one_chunk(right.payload.column(column.right))
    if pa.types.is_decimal(one.type):  # wider than a word
        valid = _valid(two), _valid(one)
        halves = zip(decimal_words(one), decimal_words(two), strict=True)
        found = [number_words(fixed(two_), valid[0], fixed(one_), valid[1]) for one_, two_ in halves]
        return [Groups(numbers[1], numbers[0], numbers[2]) for numbers in found]
    (left_ends, left_text), (right_ends, right_text) = _text(one), _text(two)
    found_ = number_texts(right_ends, right_text, _valid(two), left_ends, left_text, _valid(one))
    return [Groups(found_[1], found_[0], found_[2])]


def _both(one: Groups, two: Groups) -> Groups:
    """Number the pairs of groups."""
    count = np.int64(max(two.number, 1))
    left, right = (a.astype(np.int64) * count + b for a, b in ((one.left, two.left), (one.right, two.right)))
    there = [(a >= 0) & (b >= 0) for a, b in ((one.left, two.left), (one.right, two.right))]
    numbers = number_words(fixed(right), there[1], fixed(left), there[0])
    return Groups(numbers[1], numbers[0], numbers[2])


def _valid(array: pa.Array) -> Bools:
    return np.asarray(array.is_valid()).astype(np.bool_) if array.null_count else _ALL


def _text(array: pa.Array) -> tuple[Words, NDArray[np.uint8]]:
    """Return where the texts of a column begin and end, and their bytes."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    array = array.cast(pa.large_binary())
    if not len(array):
        return fixed(np.zeros(1, np.int64)), fixed(np.zeros(0, np.uint8))
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
    return fixed(ends), fixed(np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8))
