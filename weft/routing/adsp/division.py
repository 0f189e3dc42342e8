"""How a stream is divided by its draws: a step function from [0, 2**32) to parts, and start-point alignment (4.2).

A row of the matrix is an interval of draws at first. Aligned to the division before it, a new part starts where the old
one started and gives up its tail, so that added parts are fed by tails and nobody else moves (001-35); a part is then a
few intervals. Scaling in is the mirror image: what removed parts held fills the others up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from weft.types import U32

__all__ = ["SPACE", "Division", "overlaps"]

SPACE = 1 << 32
"""Draws lie in [0, SPACE)."""

_PIECES = 16
"""Intervals per part on average; a division that has become finer than this is cut anew."""


@dataclass(frozen=True)
class Division:
    """`starts[i]` up to the next start belongs to part `owners[i]`; the first start is 0."""

    starts: tuple[int, ...] = (0,)
    owners: tuple[int, ...] = (0,)

    @staticmethod
    def of(shares: Sequence[float]) -> Division:
        """Cut the draws into intervals in proportion to the shares.

        >>> Division.of([0.5, 0.5])
        Division(starts=(0, 2147483648), owners=(0, 1))
        """
        ends = _ends(shares)
        held = [(start, part) for part, (start, end) in enumerate(pairwise([0, *ends])) if end > start]
        return Division(tuple(start for start, _ in held), tuple(part for _, part in held))

    @staticmethod
    def equal(parts: int) -> Division:
        """Cut the draws into equal intervals."""
        return Division.of([1 / parts] * parts)

    def pieces(self) -> list[tuple[int, int, int]]:
        """Return (start, end, owner) of every interval."""
        return list(zip(self.starts, (*self.starts[1:], SPACE), self.owners, strict=True))

    def part_of(self, u: U32) -> NDArray[np.int64]:
        """Return the part of each draw."""
        at = np.searchsorted(np.array(self.starts, np.int64), u.astype(np.int64), side="right") - 1
        return np.array(self.owners, np.int64)[at]

    def aligned(self, shares: Sequence[float]) -> Division:
        """Return the division in these shares that moves the least: start points stay (Fig. 8b, 001-36)."""
        ends = _ends(shares)
        wanted = [end - start for start, end in pairwise([0, *ends])]
        kept: list[tuple[int, int, int]] = []
        pool: list[tuple[int, int]] = []
        for start, end, owner in self.pieces():
            take = min(end - start, wanted[owner]) if owner < len(wanted) else 0
            if take:
                wanted[owner] -= take
                kept.append((start, start + take, owner))
            if start + take < end:
                pool.append((start + take, end))
        for part, need in enumerate(wanted):
            missing = need
            while missing:
                start, end = pool.pop(0)
                take = min(missing, end - start)
                kept.append((start, start + take, part))
                missing -= take
                if start + take < end:
                    pool.insert(0, (start + take, end))
        made = _joined(sorted(kept))
        return made if len(made.starts) <= _PIECES * len(wanted) else Division.of(shares)

    def spread(self, parts: int) -> Division:
        """Return the division of the primary stream on an extra line of `parts` cells (001-17).

        Row x < `parts` belongs to cell x; every other row has no cell there and is dealt out evenly, "special" states.
        """
        dealt: list[tuple[int, int, int]] = []
        for start, end, owner in self.pieces():
            if owner < parts:
                dealt.append((start, end, owner))
                continue
            cuts = [start + (end - start) * part // parts for part in range(parts + 1)]
            dealt += [(low, high, part) for part, (low, high) in enumerate(pairwise(cuts)) if high > low]
        return _joined(dealt)

    def measures(self, parts: int) -> list[float]:
        """Return each part's share of the draws."""
        held = [0] * parts
        for start, end, owner in self.pieces():
            held[owner] += end - start
        return [size / SPACE for size in held]


def overlaps(one: Sequence[int], two: Sequence[int]) -> NDArray[np.float64]:
    """Return how much of the draws each pair of intervals shares; intervals are given by their starts."""
    low = np.maximum(np.array(one, np.int64)[:, None], np.array(two, np.int64)[None, :])
    high = np.minimum(np.array([*one[1:], SPACE], np.int64)[:, None], np.array([*two[1:], SPACE], np.int64)[None, :])
    return np.asarray(np.maximum(high - low, 0) / SPACE)


def _ends(shares: Sequence[float]) -> list[int]:
    total = sum(shares)
    ends = [round(SPACE * part) for part in np.cumsum(np.array(shares, np.float64)) / total]
    return [*ends[:-1], SPACE]


def _joined(pieces: Sequence[tuple[int, int, int]]) -> Division:
    starts: list[int] = []
    owners: list[int] = []
    for start, _, owner in pieces:
        if not owners or owners[-1] != owner:
            starts.append(start)
            owners.append(owner)
    return Division(tuple(starts), tuple(owners))
