"""The two yardsticks of FPTreeJoin (004-32), and the check that they share: whether two ranked documents join."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kernels.documents.attributes import Ranked
from weft.kernels.jit import kernel
from weft.types import Rows, Words

__all__ = ["hash_join", "inverted", "joins", "nested_loop"]


@kernel
def joins(offsets: Words, rank: NDArray[np.int32], pair: NDArray[np.int32], x: int, y: int) -> bool:
    """Tell whether two documents share a pair and conflict nowhere (004-01): one walk along both, ranks ascending."""
    i, j, shared = offsets[x], offsets[y], False
    x_end, y_end = offsets[x + 1], offsets[y + 1]
    while i < x_end and j < y_end:
        a, b = rank[i], rank[j]
        if a == b:
            if pair[i] != pair[j]:
                return False
            shared = True
            i += 1
            j += 1
        else:
            i += a < b
            j += b < a
    return shared


@kernel
def _nested(
    offsets: Words, rank: NDArray[np.int32], pair: NDArray[np.int32], limit: int, which: Rows, stored: Rows
) -> int:  # fmt: skip
    total, room = 0, len(which)
    for x in range(limit):
        for y in range(x + 1, len(offsets) - 1):
            if joins(offsets, rank, pair, x, y):
                if total < room:
                    which[total], stored[total] = x, y
                total += 1
    return total


@kernel
def inverted(offsets: Words, pair: NDArray[np.int32], pairs: int) -> tuple[Words, NDArray[np.int32]]:
    """Return for each pair the documents that have it, ascending, in CSR form."""
    start = np.zeros(pairs + 1, np.int64)
    for i in range(len(pair)):
        start[pair[i] + 1] += 1
    for p in range(pairs):
        start[p + 1] += start[p]
    at, docs = start[:-1].copy(), np.empty(len(pair), np.int32)
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            docs[at[pair[i]]] = d
            at[pair[i]] += 1
    return start, docs


@kernel
def _hashed(
    offsets: Words, rank: NDArray[np.int32], pair: NDArray[np.int32], start: Words, docs: NDArray[np.int32], limit: int,
    which: Rows, stored: Rows,
) -> int:  # fmt: skip
    total, room = 0, len(which)
    seen = np.full(len(offsets) - 1, -1, np.int32)
    at = start[:-1].copy()  # the first document of each list that comes behind the present one
    for x in range(limit):
        for i in range(offsets[x], offsets[x + 1]):
            at[pair[i]] += 1
            for k in range(at[pair[i]], start[pair[i] + 1]):
                y = docs[k]
                if seen[y] != x:
                    seen[y] = x
                    if joins(offsets, rank, pair, x, y):
                        if total < room:
                            which[total], stored[total] = x, y
                        total += 1
    return total


def nested_loop(docs: Ranked, room: int = 0, limit: int | None = None) -> tuple[int, Rows, Rows]:
    """NLJ: compare every document with all behind it. Return the number of pairs and up to `room` of them.

    `limit` stops after that many outer documents: the rest of the time follows from the number of comparisons.
    """
    which, stored = np.empty(room, np.int64), np.empty(room, np.int64)
    total = _nested(docs.offsets, docs.rank, docs.pair, len(docs) if limit is None else limit, which, stored)
    return total, which[:total], stored[:total]


def hash_join(docs: Ranked, pairs: int, room: int = 0, limit: int | None = None) -> tuple[int, Rows, Rows]:
    """HBJ: an inverted index on single pairs, then the conflict check, each candidate once."""
    which, stored = np.empty(room, np.int64), np.empty(room, np.int64)
    start, lists = inverted(docs.offsets, docs.pair, pairs)
    limit = len(docs) if limit is None else limit
    total = _hashed(docs.offsets, docs.rank, docs.pair, start, lists, limit, which, stored)
    return total, which[:total], stored[:total]
