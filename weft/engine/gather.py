"""Late materialisation: row numbers become rows, once, when a pair leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from weft.engine.portions import portions
from weft.index import Matches
from weft.types import Block, Side

__all__ = ["Pairs", "pairs_of"]


@dataclass(frozen=True)
class Pairs:
    """Matched rows side by side; `swapped` marks an unordered pair that also holds the other way round."""

    left: pa.Table
    right: pa.Table
    swapped: pa.Array | None = None

    def __len__(self) -> int:
        return max(int(self.left.num_rows), int(self.right.num_rows))  # a table without columns has no rows


def pairs_of(side: Side, probe: Block, matches: Iterator[Matches]) -> Iterator[Pairs]:
    """Take the payload of both rows of every match; `side` is the probing side."""
    for match in portions(probe, matches):
        probing = probe.payload.take(pa.array(match.probe))
        stored = match.run.payload.take(pa.array(match.stored))
        yield Pairs(probing, stored) if side == "left" else Pairs(stored, probing)
