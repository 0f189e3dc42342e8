"""Two documents become one: the attributes they share, and the united document as text.

Candidates were found by hashes. Here every shared attribute's member is compared byte by byte, and a candidate with a difference
is dropped, so no collision of values reaches a result; two names with one word are told apart by their text. Small documents are
compared pair by pair; of large ones one is sorted, so the work follows the size of what leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kernels.documents.json_scan import key_end
from weft.kernels.jit import kernel
from weft.kernels.llvm import copied, equal
from weft.types import Rows, Words

__all__ = ["Composed", "compose", "spaced"]

Bytes = NDArray[np.uint8]


class Composed(NamedTuple):
    """The candidates that hold, with their shared names (CSR over text) and their united text."""

    kept: Rows
    offsets: Words
    name_ends: Words
    names: Bytes
    text_ends: Words
    text: Bytes


_NESTED = 1 << 12
"""Two documents are compared pair by pair up to so many comparisons; beyond them, one of them is sorted."""


@kernel
def _compared(xe: Words, xt: Bytes, p: int, ye: Words, yt: Bytes, q: int) -> int:
    """Compare members whose names have one word: return the name's size if they are equal, -1 if only the names are, else 0."""
    a, b = xe[p] + p, ye[q] + q
    a1, b1 = xe[p + 1] + p, ye[q + 1] + q
    size = key_end(xt, a) + 1 - a  # with both quotes
    if equal(xt, a, a1, yt, b, b1):
        return size
    same_name = b1 - b > size and equal(xt, a, a + size, yt, b, b + size)
    return -1 if same_name else 0  # two names with one word: two attributes


@kernel
def spaced(ends: Words, text: Bytes) -> Bytes:
    """Return the text with a comma behind each member: member `k` begins at `ends[k] + k`, a document is one piece."""
    n = len(ends) - 1
    out = np.empty(ends[n] - ends[0] + n, np.uint8)
    for k in range(n):
        pos = copied(text, ends[k], ends[k + 1], out, ends[k] + k)
        out[pos] = 44
    return out


@kernel
def compose(
    xo: Words, xa: Words, xe: Words, xt: Bytes, yo: Words, ya: Words, ye: Words, yt: Bytes, xs: Rows, ys: Rows
) -> Composed:  # fmt: skip
    """Unite documents `xs[i]` of one set with `ys[i]` of another, the first one's members first; texts are spaced."""
    n, room, names_room, count_room, most = len(xs), 0, 0, 0, 0
    for i in range(n):
        x, y = xs[i], ys[i]
        k, other = xo[x + 1] - xo[x], yo[y + 1] - yo[y]
        bytes_x = xe[xo[x + 1]] - xe[xo[x]]
        room += bytes_x + ye[yo[y + 1]] - ye[yo[y]] + k + other + 2
        most = max(most, other)
        names_room += bytes_x
        count_room += k
    kept, offsets, text_ends = np.empty(n, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    name_ends, names, text = (
        np.zeros(count_room + 1, np.int64),
        np.empty(names_room, np.uint8),
        np.empty(room, np.uint8),
    )
    made, sorted_of = 0, -1
    order, words = np.empty(0, np.int64), np.empty(0, np.int64)
    met = np.full(most, -1, np.int64)  # the last candidate that has this member of its second document in its first
    for i in range(n):
        x, y = xs[i], ys[i]
        x0, x1, y0, y1 = xo[x], xo[x + 1], yo[y], yo[y + 1]
        large = (x1 - x0) * (y1 - y0) > _NESTED
        if large and sorted_of != y:
            order = np.argsort(ya[y0:y1], kind="mergesort")
            words, sorted_of = ya[y0:y1][order], y
        count, holds = offsets[made], True
        at = name_ends[count]
        for p in range(x0, x1):
            k, word = np.searchsorted(words, xa[p]) if large else 0, xa[p]
            while True:
                while not large and k < y1 - y0 and ya[y0 + k] != word:
                    k += 1
                if k == y1 - y0 or (large and words[k] != word):
                    break
                q = y0 + (order[k] if large else k)
                k += 1
                size = _compared(xe, xt, p, ye, yt, q)
                if size > 0:
                    at = copied(xt, xe[p] + p + 1, xe[p] + p + size - 1, names, at)
                    count += 1
                    name_ends[count] = at
                    met[q - y0] = i
                    break
                if size < 0:
                    holds = False
                    break
            if not holds:
                break
        if not holds or count == offsets[made]:
            continue
        pos = text_ends[made]
        text[pos] = 123
        pos = copied(xt, xe[x0] + x0, xe[x1] + x1, text, pos + 1)
        fresh = y0  # members fresh:q of the second are not in the first
        for q in range(y0, y1):
            if met[q - y0] == i:
                pos = copied(yt, ye[fresh] + fresh, ye[q] + q, text, pos)
                fresh = q + 1
        pos = copied(yt, ye[fresh] + fresh, ye[y1] + y1, text, pos)
        text[pos - 1] = 125  # instead of the last comma: there is a shared pair
        kept[made] = i
        made += 1
        offsets[made], text_ends[made] = count, pos
    count = offsets[made]
    return Composed(
        kept[:made], offsets[: made + 1], name_ends[: count + 1], names[: name_ends[count]], text_ends[: made + 1],
        text[: text_ends[made]],
    )  # fmt: skip
