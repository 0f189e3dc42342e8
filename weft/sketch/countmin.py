"""Count-min sketch: `depth` rows of `width` counters; a key's estimate is the least of its counters, never too small.

With `width = e / epsilon` an estimate is above the truth by more than `epsilon` times all that was counted with
probability at most `exp(-depth)`. Sketches of the same shape and seed add up: the sum is the sketch of both streams.
"""

from __future__ import annotations

import base64
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import SpecError
from weft.kernels.sketch import count_keys, least_counts
from weft.types import Words

__all__ = ["CountMin"]

Counts = NDArray[np.int64]

_KINDS = {"<u1": 2**8, "<u2": 2**16, "<u4": 2**32}

_ODD = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)


class CountMin:
    """Layer L2 of the augmented sketch (000-07).

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
                f"A {self.depth} x {self.width} sketch cannot take in one of {other.depth} x {other.width}.",
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
