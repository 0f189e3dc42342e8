"""A sample of documents as a partitioner sees it: sets of routing pairs, and which documents have each pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.kernels.doc_rank import codes_of
from weft.kernels.doc_route import routing_pairs
from weft.types import Rows, Words

__all__ = ["Sample", "expansion_for"]

_MOST = 16
"""So many attributes are concatenated at most: each is looked for in every document."""


@dataclass(frozen=True)
class Sample:
    """Documents in CSR form; `known` are the distinct pairs, `codes` their numbers, `lacking` who goes everywhere anyway."""

    offsets: Words
    words: Words
    lacking: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @classmethod
    def of(
        cls, offsets: Words, attrs: Words, pairs: Words, expansion: Sequence[int] = (), alone: bool = False
    ) -> Sample:
        """Return the documents as they are routed under an expansion."""
        return cls(*routing_pairs(offsets, attrs, pairs, np.array(expansion, np.int64), alone))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def coded(self) -> tuple[Rows, Words]:
        """Return the code of each pair, and the distinct pairs by code."""
        codes, known = codes_of(self.words)
        return codes.astype(np.int64), known

    @cached_property
    def rows(self) -> Rows:
        """Return the document of each pair."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def documents(self) -> list[Rows]:
        """Return for each pair the documents that have it, ascending (avInD turned around, 004-05)."""
        codes, known = self.coded
        order = np.argsort(codes, kind="stable")
        return (
            np.split(self.rows[order], np.cumsum(np.bincount(codes, minlength=len(known)))[:-1]) if len(known) else []
        )


def expansion_for(offsets: Words, attrs: Words, pairs: Words, tasks: int, alone: bool = False) -> tuple[int, ...]:
    """Return the attributes to concatenate, () if there is no disabling attribute (004-28, 004-29).

    The disabling attribute is in all documents and has fewer distinct values than there are tasks (of several, the one of
    fewest); combining attributes follow, those of most documents first, then of fewest values, until the concatenation has
    enough distinct values (or `_MOST` attributes: of documents that are all alike, no number of them is enough). Distinct
    *concatenated* values are counted, not the sum of the parts. If the expansion is to route `alone`, an attribute of all
    documents with enough values is one by itself.
    """
    documents = len(offsets) - 1
    codes, words = codes_of(attrs)
    if not documents or tasks < 2:
        return ()
    values, known = codes_of(pairs)
    attr_of = np.zeros(len(known), np.int64)
    attr_of[values] = codes
    frequency, variety = np.bincount(codes, minlength=len(words)), np.bincount(attr_of, minlength=len(words))
    if alone and ((frequency == documents) & (variety >= tasks)).any():
        return (int(words[np.lexsort((words, -variety, frequency != documents))[0]]),)
    disabling = np.flatnonzero((frequency == documents) & (variety < tasks))
    if not len(disabling):
        return ()
    first = disabling[np.lexsort((words[disabling], variety[disabling]))[0]]
    chosen, rows = [int(first)], np.repeat(np.arange(documents), np.diff(offsets))
    following = [int(a) for a in np.lexsort((words, variety, -frequency)) if a != first]
    value = np.full((documents, 1), -1, np.int64)
    value[rows[codes == first], 0] = values[codes == first]
    while _distinct(value) < tasks and following and len(chosen) < _MOST:
        chosen.append(following.pop(0))
        column = np.full(documents, -1, np.int64)
        here = codes == chosen[-1]
        column[rows[here]] = values[here]
        value = np.column_stack([value, column])
    return tuple(int(words[a]) for a in chosen) if len(chosen) > 1 else ()


def _distinct(value: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> int:
    whole = value[(value >= 0).all(axis=1)]
    return len(np.unique(whole, axis=0)) if len(whole) else 0
