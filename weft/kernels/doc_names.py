"""Whether equal words are equal names: attribute names are compared as text, once per pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel
from weft.kernels.json_scan import key_end
from weft.kernels.octets import equal
from weft.types import Words

__all__ = ["first_places", "named_otherwise", "places_of", "same_names"]

Bytes = NDArray[np.uint8]


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
