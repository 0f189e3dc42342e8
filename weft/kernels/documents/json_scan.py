"""JSON documents to coded pairs, one pass over the bytes.

Nested objects become dotted paths. Each leaf becomes a *member*, `"path":value` in one spelling (`json_text`), and two
words: a hash of the path and a hash of the whole member. Of equal paths in one document the last counts. A document that
cannot be read leaves nothing but a status and the position of the trouble.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kernels.documents.json_array import array_text
from weft.kernels.documents.json_text import (
    DEEP,
    EMPTY,
    FREE,
    LEVELS,
    LONG,
    NOT_OBJECT,
    ODD,
    OK,
    ROOM,
    SYNTAX,
    TIMES,
    scalar_text,
    skip_blanks,
    string_text,
)
from weft.kernels.jit import kernel
from weft.kernels.llvm import copied, load8
from weft.types import Words

__all__ = ["Scanned", "hash_range", "key_end", "member_words", "scan"]

Bytes = NDArray[np.uint8]


class Scanned(NamedTuple):
    """Pairs of all documents in CSR form, their members' text, and what became of each document.

    Document `i` has the pairs `offsets[i]:offsets[i + 1]`; pair `k` has the text `ends[k]:ends[k + 1]`.
    """

    offsets: Words
    attrs: Words
    pairs: Words
    ends: Words
    text: Bytes
    status: NDArray[np.uint8]
    trouble: Words


@kernel
def hash_range(data: Bytes, start: int, end: int) -> np.int64:
    """Return a 64-bit hash of bytes, eight at a time.

    Each eight are mixed twice: the rest is read with bytes of theirs, and digits that differ in both would cancel out.
    """
    state = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(end - start)
    i = start
    while i + 8 <= end:
        state = (state ^ load8(data, i)) * np.uint64(0xFF51AFD7ED558CCD)
        state ^= state >> np.uint64(32)
        state *= np.uint64(0xC2B2AE3D27D4EB4F)
        state ^= state >> np.uint64(29)
        i += 8
    word, shift = np.uint64(0), np.uint64(0)
    if i > start and i < end:
        word = load8(data, end - 8)  # the rest, with bytes that were read already
    else:
        while i < end:
            word |= np.uint64(data[i]) << shift
            shift += np.uint64(8)
            i += 1
    state = (state ^ word) * np.uint64(0xC4CEB9FE1A85EC53)
    state ^= state >> np.uint64(29)
    state *= np.uint64(0xFF51AFD7ED558CCD)
    return np.int64(state ^ (state >> np.uint64(32)))


@kernel
def key_end(text: Bytes, start: int) -> int:
    """Return the position of the quote that closes the path of the member at `start`."""
    i = start + 1
    while text[i] != 34:
        i += 2 if text[i] == 92 else 1
    return i


@kernel
def member_words(ends: Words, text: Bytes) -> tuple[Words, Words]:
    """Return the words of the names and of the members that stand in a text one behind the other."""
    n = len(ends) - 1
    attrs, pairs = np.empty(n, np.int64), np.empty(n, np.int64)
    for k in range(n):
        attrs[k] = hash_range(text, ends[k] + 1, key_end(text, ends[k]))
        pairs[k] = hash_range(text, ends[k], ends[k + 1])
    return attrs, pairs


@kernel
def _larger(array: Bytes, need: int) -> Bytes:
    made = np.empty(max(need, 2 * len(array)), np.uint8)
    made[: len(array)] = array
    return made


@kernel
def _longer(array: Words) -> Words:
    made = np.empty(2 * len(array), np.int64)
    made[: len(array)] = array
    return made


@kernel
def _same(text: Bytes, ends: Words, a: int, b: int) -> bool:
    """Tell whether two members have the same path."""
    x, y = ends[a], ends[b]
    size = key_end(text, x) - x
    if key_end(text, y) - y != size:
        return False
    for k in range(size):  # noqa: SIM110  Numba knows no generators
        if text[x + k] != text[y + k]:
            return False
    return True


@kernel
def _last_of_each(attrs: Words, pairs: Words, ends: Words, text: Bytes, first: int, count: int) -> int:
    """Keep the last member of each path; return how many are left. Mostly there is nothing to do."""
    n = count - first
    found = False
    if n <= 32:  # mostly: words alone say that there is nothing to do
        for a in range(first, count):
            for b in range(a + 1, count):
                found |= attrs[a] == attrs[b]
        if not found:
            return count
    doubled = np.zeros(n, np.bool_)
    found = False
    if n <= 32:
        for a in range(n):
            for b in range(a + 1, n):
                if attrs[first + a] == attrs[first + b] and _same(text, ends, first + a, first + b):
                    doubled[a] = True
                    found = True
    else:
        order = np.argsort(attrs[first:count], kind="mergesort")  # stable: the later one stands behind
        for k in range(n - 1):
            for j in range(k + 1, n):
                a, b = order[k], order[j]
                if attrs[first + a] != attrs[first + b]:
                    break
                if _same(text, ends, first + a, first + b):
                    doubled[a] = True
                    found = True
                    break
    if not found:
        return count
    kept, pos = first, ends[first]
    for a in range(n):
        start, end = ends[first + a], ends[first + a + 1]
        if doubled[a]:
            continue
        attrs[kept], pairs[kept] = attrs[first + a], pairs[first + a]
        for k in range(start, end):
            text[pos + k - start] = text[k]
        pos += end - start
        kept += 1
        ends[kept] = pos
    return kept


@kernel
def _taken_away(attrs: Words, first: int, count: int, gone: Words, nulls: int) -> bool:
    """Tell whether a null has the name of a value of its document: then the order of the two counts."""
    if (count - first) * nulls <= 256:
        for a in range(first, count):
            for k in range(nulls):
                if attrs[a] == gone[k]:
                    return True
        return False
    names = np.sort(gone[:nulls])
    for a in range(first, count):
        k = np.searchsorted(names, attrs[a])
        if k < nulls and names[k] == attrs[a]:
            return True
    return False


@kernel
def scan(data: Bytes, starts: Words, stops: Words, valid: NDArray[np.bool_], nulls: bool, sets: bool) -> Scanned:  # noqa: PLR0915  one loop, one state
    """Read documents `data[starts[i]:stops[i]]`. `nulls`: null is a value; `sets`: arrays are sets."""
    n = len(starts)
    offsets, trouble, status = np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.zeros(n, np.uint8)
    attrs, pairs, ends = (
        np.empty(16 * n + 16, np.int64),
        np.empty(16 * n + 16, np.int64),
        np.empty(16 * n + 16, np.int64),
    )
    size = 0
    for d in range(n):
        size += stops[d] - starts[d]
    text = np.empty(size + size // 2 + 4 * ROOM, np.uint8)
    path = np.empty(256, np.uint8)
    above = np.zeros(LEVELS + 1, np.int64)  # length of the path at each level
    gone = np.empty(16, np.int64)  # the names that are null
    count = 0
    ends[0] = 0
    for d in range(n):
        i, end = starts[d], stops[d]
        first, state, absent, longest = count, OK, 0, max(TIMES * (end - i), FREE)
        i = skip_blanks(data, i, end)
        if not valid[d] or i >= end:
            state = EMPTY
        elif data[i] != 123:
            c = data[i]
            second = data[i + 1] if i + 1 < end else np.uint8(0)
            word = (c == 116 and second == 114) or (c == 102 and second == 97) or (c == 110 and second == 117)
            value = c in {91, 34, 45} or 48 <= c <= 57 or word
            state = NOT_OBJECT if value else SYNTAX
        level = 0
        above[0] = 0
        want = 0  # 0: a key or the end, 1: a key, 2: a comma or the end
        if state == OK:
            i += 1
        while state == OK and level >= 0:
            if i < end and data[i] <= 32:
                i = skip_blanks(data, i, end)
            if i >= end:
                state = SYNTAX
                break
            c = data[i]
            if want == 2 and c == 44:
                i += 1
                want = 1
                continue
            if want != 1 and c == 125:
                i += 1
                level -= 1
                want = 2
                continue
            if want == 2 or c != 34:
                state = SYNTAX
                break
            pos, base = ends[count], above[level]
            if len(text) < pos + base + (end - i) + ROOM:
                text = _larger(text, pos + base + (end - i) + ROOM)
            text[pos] = 34
            tip = pos + 1
            if level > 0:
                tip = copied(path, 0, base, text, tip)
                text[tip] = 46
                tip += 1
            i, tip, state = string_text(data, i, end, text, tip)
            if state != OK:
                break
            if i < end and data[i] != 58:
                i = skip_blanks(data, i, end)
            if i >= end or data[i] != 58:
                state = SYNTAX
                break
            i += 1
            if i < end and data[i] <= 32:
                i = skip_blanks(data, i, end)
            if i >= end:
                state = SYNTAX
                break
            c = data[i]
            if c == 123:
                if level + 2 > LEVELS:
                    state = DEEP
                    break
                size = tip - pos - 1
                if len(path) < size + ROOM:
                    path = _larger(path, size + ROOM)
                copied(text, pos + 1, tip, path, 0)
                level += 1
                above[level] = size
                want = 0
                i += 1
                continue
            room = tip + (6 if c == 91 else 1) * (end - i) + ROOM
            if len(text) < room:
                text = _larger(text, room)
            text[tip] = 34
            text[tip + 1] = 58
            if c == 91:
                i, pos, state = array_text(data, i, end, text, tip + 2, sets, level + 1)
            else:
                i, pos, state = scalar_text(data, i, end, text, tip + 2)
            want = 2
            if state != OK:
                break
            if c == 110 and not nulls:
                if absent == len(gone):
                    gone = _longer(gone)
                gone[absent] = hash_range(text, ends[count] + 1, tip)
                absent += 1
                continue
            if count + 2 > len(attrs):
                attrs, pairs, ends = _longer(attrs), _longer(pairs), _longer(ends)
            attrs[count] = hash_range(text, ends[count] + 1, tip)
            pairs[count] = hash_range(text, ends[count], pos)
            count += 1
            ends[count] = pos
            if pos - ends[first] > longest:
                state = LONG
        if state == OK:
            i = skip_blanks(data, i, end)
            if i < end:
                state = SYNTAX
        if state == OK and absent > 0 and _taken_away(attrs, first, count, gone, absent):
            state = ODD
        if state == OK:
            count = _last_of_each(attrs, pairs, ends, text, first, count)
        else:
            count = first
            status[d] = state
            trouble[d] = i - starts[d]
        offsets[d + 1] = count
    return Scanned(
        offsets,
        attrs[:count].copy(),
        pairs[:count].copy(),
        ends[: count + 1].copy(),
        text[: ends[count]].copy(),
        status,
        trouble,
    )
