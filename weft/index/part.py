"""A part: rows as they arrived, never moved again, with what is known of its columns.

Runs are made of parts and share them: merging runs moves keys and row numbers, and a part goes on as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from weft.types import Block

__all__ = ["Part", "coalesced"]

_MOST = 1024


@dataclass(frozen=True)
class Part:
    """A block and, once asked for, the zone of each word column and whether it counts."""

    block: Block
    _zones: dict[int, tuple[int, int]] = field(default_factory=dict, compare=False)
    _counts: dict[int, int | None] = field(default_factory=dict, compare=False)

    def __len__(self) -> int:
        return len(self.block)

    def zone(self, column: int) -> tuple[int, int]:
        """Return the least and the greatest word of a column."""
        if column not in self._zones:
            words = self.block.words[column]
            self._zones[column] = (int(words.min()), int(words.max()))
        return self._zones[column]

    def counts_from(self, column: int) -> int | None:
        """Return the first word if the column counts up by one row by row, as row numbers do; else None."""
        if column not in self._counts:
            words = self.block.words[column]
            counts = int(words[-1]) - int(words[0]) == len(words) - 1 and bool((np.diff(words) == 1).all())
            self._counts[column] = int(words[0]) if counts else None
        return self._counts[column]

    def tail(self, first: int) -> Part:
        """Return the part without its first rows; nothing is copied."""
        words, u, payload = self.block.words, self.block.u, self.block.payload
        return Part(Block(words[:, first:], u[first:], payload.slice(first))) if first else self


def coalesced(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Put small neighbours together when there are many, so that their number stays bounded."""
    if len(parts) <= _MOST:
        return tuple(parts)
    enough = sum(len(part) for part in parts) // (_MOST // 4)
    groups: list[list[Block]] = [[]]
    for part in parts:
        if groups[-1] and sum(len(block) for block in groups[-1]) + len(part) > enough:
            groups.append([])
        groups[-1].append(part.block)
    return tuple(Part(group[0] if len(group) == 1 else _joined(group)) for group in groups)


def _joined(blocks: list[Block]) -> Block:
    whole = Block.concat(blocks)
    return Block(whole.words, whole.u, whole.payload.combine_chunks())
