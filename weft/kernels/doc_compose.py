"""Two documents become one: the attributes they share, and the united document as text.

Candidates were found by hashes. Here every shared attribute's member is compared byte by byte, and a candidate with a difference
is dropped, so no collision of values reaches a result; two names with one word are told apart by their text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel
from weft.kernels.json_scan import key_end
from weft.kernels.octets import copied, equal
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


@kernel
def _same_name(a: Bytes, a0: int, size: int, b: Bytes, b0: int, b1: int) -> bool:
    """Tell whether a member begins with the same quoted name, of `size` bytes with its quotes."""
    return b1 - b0 > size and equal(a, a0, a0 + size, b, b0, b0 + size)


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
    n, room, names_room, count_room = len(xs), 0, 0, 0
    for i in range(n):
        x, y = xs[i], ys[i]
        k = xo[x + 1] - xo[x]
        bytes_x = xe[xo[x + 1]] - xe[xo[x]]
        room += bytes_x + ye[yo[y + 1]] - ye[yo[y]] + k + yo[y + 1] - yo[y] + 2
        names_room += bytes_x
        count_room += k
    kept, offsets, text_ends = np.empty(n, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    name_ends, names, text = (
        np.zeros(count_room + 1, np.int64),
        np.empty(names_room, np.uint8),
        np.empty(room, np.uint8),
    )
    made = 0
    for i in range(n):
        x, y = xs[i], ys[i]
        x0, x1, y0, y1 = xo[x], xo[x + 1], yo[y], yo[y + 1]
        count, holds, old = offsets[made], True, np.uint64(0)
        at = name_ends[count]
        for p in range(x0, x1):
            for q in range(y0, y1):
                if xa[p] == ya[q]:
                    a, b = xe[p] + p, ye[q] + q
                    size = key_end(xt, a) + 1 - a
                    if not equal(xt, a, xe[p + 1] + p, yt, b, ye[q + 1] + q):
                        if not _same_name(xt, a, size, yt, b, ye[q + 1] + q):
                            continue  # two names with one word: two attributes
                        holds = False
                        break
                    at = copied(xt, a + 1, a + size - 1, names, at)
                    count += 1
                    name_ends[count] = at
                    if q - y0 < 64:
                        old |= np.uint64(1) << np.uint64(q - y0)
            if not holds:
                break
        if not holds or count == offsets[made]:
            continue
        pos = text_ends[made]
        text[pos] = 123
        pos = copied(xt, xe[x0] + x0, xe[x1] + x1, text, pos + 1)
        fresh = y0  # members fresh:q of the second are not in the first
        for q in range(y0, y1):
            known = False
            if q - y0 < 64:
                known = (old >> np.uint64(q - y0)) & np.uint64(1) == 1
            else:
                for p in range(x0, x1):
                    if xa[p] == ya[q] and equal(xt, xe[p] + p, xe[p + 1] + p, yt, ye[q] + q, ye[q + 1] + q):
                        known = True
                        break
            if known:
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
