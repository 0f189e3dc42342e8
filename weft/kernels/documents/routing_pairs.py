"""Which tasks a document goes to: the tasks of its pairs, or all of them if it has a pair that nobody owns.

An expanded attribute (004-28) replaces the pairs of several attributes by one synthetic pair; a document that lacks one of
these attributes goes everywhere. Both originals leave the routing, not the join (004-29). Documents that have all of these
attributes and join agree on them, so the synthetic pair could route them `alone`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel
from weft.types import Words

__all__ = ["routed", "routing_pairs"]


@kernel
def _mixed(state: np.uint64, word: int) -> np.uint64:
    state = (state ^ np.uint64(word)) * np.uint64(0xFF51AFD7ED558CCD)
    return state ^ (state >> np.uint64(32))


@kernel
def routing_pairs(
    offsets: Words, attrs: Words, pairs: Words, expansion: Words, alone: bool
) -> tuple[Words, Words, NDArray[np.bool_]]:  # fmt: skip
    """Return the pairs that route each document, in CSR form, and which documents lack an expanded attribute."""
    n = len(offsets) - 1
    made, out, lacking = np.zeros(n + 1, np.int64), np.empty(len(pairs) + n, np.int64), np.zeros(n, np.bool_)
    count = 0
    for d in range(n):
        a, b = offsets[d], offsets[d + 1]
        state, found = np.uint64(0x9E3779B97F4A7C15), 0
        for e in range(len(expansion)):
            for i in range(a, b):
                if attrs[i] == expansion[e]:
                    state = _mixed(state, pairs[i])
                    found += 1
                    break
        whole = found == len(expansion)
        lacking[d] = not whole
        if whole and found > 0:
            out[count] = np.int64(state)
            count += 1
        for i in range(a, b):
            used = whole and alone and found > 0
            if whole:
                for e in range(len(expansion)):
                    used |= attrs[i] == expansion[e]
            if not used:
                out[count] = pairs[i]
                count += 1
        made[d + 1] = count
    return made, out[:count].copy(), lacking


@kernel
def routed(
    offsets: Words, pairs: Words, lacking: NDArray[np.bool_], known: Words, masks: Words, everyone: Words,
    tasks: int, spread: bool,
) -> tuple[Words, Words]:  # fmt: skip
    """Return each document's tasks as bits, `[words, documents]`, and the number of its pairs that nobody owns.

    `known` ascends; `masks[w, k]` are the bits of pair `known[k]`. A document without pairs goes nowhere. With `spread` a pair
    that nobody owns belongs to the task that its hash names, instead of to all.
    """
    n, width = len(offsets) - 1, len(everyone)
    out, strange = np.zeros((width, n), np.int64), np.zeros(n, np.int64)
    for d in range(n):
        for i in range(offsets[d], offsets[d + 1]):
            low, high = 0, len(known)
            while low < high:
                middle = (low + high) // 2
                if known[middle] < pairs[i]:
                    low = middle + 1
                else:
                    high = middle
            if low < len(known) and known[low] == pairs[i]:
                for w in range(width):
                    out[w, d] |= masks[w, low]
            else:
                strange[d] += 1
                if spread:
                    task = np.int64((np.uint64(pairs[i]) >> np.uint64(17)) % np.uint64(tasks))
                    out[task // 64, d] |= np.int64(np.uint64(1) << np.uint64(task % 64))
        if offsets[d] < offsets[d + 1] and ((strange[d] > 0 and not spread) or lacking[d]):
            for w in range(width):
                out[w, d] = everyone[w]
    return out, strange
