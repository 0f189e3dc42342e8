"""Attribute names behind their words: what makes joins exact even if two names have the same hash.

A tree is built and asked by words. That is right as long as each word stands for one name and each pair word for one
attribute, among the documents of the tree and those that ask it; `Names` checks it against the text. Where it fails, which
64-bit words do about once in 10^9 data sets, `Spoken` numbers names and pairs by what they say, and the tree is built anew
of these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weft.documents.coded import Coded
from weft.kernels.documents.attributes import codes_of, first_places, look_up, places_of, same_names
from weft.kernels.documents.json_scan import key_end
from weft.types import Words

__all__ = ["Names", "Spoken", "names_of"]


@dataclass(frozen=True)
class Names:
    """The attribute words of some documents and where each one's name stands; `whole`: each word has one name."""

    coded: Coded
    words: Words
    place: Words
    whole: bool

    @classmethod
    def of(cls, coded: Coded) -> Names:
        """Gather the names of documents."""
        codes, words = codes_of(np.ascontiguousarray(coded.attrs))
        place = first_places(codes, len(words))
        return cls(coded, words, place, same_names(codes, coded.ends, coded.text, place, coded.ends, coded.text))

    def agree(self, others: Coded) -> bool:
        """Tell whether other documents mean the same by these words."""
        codes = look_up(self.words, np.ascontiguousarray(others.attrs))
        return bool(same_names(codes, others.ends, others.text, self.place, self.coded.ends, self.coded.text))


@dataclass(frozen=True)
class Spoken:
    """Numbers for names and pairs by their text; the same for all documents that were given to it. Slow, and rarely needed."""

    names: dict[bytes, int] = field(default_factory=dict)
    pairs: dict[bytes, int] = field(default_factory=dict)

    def words(self, coded: Coded) -> tuple[Words, Words]:
        """Return a number from 1 on for each pair's name, and one for the pair."""
        text, attrs, pairs = coded.text.tobytes(), np.empty_like(coded.attrs), np.empty_like(coded.pairs)
        for k in range(len(attrs)):
            a, b = int(coded.ends[k]), int(coded.ends[k + 1])
            attrs[k] = self.names.setdefault(text[a : key_end(coded.text, a)], len(self.names) + 1)
            pairs[k] = self.pairs.setdefault(text[a:b], len(self.pairs) + 1)
        return attrs, pairs

    def windows(self, buckets: Words) -> Words:
        """Return a number for each window, different from those of all pairs."""
        different, which = np.unique(buckets, return_inverse=True)
        numbers = [self.pairs.setdefault(b"window %d" % bucket, len(self.pairs) + 1) for bucket in different.tolist()]
        return np.array(numbers, np.int64)[which]


def names_of(coded: Coded, words: Words) -> dict[int, str]:
    """Return the quoted name of each word that the documents have (of several with the same word, one)."""
    found = places_of(words, coded.attrs)
    names: dict[int, str] = {}
    for word, at in zip(words.tolist(), found.tolist(), strict=True):
        if at >= 0:
            start = int(coded.ends[at])
            names[word] = coded.text[start : key_end(coded.text, start) + 1].tobytes().decode()
    return names
