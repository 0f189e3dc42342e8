"""Sketches: how often a key was seen, in a few kilobytes; JSON both ways (Y04).

Count-min: `depth` rows of `width` counters; a key's count is the least of its counters, so it is never too small. The augmented
sketch has an exact filter of the heaviest keys in front of one (Alg. 1, 000-06..000-15). The filter L1 holds a few keys with
a new count N_c and an old count O_c; all other keys are counted in L2. A key whose estimate in L2 exceeds the least N_c of L1
takes that place (a *swap*). `N_c - O_c` is what was counted exactly while the key was in L1. Alg. 1 looks at one tuple at a
time, and so does the kernel that `update` runs over a batch.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import SpecError
from weft.kernels.sketch import count_keys, count_through_filter, least_counts
from weft.types import Bools, Words

__all__ = ["ASketch", "CountMin", "heaviest"]

Counts = NDArray[np.int64]

_KINDS = {"<u1": 2**8, "<u2": 2**16, "<u4": 2**32}

_ODD = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)


class CountMin:
    """Layer L2 of the augmented sketch (000-07).

    With `width = e / epsilon` an estimate is above the truth by more than `epsilon` times all that was counted with
    probability at most `exp(-depth)`. Sketches of the same shape and seed add up: the sum is the sketch of both streams.

    Parameters
    ----------
    depth, width
        Hash functions and counters of each. 8 x 512 four-byte counters are the 16 KiB of 000-10; the paper does not
        say how many functions it uses, Roy et al., whom it follows, use 8.
    seed
        Sketches that are to be merged need the same one.
    """

    def __init__(self, depth: int = 8, width: int = 512, seed: int = 0) -> None:
        if depth < 1 or width < 1:
            raise SpecError.of(
                f"A count-min sketch of {depth} x {width}.", "It has at least one row and one column.", "try 8 x 512."
            )
        self.depth, self.width, self.seed = depth, width, seed
        self.table: Counts = np.zeros((depth, width), np.int64)
        rows = np.arange(1, depth + 1, dtype=np.uint64) + np.uint64(depth * seed)
        self.salt = _mixed(rows * np.uint64(0x9E3779B97F4A7C15))

    @property
    def nbytes(self) -> int:
        """Return the size in four-byte counters, as 000-10 counts it."""
        return 4 * self.depth * self.width

    def cells(self, keys: Words) -> NDArray[np.int64]:
        """Return the column of each key in each row, `[depth, keys]`: what the kernels work out key by key."""
        hashed = _mixed(np.ascontiguousarray(keys, np.int64).view(np.uint64)[None, :] ^ self.salt[:, None])
        return (((hashed >> np.uint64(32)) * np.uint64(self.width)) >> np.uint64(32)).astype(np.int64)

    def add(self, keys: Words, weights: Counts | None = None) -> None:
        """Count keys, each once or by its weight."""
        keys = np.ascontiguousarray(keys, np.int64)
        count_keys(self.table, self.salt, keys, np.ones(len(keys), np.int64) if weights is None else weights)

    def estimate(self, keys: Words) -> Counts:
        """Return the estimates: the least counter of each key."""
        return least_counts(self.table, self.salt, np.ascontiguousarray(keys, np.int64))

    def merge(self, other: CountMin) -> CountMin:
        """Return the sketch of both streams."""
        if (self.depth, self.width, self.seed) != (other.depth, other.width, other.seed):
            raise SpecError.of(
                f"A {self.depth} x {self.width} sketch cannot be merged with one of {other.depth} x {other.width}.",
                f"Their seeds are {self.seed} and {other.seed}.",
                "make both with the same depth, width and seed.",
            )
        merged = copy(self)  # the salts are shared, the counters are not
        merged.table = self.table + other.table
        return merged

    def halve(self) -> None:
        """Let the past count half."""
        self.table //= 2

    def to_json(self) -> dict[str, Any]:
        """Return the sketch as JSON data, in the narrowest counters that hold it; beyond four bytes they stay at the greatest."""
        counters = np.minimum(self.table, 2**32 - 1)
        kind = next(kind for kind, size in _KINDS.items() if counters.max() < size)
        packed = base64.b64encode(counters.astype(kind).tobytes()).decode()
        return {"depth": self.depth, "width": self.width, "seed": self.seed, "kind": kind, "table": packed}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> CountMin:
        """Read it back."""
        made = cls(data["depth"], data["width"], data["seed"])
        counters = np.frombuffer(base64.b64decode(data["table"]), data["kind"])
        made.table = counters.astype(np.int64).reshape(made.depth, made.width)
        return made


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for factor in _ODD:
        state = (state ^ (state >> np.uint64(32))) * np.uint64(factor)
    return state ^ (state >> np.uint64(29))


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
