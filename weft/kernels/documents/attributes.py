"""Attributes of documents: dense codes, names, ranks, and each document in the global order of its attributes.

The order is 004-14: attributes of most documents first, then of fewest distinct values, then by word (the paper leaves the
last tie open; a word is as good as a name and the same in every process).

Whether equal words are equal names is told by the names themselves: they are compared as text, once per pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kernels.documents.json_scan import key_end
from weft.kernels.jit import kernel
from weft.kernels.llvm import equal
from weft.types import Rows, Words

__all__ = [
    "AttributeOrder", "Ranked", "codes_of", "first_places", "look_up", "named_otherwise", "order_attributes", "places_of",
    "ranked", "same_names", "taken", "translated",
]  # fmt: skip

I32 = NDArray[np.int32]
Bytes = NDArray[np.uint8]
UNKNOWN = -1


class Ranked(NamedTuple):
    """Documents in CSR form: `rank` (of the attribute, ascending within a document) and `pair`, a dense code.

    A pair that the order does not know is `UNKNOWN`: it can only conflict. An attribute that it does not know is left out: it
    can neither conflict nor be shared.
    """

    offsets: Words
    rank: I32
    pair: I32

    def __len__(self) -> int:
        return len(self.offsets) - 1


class AttributeOrder(NamedTuple):
    """The attributes by rank and the pairs by code, as words."""

    attrs: Words
    pairs: Words
    everywhere: int
    """So many of the first attributes are in all documents (`num` of 004-17)."""


@kernel
def codes_of(words: Words) -> tuple[I32, Words]:
    """Number the distinct words in order of appearance; return the code of each word, and the words by code."""
    size = 16
    while size < 2 * len(words):
        size *= 2
    slots = np.full(size, -1, np.int32)
    codes, known, count = np.empty(len(words), np.int32), np.empty(len(words), np.int64), 0
    mask = np.int64(size - 1)
    for i in range(len(words)):
        word = words[i]
        at = np.int64(np.uint64(word) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & mask
        while slots[at] >= 0 and known[slots[at]] != word:
            at = (at + 1) & mask
        if slots[at] < 0:
            slots[at] = count
            known[count] = word
            count += 1
        codes[i] = slots[at]
    return codes, known[:count].copy()


@kernel
def _sort_documents(offsets: Words, rank: I32, pair: I32) -> None:
    """Sort each document's pairs by rank, in place."""
    for d in range(len(offsets) - 1):
        a, b = offsets[d], offsets[d + 1]
        if b - a <= 64:
            for i in range(a + 1, b):
                r, p, k = rank[i], pair[i], i
                while k > a and rank[k - 1] > r:
                    rank[k], pair[k] = rank[k - 1], pair[k - 1]
                    k -= 1
                rank[k], pair[k] = r, p
        else:
            order = np.argsort(rank[a:b], kind="mergesort")
            rank[a:b] = rank[a:b][order]
            pair[a:b] = pair[a:b][order]


def ranked(offsets: Words, attrs: Words, pairs: Words, first: int | None = None) -> tuple[Ranked, AttributeOrder]:
    """Find the order of these documents, and put them into it; `first` names an attribute that comes before all others."""
    attr_code, attr_words = codes_of(np.ascontiguousarray(attrs))
    pair_code, pair_words = codes_of(np.ascontiguousarray(pairs))
    by_rank, everywhere = order_attributes(attr_code, attr_words, pair_code, len(pair_words), len(offsets) - 1)
    if first is not None:
        here = attr_words[by_rank] == first
        by_rank = np.concatenate([by_rank[here], by_rank[~here]])
    rank_of = np.empty(len(attr_words), np.int32)
    rank_of[by_rank] = np.arange(len(attr_words), dtype=np.int32)
    rank, pair = rank_of[attr_code], pair_code.copy()
    _sort_documents(offsets, rank, pair)
    return Ranked(offsets, rank, pair), AttributeOrder(attr_words[by_rank], pair_words, everywhere)


def taken(docs: Ranked, rows: Rows) -> Ranked:
    """Return the named documents, in that order."""
    sizes = docs.offsets[rows + 1] - docs.offsets[rows]
    made = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(sizes, out=made[1:])
    which = np.arange(made[-1]) + np.repeat(docs.offsets[rows] - made[:-1], sizes)
    return Ranked(made, docs.rank[which], docs.pair[which])


