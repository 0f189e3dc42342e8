"""JSON arrays, copied into one spelling: without white space; as sets, their elements sorted and said once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kernels.documents.json_text import DEEP, LEVELS, ODD, OK, SYNTAX, Bytes, Place, scalar_text, skip_blanks
from weft.kernels.jit import kernel

__all__ = ["array_text"]

_ELEMENTS = 64  # arrays as sets: more elements are left to the general reader


@kernel
def array_text(data: Bytes, i: int, end: int, out: Bytes, pos: int, sets: bool, depth: int) -> Place:
    """Copy an array; `depth` levels lie above it. An object inside, or as sets an array inside, is ODD."""
    starts = np.empty(_ELEMENTS + 1, np.int64)
    first, level, count = pos, depth + 1, 0
    if level > LEVELS:
        return i, pos, DEEP
    out[pos] = 91
    i += 1
    pos += 1
    want = 0  # 0: a value or the end, 1: a value, 2: a comma or the end
    while level > depth:
        i = skip_blanks(data, i, end)
        if i >= end:
            return i, pos, SYNTAX
        c = data[i]
        if want == 2 and c == 44:
            out[pos] = c
            want = 1
            i += 1
            pos += 1
        elif want != 1 and c == 93:
            out[pos] = c
            level -= 1
            want = 2
            i += 1
            pos += 1
        elif want == 2:
            return i, pos, SYNTAX
        elif c == 123:
            return i, pos, ODD
        elif c == 91:
            level += 1
            if level > LEVELS:
                return i, pos, DEEP
            if sets:
                return i, pos, ODD
            out[pos] = c
            want = 0
            i += 1
            pos += 1
        else:
            if sets:
                if count == _ELEMENTS:
                    return i, pos, ODD
                starts[count] = pos
                count += 1
            i, pos, status = scalar_text(data, i, end, out, pos)
            if status != OK:
                return i, pos, status
            want = 2
    if sets and count > 1:
        starts[count] = pos  # one behind the closing bracket, as all others are one behind a comma
        pos = _as_set(out, first, starts, count)
    return i, pos, OK


@kernel
def _before(out: Bytes, a: int, a_end: int, b: int, b_end: int) -> int:
    """Compare two spellings: -1, 0 or 1."""
    for k in range(min(a_end - a, b_end - b)):
        if out[a + k] != out[b + k]:
            return -1 if out[a + k] < out[b + k] else 1
    return -1 if a_end - a < b_end - b else 1 if a_end - a > b_end - b else 0


@kernel
def _as_set(out: Bytes, first: int, starts: NDArray[np.int64], count: int) -> int:
    """Sort the elements of an array that was just written, and drop repeated ones."""
    copy = out[first : starts[count]].copy()
    order = np.arange(count)
    for n in range(1, count):
        k = n
        while k > 0:
            x, y = order[k - 1], order[k]
            if (
                _before(
                    copy, starts[x] - first, starts[x + 1] - 1 - first, starts[y] - first, starts[y + 1] - 1 - first
                )
                <= 0
            ):
                break
            order[k - 1], order[k] = y, x
            k -= 1
    pos = first + 1
    for n in range(count):
        x = order[n]
        a, a_end = starts[x] - first, starts[x + 1] - 1 - first
        if n > 0:
            y = order[n - 1]
            if _before(copy, starts[y] - first, starts[y + 1] - 1 - first, a, a_end) == 0:
                continue
            out[pos] = 44
            pos += 1
        for k in range(a, a_end):
            out[pos] = copy[k]
            pos += 1
    out[pos] = 93
    return pos + 1
