"""Documents as arrays: the pairs of all documents one behind the other, with two words and a text each.

`attrs` are 64-bit hashes of attribute names (dotted paths), `pairs` of whole members, `"path":value` in one spelling, so
they mean the same in every process and need no dictionary. The members' text is the dictionary: who needs a name or a
value, or wants to be sure that two equal words are two equal values, reads it there.

A hash can collide. Two different values of one attribute with equal words are told apart by their text before a pair leaves;
two names with equal words when a tree is built or asked, and when documents are routed by an attribute. A tree is built and asked
by words. That is right as long as each word stands for one name and each pair word for one attribute, among the documents of the
tree and those that ask it; `Names` checks it against the text. Where it fails, which 64-bit words do about once in 10^9 data
sets, `Spoken` numbers names and pairs by what they say, and the tree is built anew of these numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.kernels.documents.attributes import codes_of, first_places, look_up, places_of, same_names
from weft.kernels.documents.json_scan import key_end, member_words
from weft.kernels.documents.unite import spaced
from weft.types import Rows, Words

__all__ = ["COLUMNS", "Coded", "Names", "Spoken", "names_of"]

COLUMNS = pa.schema(
    [
        pa.field("attrs", pa.large_list(pa.int64())),
        pa.field("pairs", pa.large_list(pa.int64())),
        pa.field("members", pa.large_list(pa.large_binary())),
    ]
)
"""Coded documents as Arrow columns: what travels, and what is kept."""


@dataclass(frozen=True)
class Coded:
    """Document `i` has the pairs `offsets[i]:offsets[i + 1]`; pair `k` has the text `text[ends[k]:ends[k + 1]]`."""

    offsets: Words
    attrs: Words
    pairs: Words
    ends: Words
    text: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Words:
        """Return how many pairs each document has."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Rows:
        """Return the document of each pair."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def spaced(self) -> NDArray[np.uint8]:
        """Return the text with a comma behind each member, so that a whole document is copied at once."""
        return spaced(self.ends, self.text)

    def bytes_of(self, rows: Rows) -> Words:
        """Return the bytes of the text of the named documents."""
        return np.asarray(self.ends[self.offsets[rows + 1]] - self.ends[self.offsets[rows]])

    def take(self, rows: Rows) -> Coded:
        """Return the named documents, in that order."""
        which, offsets = ranges(self.offsets, rows)
        bytes_of, ends = ranges(self.ends, which)
        return Coded(offsets, self.attrs[which], self.pairs[which], ends, self.text[bytes_of])

    def members(self, row: int) -> list[str]:
        """Return the members of one document, for people and tests."""
        return [
            bytes(self.text[self.ends[k] : self.ends[k + 1]]).decode()
            for k in range(self.offsets[row], self.offsets[row + 1])
        ]

    def to_table(self) -> pa.Table:
        """Return the columns `COLUMNS`, views of these arrays."""
        offsets = pa.array(self.offsets)
        buffers = [None, pa.py_buffer(self.ends), pa.py_buffer(self.text)]
        members = pa.Array.from_buffers(pa.large_binary(), len(self.attrs), buffers)
        columns = [
            pa.LargeListArray.from_arrays(offsets, v) for v in (pa.array(self.attrs), pa.array(self.pairs), members)
        ]
        return pa.table(columns, schema=COLUMNS)

    @staticmethod
    def of_members(column: pa.Array) -> Coded:
        """Return documents of which only the members are there: their words are computed anew."""
        offsets, ends, text = _members(column)
        return Coded(offsets, *member_words(ends, text), ends, text)

    @staticmethod
    def of_table(table: pa.Table) -> Coded:
        """Read the columns `COLUMNS` of a table, wherever they stand in it."""
        attrs, pairs, members = (_one(table.column(name)) for name in COLUMNS.names)
        if not len(attrs):
            return Coded.empty()
        start, bounds, text = _members(members)
        return Coded(start, attrs.flatten().to_numpy(), pairs.flatten().to_numpy(), bounds, text)

    @staticmethod
    def concat(parts: Sequence[Coded]) -> Coded:
        """Append documents."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Coded.empty()
        offsets, ends = _appended([p.offsets for p in parts]), _appended([p.ends for p in parts])
        attrs, pairs, text = (np.concatenate([getattr(p, name) for p in parts]) for name in ("attrs", "pairs", "text"))
        return Coded(offsets, attrs, pairs, ends, text)

    @staticmethod
    def empty(documents: int = 0) -> Coded:
        """Return documents without any pair."""
        none = np.zeros(0, np.int64)
        return Coded(np.zeros(documents + 1, np.int64), none, none, np.zeros(1, np.int64), np.zeros(0, np.uint8))