def order_attributes(
    attr_code: I32, attr_words: Words, pair_code: I32, pairs: int, documents: int
) -> tuple[Rows, int]:  # fmt: skip
    """Return the attributes in the order of 004-14, and how many of them are in all documents."""
    frequency = np.bincount(attr_code, minlength=len(attr_words))
    attr_of = np.zeros(pairs, np.int64)
    attr_of[pair_code] = attr_code
    variety = np.bincount(attr_of, minlength=len(attr_words))
    by_rank = np.lexsort((attr_words, variety, -frequency))
    return by_rank, int((frequency == documents).sum()) if documents else 0


@kernel
def _translate(
    offsets: Words, rank: I32, pair: I32
) -> tuple[Words, I32, I32]:  # fmt: skip
    """Leave out the attributes without a rank."""
    made, kept = np.zeros(len(offsets), np.int64), 0
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            if rank[i] >= 0:
                rank[kept], pair[kept] = rank[i], pair[i]
                kept += 1
        made[d + 1] = kept
    return made, rank[:kept].copy(), pair[:kept].copy()


@kernel
def look_up(known: Words, words: Words) -> I32:
    """Return the position of each word among the known ones, -1 for the others."""
    size = 16
    while size < 2 * len(known):
        size *= 2
    slots = np.full(size, -1, np.int32)
    mask = np.int64(size - 1)
    for i in range(len(known)):
        at = np.int64(np.uint64(known[i]) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & mask
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = i
    found = np.empty(len(words), np.int32)
    for i in range(len(words)):
        at = np.int64(np.uint64(words[i]) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & mask
        while slots[at] >= 0 and known[slots[at]] != words[i]:
            at = (at + 1) & mask
        found[i] = slots[at]
    return found


def translated(offsets: Words, attrs: Words, pairs: Words, order: AttributeOrder) -> Ranked:
    """Put other documents into an order that was found without them."""
    rank = look_up(order.attrs, np.ascontiguousarray(attrs))
    pair = look_up(order.pairs, np.ascontiguousarray(pairs))
    made = Ranked(*_translate(offsets, rank, pair))
    _sort_documents(made.offsets, made.rank, made.pair)
    return made


@kernel
def first_places(codes: NDArray[np.int32], count: int) -> Words:
    """Return where each code stands first."""
    place = np.full(count, -1, np.int64)
    for k in range(len(codes)):
        if place[codes[k]] < 0:
            place[codes[k]] = k
    return place


@kernel
def places_of(words: Words, attrs: Words) -> Words:
    """Return where each of the ascending words stands first, -1 where it does not; mostly the first documents have them all."""
    place, found = np.full(len(words), -1, np.int64), 0  # the words ascend
    for k in range(len(attrs)):
        if found == len(words):
            break
        w = np.searchsorted(words, attrs[k])
        if w < len(words) and words[w] == attrs[k] and place[w] < 0:
            place[w] = k
            found += 1
    return place


@kernel
def same_names(
    codes: NDArray[np.int32], ends: Words, text: Bytes, place: Words, known_ends: Words, known_text: Bytes
) -> bool:  # fmt: skip
    """Tell whether each member has the name of the known member `place[code]`; a negative code is not asked."""
    size = np.empty(len(place), np.int64)  # of the names, with both quotes
    for c in range(len(place)):
        size[c] = key_end(known_text, known_ends[place[c]]) + 1 - known_ends[place[c]]
    for k in range(len(codes)):
        c = codes[k]
        if c >= 0:
            a, b = ends[k], known_ends[place[c]]
            if ends[k + 1] - a <= size[c] or not equal(text, a, a + size[c], known_text, b, b + size[c]):
                return False
    return True


@kernel
def named_otherwise(attrs: Words, ends: Words, text: Bytes, words: Words, name_ends: Words, names: Bytes) -> Words:
    """Return the attribute words, changed where one is among `words` but its name (quoted) is not the one given for it."""
    out = attrs.copy()
    for k in range(len(attrs)):
        for w in range(len(words)):
            if attrs[k] == words[w]:
                a, size = ends[k], name_ends[w + 1] - name_ends[w]
                here = ends[k + 1] - a > size and equal(text, a, a + size, names, name_ends[w], name_ends[w + 1])
                while not here and (words == out[k]).any():
                    out[k] += 1
    return out
