"""Augmented sketch: an exact filter of the heaviest keys in front of a count-min sketch (Alg. 1, 000-06..000-15).

The filter L1 holds a few keys with a new count N_c and an old count O_c; all other keys are counted in L2. A key whose
estimate in L2 exceeds the least N_c of L1 takes that place (a *swap*). `N_c - O_c` is what was counted exactly while the
key was in L1.

Alg. 1 looks at one tuple at a time, and so does the kernel that `update` runs over a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.errors import SpecError
from weft.kernels.sketch import count_through_filter
from weft.sketch.countmin import CountMin, Counts
from weft.types import Bools, Words

__all__ = ["ASketch", "heaviest"]


class ASketch:
    """Filter and count-min sketch.

    Parameters
    ----------
    top
        Keys in the filter, the paper's phi: 32 (000-10).
    depth, width, seed
        The count-min sketch behind it.
    """

    def __init__(self, top: int = 32, depth: int = 8, width: int = 512, seed: int = 0) -> None:
        if top < 1:
            raise SpecError.of(f"A filter of {top} keys.", "It holds at least one.", "try 32.")
        self.top = top
        self.keys: Words = np.zeros(0, np.int64)
        self.new: Counts = np.zeros(0, np.int64)
        self.old: Counts = np.zeros(0, np.int64)
        self.rest = CountMin(depth, width, seed)
        self.swaps = 0

    def add(self, key: int) -> bool:
        """Count one tuple; tell whether its key is hot."""
        return bool(self.update(np.array([key], np.int64))[0])

    def update(self, keys: Words, weights: Counts | None = None) -> Bools:
        """Count tuples in their order; tell of each whether Alg. 1 calls its key hot.

        With weights a tuple stands for so many equal ones in a row; it is hot if the last of them is.
        """
        keys = np.ascontiguousarray(keys, np.int64)
        weights = np.ones(len(keys), np.int64) if weights is None else weights
        hot = np.zeros(len(keys), np.bool_)
        held, new, old = (np.zeros(max(self.top, len(self.keys)), np.int64) for _ in range(3))
        filled = len(self.keys)
        held[:filled], new[:filled], old[:filled] = self.keys, self.new, self.old
        table, salt = self.rest.table, self.rest.salt
        filled, swaps = count_through_filter(keys, weights, held, new, old, filled, table, salt, hot)
        self.keys, self.new, self.old = held[:filled], new[:filled], old[:filled]
        self.swaps += swaps
        return hot

    def estimate(self, keys: Words) -> Counts:
        """Return N_c of keys in the filter, the sketch's estimate of the others."""
        found = self.rest.estimate(keys)
        held = self.keys[:, None] == np.asarray(keys)[None, :]
        inside = held.any(axis=0)
        if inside.any():
            found[inside] = self.new[held[:, inside].argmax(axis=0)]
        return found

    def hottest(self) -> tuple[Words, Counts]:
        """Return the filter's keys with their counts, the heaviest first, ties by key."""
        order = np.lexsort((self.keys, -self.new))
        return self.keys[order], self.new[order]

    def halve(self) -> None:
        """Let the past count half. The paper never ages its sketch (000-15); whoever wants to calls this."""
        exact = (self.new - self.old) // 2
        self.old = self.old // 2
        self.new = self.old + exact
        self.rest.halve()

    def to_json(self) -> dict[str, Any]:
        """Return the sketch as JSON data."""
        return {
            "top": self.top, "keys": self.keys.tolist(), "new": self.new.tolist(), "old": self.old.tolist(),
            "swaps": self.swaps, "rest": self.rest.to_json(),
        }  # fmt: skip

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> ASketch:
        """Read it back."""
        rest = CountMin.of_json(data["rest"])
        made = cls(data["top"], rest.depth, rest.width, rest.seed)
        made.rest, made.swaps = rest, data["swaps"]
        made.keys, made.new, made.old = (np.array(data[name], np.int64) for name in ("keys", "new", "old"))
        return made


def heaviest(sketches: Sequence[ASketch], top: int) -> tuple[Words, Counts]:
    """Return the heaviest keys of all streams together, heaviest first, with estimates that are never too small.

    An augmented sketch does not merge into another one: what a filter counted exactly is in no cell. But `N_c - O_c` of all
    filters and the sum of all count-min sketches together hold every tuple once. A key that is among the `top` of all is
    in some filter unless its share everywhere is small.
    """
    if not sketches:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    filtered = np.concatenate([sketch.keys for sketch in sketches])
    exact = np.concatenate([sketch.new - sketch.old for sketch in sketches])
    keys, place = np.unique(filtered, return_inverse=True)
    rest = sketches[0].rest
    for sketch in sketches[1:]:
        rest = rest.merge(sketch.rest)
    counts = np.bincount(place, exact, len(keys)).astype(np.int64) + rest.estimate(keys)
    order = np.lexsort((keys, -counts))[:top]
    return keys[order], counts[order]
