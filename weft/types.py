"""The few shapes that every layer shares.

Inside Weft a row is a vector of *words*: order-preserving 64-bit integers, one per key, timestamp or sequence number
(`weft.kernels.words` makes them). Payload stays in Arrow and is touched once, when a pair leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NewType, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = [
    "SIDES", "U32", "WORD_MAX", "WORD_MIN", "Block", "Bools", "Rows", "Side", "Task", "Words",
    "all_flags", "columns_at", "other",
]  # fmt: skip

Side: TypeAlias = Literal["left", "right"]
"""Which of the two streams. The right side comes first within a batch."""

SIDES: tuple[Side, Side] = ("left", "right")

Task = NewType("Task", int)
"""A join task; on Spark the number of its partition."""

Words: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.integer[Any]]
"""Row numbers or positions: 32 bits where they are kept (a run has fewer than 2**31 rows), 64 bits while they are sums."""
U32: TypeAlias = NDArray[np.uint32]
Bools: TypeAlias = NDArray[np.bool_]

WORD_MIN = np.iinfo(np.int64).min
WORD_MAX = np.iinfo(np.int64).max


def columns_at(words: Words, rows: Rows) -> Words:
    """Return `words[:, rows]`, column by column: NumPy takes from one column many times faster than from several."""
    out = np.empty((len(words), len(rows)), np.int64)
    for column, taken in zip(words, out, strict=True):
        taken[:] = column[rows]
    return out


def other(side: Side) -> Side:
    """Return the opposite side."""
    return "right" if side == "left" else "left"


@dataclass(frozen=True)
class Block:
    """Rows of one side: words (one array row per word column), `u`, and the payload beside them.

    `words[c, i]` is word column `c` of row `i`; `u[i]` in [0, 2**32) is the row's routing draw, made once.
    `payload` has the same number of rows, in the same order. `matched` tells which rows have found a partner, in joins
    that ask (`weft.spec.kinds`); None if none has.
    """

    words: Words
    u: U32
    payload: pa.Table
    matched: Bools | None = None

    def __len__(self) -> int:
        return len(self.u)

    @cached_property
    def limits(self) -> tuple[tuple[int, int], ...]:
        """Return the least and the greatest word of every column; the block must not be empty."""
        least, most = self.words.min(axis=1).tolist(), self.words.max(axis=1).tolist()
        return tuple(zip(least, most, strict=True))

    @cached_property
    def lines(self) -> dict[int, tuple[int, int] | None]:
        """Return what is known of columns whose words follow from the row number (`weft.index.run`)."""
        return {}

    def flagged(self, matched: Bools) -> Block:
        """Return the block with other flags, and with what is known of its words."""
        made = replace(self, matched=matched)
        made.__dict__.update({name: self.__dict__[name] for name in ("limits", "lines") if name in self.__dict__})
        return made

    def tail(self, first: int) -> Block:
        """Return the block without its first rows; nothing is copied."""
        if not first:
            return self
        matched = None if self.matched is None else self.matched[first:]
        return Block(self.words[:, first:], self.u[first:], self.payload.slice(first), matched)

    def take(self, rows: Rows) -> Block:
        """Return the named rows, in that order."""
        matched = None if self.matched is None else self.matched[rows]
        return Block(columns_at(self.words, rows), self.u[rows], self.payload.take(pa.array(rows)), matched)

    def filter(self, keep: Bools) -> Block:
        """Return the rows where `keep` is true."""
        return self if bool(keep.all()) else self.take(np.flatnonzero(keep))

    @staticmethod
    def concat(blocks: Sequence[Block]) -> Block:
        """Append blocks of the same layout."""
        if len(blocks) == 1:
            return blocks[0]
        return Block(
            np.concatenate([block.words for block in blocks], axis=1),
            np.concatenate([block.u for block in blocks]),
            pa.concat_tables([block.payload for block in blocks]),
            all_flags(blocks),
        )


def all_flags(blocks: Sequence[Block]) -> Bools | None:
    """Return which rows of several blocks have found a partner; None if none has."""
    if all(block.matched is None for block in blocks):
        return None
    return np.concatenate([np.zeros(len(b), np.bool_) if b.matched is None else b.matched for b in blocks])
