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
from weft.types import Rows, Words

__all__ = ["Composed", "compose"]

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
def _equal(a: Bytes, a0: int, a1: int, b: Bytes, b0: int, b1: int) -> bool:
    if a1 - a0 != b1 - b0:
        return False
    for k in range(a1 - a0):  # noqa: SIM110  Numba knows no generators
        if a[a0 + k] != b[b0 + k]:
            return False
    return True


@kernel
def _same_name(a: Bytes, a0: int, size: int, b: Bytes, b0: int, b1: int) -> bool:
    """Tell whether a member begins with the same quoted name, of `size` bytes with its quotes."""
    return b1 - b0 > size and _equal(a, a0, a0 + size, b, b0, b0 + size)


@kernel
def _copied(source: Bytes, start: int, end: int, out: Bytes, pos: int) -> int:
    for k in range(end - start):
        out[pos + k] = source[start + k]
    return pos + end - start


@kernel
def compose(
    xo: Words, xa: Words, xe: Words, xt: Bytes, yo: Words, ya: Words, ye: Words, yt: Bytes, xs: Rows, ys: Rows
) -> Composed:  # fmt: skip
    """Unite documents `xs[i]` of one set (offsets, attrs, ends, text) with `ys[i]` of another, the first one's members first."""
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
        count, pos, holds, old = offsets[made], text_ends[made], True, np.uint64(0)
        at = name_ends[count]
        text[pos] = 123
        pos += 1
        for p in range(xo[x], xo[x + 1]):
            for q in range(yo[y], yo[y + 1]):
                if xa[p] == ya[q]:
                    size = key_end(xt, xe[p]) + 1 - xe[p]
                    if not _equal(xt, xe[p], xe[p + 1], yt, ye[q], ye[q + 1]):
                        if not _same_name(xt, xe[p], size, yt, ye[q], ye[q + 1]):
                            continue  # two names with one word: two attributes
                        holds = False
                        break
                    at = _copied(xt, xe[p] + 1, xe[p] + size - 1, names, at)
                    count += 1
                    name_ends[count] = at
                    if q - yo[y] < 64:
                        old |= np.uint64(1) << np.uint64(q - yo[y])
            if not holds:
                break
            pos = _copied(xt, xe[p], xe[p + 1], text, pos)
            text[pos] = 44
            pos += 1
        if not holds or count == offsets[made]:
            continue
        for q in range(yo[y], yo[y + 1]):
            k, known = q - yo[y], False
            if k < 64:
                known = (old >> np.uint64(k)) & np.uint64(1) == 1
            else:
                for p in range(xo[x], xo[x + 1]):
                    if xa[p] == ya[q] and _equal(xt, xe[p], xe[p + 1], yt, ye[q], ye[q + 1]):
                        known = True
                        break
            if not known:
                pos = _copied(yt, ye[q], ye[q + 1], text, pos)
                text[pos] = 44
                pos += 1
        text[pos - 1] = 125  # instead of the last comma: there is a shared pair
        kept[made] = i
        made += 1
        offsets[made], text_ends[made] = count, pos
    count = offsets[made]
    return Composed(
        kept[:made].copy(), offsets[: made + 1].copy(), name_ends[: count + 1].copy(), names[: name_ends[count]].copy(),
        text_ends[: made + 1].copy(), text[: text_ends[made]].copy(),
    )  # fmt: skip
