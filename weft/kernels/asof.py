"""As-of joins: groups of rows that are alike, and for each row of one side the last row before it of the other.

Both sides are walked once in the order of their words, and each group remembers its newest row: time that follows the rows,
whatever the number of groups. Looking ahead is looking back with all bits turned (`flip` is -1): so is the order of words.
Rows are numbered by 32 bits; -1 is none.

A table that stays is sorted by group, then by place; of rows at one place the last is the one to take. There each row bisects
(`nearest_stored`, `next_stored`), which takes the logarithm of the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import inlined, kernel
from weft.kernels.llvm import equal, load8
from weft.types import Bools, Words

__all__ = [
    "ascends", "gaps", "gaps_of_doubles", "last_before", "linked", "nearest_stored", "next_candidates", "next_stored",
    "number_texts", "number_words", "turned",
]  # fmt: skip

I32 = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Doubles = NDArray[np.float64]

_START = 4096
"""Slots of a table of groups when it is empty; it grows when half of it is taken."""


@kernel
def number_words(right: Words, right_valid: Bools, left: Words, left_valid: Bools) -> tuple[I32, I32, int]:
    """Number the different words of the right side; left words without a number, and rows not valid, have -1.

    A mask without rows passes every row.
    """
    size, count = _START, 0
    keys, numbers = np.zeros(size, np.int64), np.full(size, -1, np.int32)
    out, asked = np.empty(len(right), np.int32), np.empty(len(left), np.int32)
    for i in range(len(right)):
        if len(right_valid) > 0 and not right_valid[i]:
            out[i] = -1
            continue
        word = right[i]
        at = _place_of_word(word, keys, numbers)
        if numbers[at] < 0:
            keys[at], numbers[at] = word, count
            count += 1
            if 2 * count > size:
                out[i] = count - 1
                keys, numbers, size = _grown(keys, numbers, size)
                continue
        out[i] = numbers[at]
    for i in range(len(left)):
        if len(left_valid) > 0 and not left_valid[i]:
            asked[i] = -1
            continue
        asked[i] = numbers[_place_of_word(left[i], keys, numbers)]
    return out, asked, count


@inlined
def _place_of_word(word: int, keys: Words, numbers: I32) -> int:
    """Return the slot that holds a word, or the empty one in which it belongs."""
    last = len(keys) - 1
    at = _slot_of(word, last + 1)
    while numbers[at] >= 0 and keys[at] != word:
        at = (at + 1) & last
    return at


@inlined
def _slot_of(word: int, size: int) -> int:
    state = np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((state ^ (state >> np.uint64(32))) & np.uint64(size - 1))


@kernel
def _grown(keys: Words, numbers: I32, size: int) -> tuple[Words, I32, int]:
    wider = 4 * size
    more_keys, more_numbers = np.zeros(wider, np.int64), np.full(wider, -1, np.int32)
    for old in range(size):
        if numbers[old] >= 0:
            at = _slot_of(keys[old], wider)
            while more_numbers[at] >= 0:
                at = (at + 1) & (wider - 1)
            more_keys[at], more_numbers[at] = keys[old], numbers[old]
    return more_keys, more_numbers, wider


@kernel
def number_texts(
    right_ends: Words, right: Bytes, right_valid: Bools, left_ends: Words, left: Bytes, left_valid: Bools
) -> tuple[I32, I32, int]:
    """Number the different texts of the right side as `number_words` does words; equal hashes are not taken for equal texts."""
    size, count = _START, 0
    keys, numbers = np.zeros(size, np.int64), np.full(size, -1, np.int32)
    firsts = np.empty(size, np.int64)  # a row with the text, by number
    out, asked = np.empty(len(right_ends) - 1, np.int32), np.empty(len(left_ends) - 1, np.int32)
    for i in range(len(out)):
        if len(right_valid) > 0 and not right_valid[i]:
            out[i] = -1
            continue
        start, end = right_ends[i], right_ends[i + 1]
        hashed = _hash_of(right, start, end)
        at = _place_of_text(right, start, end, hashed, right, right_ends, firsts, keys, numbers)
        if numbers[at] < 0:
            keys[at], numbers[at], firsts[count] = hashed, count, i
            count += 1
            if 2 * count > size:
                out[i] = count - 1
                keys, numbers, size = _grown(keys, numbers, size)
                more = np.empty(size, np.int64)
                more[:count] = firsts[:count]
                firsts = more
                continue
        out[i] = numbers[at]
    for i in range(len(asked)):
        if len(left_valid) > 0 and not left_valid[i]:
            asked[i] = -1
            continue
        start, end = left_ends[i], left_ends[i + 1]
        hashed = _hash_of(left, start, end)
        at = _place_of_text(left, start, end, hashed, right, right_ends, firsts, keys, numbers)
        asked[i] = numbers[at]
    return out, asked, count


@inlined
def _place_of_text(
    text: Bytes, start: int, end: int, hashed: int, texts: Bytes, ends: Words, firsts: Words, keys: Words, numbers: I32
) -> int:  # fmt: skip
    """Return the slot that holds a text, or the empty one in which it belongs; `firsts` has a row of each numbered text."""
    last = len(keys) - 1
    at = _slot_of(hashed, last + 1)
    while numbers[at] >= 0:
        first = firsts[numbers[at]]
        if keys[at] == hashed and _alike(text, start, end, texts, ends[first], ends[first + 1]):
            break
        at = (at + 1) & last
    return at


@inlined
def _hash_of(content: Bytes, start: int, end: int) -> int:
    size = end - start
    state = np.uint64(size) * np.uint64(0xC4CEB9FE1A85EC53)
    if size < 8:
        word = np.uint64(0)
        if start + 8 <= len(content):
            word = load8(content, start) & ((np.uint64(1) << np.uint64(8 * size)) - np.uint64(1))
        else:
            for k in range(size):
                word |= np.uint64(content[start + k]) << np.uint64(8 * k)
        state = (state ^ word) * np.uint64(0xFF51AFD7ED558CCD)
    else:
        for k in range(start, end - 7, 8):
            state = (state ^ load8(content, k)) * np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(29)
        state = (state ^ load8(content, end - 8)) * np.uint64(0xFF51AFD7ED558CCD)
    return np.int64(state ^ (state >> np.uint64(33)))


@inlined
def _alike(a: Bytes, a0: int, a1: int, b: Bytes, b0: int, b1: int) -> bool:
    """Tell whether two texts of one hash are equal: of one length below that of a word, no two texts share a hash."""
    return a1 - a0 == b1 - b0 and (a1 - a0 < 8 or equal(a, a0, a1, b, b0, b1))


@kernel
def ascends(words: Words) -> bool:
    """Tell whether no word is less than the one before."""
    wrong = 0
    for i in range(1, len(words)):
        wrong += np.int64(words[np.uint64(i)] < words[np.uint64(i - 1)])
    return wrong == 0


@kernel
def turned(words: Words, order: I32) -> I32:
    """Return the rows in descending order of their words, equal ones in the order they have.

    An empty order is that of the rows.
    """
    n = len(words)
    out = np.empty(n, np.int32)
    filled, end = 0, n
    while end > 0:
        start = end - 1
        last = words[order[start]] if len(order) > 0 else words[start]
        while start > 0 and (words[order[start - 1]] if len(order) > 0 else words[start - 1]) == last:
            start -= 1
        for k in range(start, end):
            out[filled] = order[k] if len(order) > 0 else k
            filled += 1
        end = start
    return out


@kernel
def last_before(
    left: Words, left_group: I32, left_order: I32, right: Words, right_group: I32, right_order: I32, groups: int,
    strict: bool, flip: int,
) -> I32:  # fmt: skip
    """Return, for each left row, the last right row of its group that is not behind it (`strict`: that is before it).

    Without rows, an order is that of the rows, and the groups of a side are one. Rows of group -1 find nothing, nor are found.
    """
    newest = np.full(max(groups, 1), -1, np.int32)
    out = np.full(len(left), -1, np.int32)
    plain_left, plain_right = len(left_order) == 0, len(right_order) == 0
    one_left, one_right = len(left_group) == 0, len(right_group) == 0
    at = 0
    for k in range(len(left)):
        i = np.int64(k) if plain_left else np.int64(left_order[k])
        group = 0 if one_left else left_group[i]
        if group < 0:
            continue
        limit = left[i] ^ flip
        while at < len(right):
            j = np.int64(at) if plain_right else np.int64(right_order[at])
            word = right[j] ^ flip
            if word > limit or (strict and word == limit):
                break
            its = 0 if one_right else right_group[j]
            if its >= 0:
                newest[its] = j
            at += 1
        out[i] = newest[group]
    return out


@kernel
def linked(group: I32, order: I32, rows: int, groups: int) -> I32:
    """Return, for each row, the row of its group before it (-1: none).

    Without rows, the groups are one, and the order is that of the rows.
    """
    newest = np.full(max(groups, 1), -1, np.int32)
    out = np.full(rows, -1, np.int32)
    for k in range(rows):
        j = np.int64(order[k]) if len(order) > 0 else np.int64(k)
        its = np.int32(0) if len(group) == 0 else group[j]
        if its >= 0:
            out[j] = newest[its]
            newest[its] = j
    return out


@kernel
def next_candidates(
    before: I32, words: Words, flip: int, rows: Any, at: I32, bounds: Words, most: int, probe: I32, stored: I32
) -> int:
    """Write the next candidates of some rows, at most so many for each, and where each goes on; return how many there are.

    `bounds` holds, for each left row, the word beyond which nothing is near enough; without rows, everything is.
    """
    filled = 0
    for k in range(len(rows)):
        i, j = np.int64(rows[k]), np.int64(at[k])
        for _ in range(most):
            if j >= 0 and len(bounds) > 0 and (words[j] ^ flip) < (bounds[i] ^ flip):
                j = np.int64(-1)
            if j < 0:
                break
            probe[filled], stored[filled] = i, j
            filled += 1
            j = np.int64(before[j])
        at[k] = j
    return filled


@kernel
def gaps(left: Words, right: Words, found: I32) -> NDArray[np.uint64]:
    """Return how far each row is from what it has found; the greatest word where it has found nothing."""
    out = np.full(len(left), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64)
    for i in range(len(left)):
        if found[i] >= 0:
            one, two = left[i], right[found[i]]
            out[i] = np.uint64(one) - np.uint64(two) if one > two else np.uint64(two) - np.uint64(one)
    return out


@kernel
def gaps_of_doubles(left: Doubles, right: Doubles, found: I32) -> Doubles:
    """Return how far each double is from what it has found, infinity where it has found nothing."""
    out = np.full(len(left), np.inf, np.float64)
    for i in range(len(left)):
        if found[i] >= 0:
            one, two = left[i], right[found[i]]
            out[i] = 0.0 if one == two else abs(one - two)  # two infinities are no distance apart
    return out


@inlined
def _stored_from(groups: Words, places: Words, group: int, place: int, after: bool, low: int, high: int) -> int:
    """Return the first row between `low` and `high` that is not before a place of a group, or is `after` it.

    Without rows, the groups are one.
    """
    one = len(groups) == 0
    while low < high:
        mid = (low + high) >> 1
        before = places[mid] < place or (after and places[mid] == place)
        if not one and groups[mid] != group:
            before = groups[mid] < group
        if before:
            low = mid + 1
        else:
            high = mid
    return low


@inlined
def _last_alike(groups: Words, places: Words, at: int) -> int:
    """Return the last row at the place of a row: double the step, then bisect."""
    group = np.int64(0) if len(groups) == 0 else groups[at]
    low, step = at, 1
    while (
        low + step < len(places)
        and places[low + step] == places[at]
        and (len(groups) == 0 or groups[low + step] == group)
    ):
        low += step
        step *= 2
    return _stored_from(groups, places, group, places[at], True, low + 1, min(low + step, len(places))) - 1


@kernel
def nearest_stored(left_group: Words, left: Words, groups: Words, places: Words, strict: bool, flip: int) -> I32:
    """Return, for each left row, the nearest row of its group in a sorted table that is not behind it (`strict`: before it)."""
    out = np.full(len(left), -1, np.int32)
    one = len(groups) == 0
    for i in range(len(left)):
        group = np.int64(0) if one else left_group[i]
        at = _stored_from(groups, places, group, left[i], strict == (flip != 0), 0, len(places))
        at += flip ^ -1  # looking back, the row before
        if 0 <= at < len(places) and (one or groups[at] == group):
            out[i] = at if flip == 0 else _last_alike(groups, places, at)
    return out


@kernel
def next_stored(
    groups: Words, places: Words, flip: int, rows: Any, at: I32, bounds: Words, most: int, probe: I32, stored: I32
) -> int:
    """Write the next candidates in a sorted table as `next_candidates` does."""
    one, filled = len(groups) == 0, 0
    for k in range(len(rows)):
        i, j = np.int64(rows[k]), np.int64(at[k])
        for _ in range(most):
            if j >= 0 and len(bounds) > 0 and (places[j] ^ flip) < (bounds[i] ^ flip):
                j = np.int64(-1)
            if j < 0:
                break
            probe[filled], stored[filled] = i, j
            filled += 1
            here, before = j, j - 1
            inside = before >= 0 and (one or groups[before] == groups[here])
            if inside and (flip == 0 or places[before] == places[here]):
                j = before
            elif flip == 0:
                j = np.int64(-1)
            else:
                beyond = _last_alike(groups, places, here) + 1
                there = beyond < len(places) and (one or groups[beyond] == groups[here])
                j = np.int64(_last_alike(groups, places, beyond)) if there else np.int64(-1)
        at[k] = j
    return filled