def ranges(offsets: Words, rows: Rows) -> tuple[Rows, Words]:
    """Return the positions `offsets[r]:offsets[r + 1]` of all named rows, one behind the other, and the new offsets."""
    sizes = offsets[rows + 1] - offsets[rows]
    made = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(sizes, out=made[1:])
    return np.arange(made[-1]) + np.repeat(offsets[rows] - made[:-1], sizes), made


def _appended(offsets: Sequence[Words]) -> Words:
    base, parts = 0, [np.zeros(1, np.int64)]
    for part in offsets:
        parts.append(part[1:] + base)
        base += int(part[-1])
    return np.concatenate(parts)


def _members(column: pa.Array) -> tuple[Words, Words, NDArray[np.uint8]]:
    """Return offsets, ends and text of a column of members, without a copy."""
    if not len(column):
        return np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.uint8)
    start = np.frombuffer(column.buffers()[1], np.int64, len(column) + 1, column.offset * 8)
    values = column.flatten()
    bounds = np.frombuffer(values.buffers()[1], np.int64, len(values) + 1, values.offset * 8)
    content = values.buffers()[2]
    text = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
    return start - start[0], bounds - bounds[0], text[bounds[0] : bounds[-1]]


def _one(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


@dataclass(frozen=True)
class Names:
    """The attribute words of some documents and where each one's name stands; `whole`: each word has one name."""

    coded: Coded
    words: Words
    place: Words
    whole: bool

    @classmethod
    def of(cls, coded: Coded) -> Names:
        """Gather the names of documents."""
        codes, words = codes_of(np.ascontiguousarray(coded.attrs))
        place = first_places(codes, len(words))
        return cls(coded, words, place, same_names(codes, coded.ends, coded.text, place, coded.ends, coded.text))

    def agree(self, others: Coded) -> bool:
        """Tell whether other documents mean the same by these words."""
        codes = look_up(self.words, np.ascontiguousarray(others.attrs))
        return bool(same_names(codes, others.ends, others.text, self.place, self.coded.ends, self.coded.text))


@dataclass(frozen=True)
class Spoken:
    """Numbers for names and pairs by their text; the same for all documents that were given to it. Slow, and rarely needed."""

    names: dict[bytes, int] = field(default_factory=dict)
    pairs: dict[bytes, int] = field(default_factory=dict)

    def words(self, coded: Coded) -> tuple[Words, Words]:
        """Return a number from 1 on for each pair's name, and one for the pair."""
        text, attrs, pairs = coded.text.tobytes(), np.empty_like(coded.attrs), np.empty_like(coded.pairs)
        for k in range(len(attrs)):
            a, b = int(coded.ends[k]), int(coded.ends[k + 1])
            attrs[k] = self.names.setdefault(text[a : key_end(coded.text, a)], len(self.names) + 1)
            pairs[k] = self.pairs.setdefault(text[a:b], len(self.pairs) + 1)
        return attrs, pairs

    def windows(self, buckets: Words) -> Words:
        """Return a number for each window, different from those of all pairs."""
        different, which = np.unique(buckets, return_inverse=True)
        numbers = [self.pairs.setdefault(b"window %d" % bucket, len(self.pairs) + 1) for bucket in different.tolist()]
        return np.array(numbers, np.int64)[which]


def names_of(coded: Coded, words: Words) -> dict[int, str]:
    """Return the quoted name of each word that the documents have (of several with the same word, one)."""
    found = places_of(words, coded.attrs)
    names: dict[int, str] = {}
    for word, at in zip(words.tolist(), found.tolist(), strict=True):
        if at >= 0:
            start = int(coded.ends[at])
            names[word] = coded.text[start : key_end(coded.text, start) + 1].tobytes().decode()
    return names
