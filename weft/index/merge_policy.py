"""Which runs to merge: PIM-Tree's rule over a few tiers.

The oldest run is the paper's T_S, all younger ones are its T_I (002-10). T_I is merged into T_S when it reaches
`ratio` of it; expired rows go in that merge. With a ratio a little above 1 and a sliding window all of T_S has expired
by then and is dropped without being read. Inside T_I runs form tiers: those of one tier differ in size by less than `width`
(by default `fanout`), and `fanout` of them make one. Wide tiers of few runs each are quick to probe and move rows more
often; narrow ones of many runs do the contrary. Runs too small to matter are merged at once. Up to `few` runs T_S is left alone:
a window of a few batches is cheaper to probe run by run than to write again.

The decision is a function of the sizes alone: replaying a batch decides alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from weft.errors import SpecError

__all__ = ["IN_MEMORY", "PERSISTED", "MergePolicy"]


@dataclass(frozen=True)
class MergePolicy:
    """When runs are merged.

    >>> MergePolicy(ratio=1, fanout=4, small=60).merge_from([1000, 100, 50])
    3
    >>> MergePolicy(ratio=1, fanout=4, small=60).merge_from([1000, 100, 50, 8])
    2
    >>> MergePolicy(ratio=1, fanout=4, small=60).merge_from([1000, 600, 500])
    0
    >>> MergePolicy(ratio=1, fanout=4, small=60, few=4).merge_from([1000, 600, 500])
    3
    """

    ratio: float = 1.0
    """Younger runs join the oldest one when they hold this share of its rows (002-10)."""
    fanout: int = 4
    """How many runs of one tier make one of the next."""
    small: int = 2048
    """Runs of fewer rows are merged at once."""
    few: int = 0
    """Up to this many runs the oldest one is left alone."""
    width: int = 0
    """By how much the sizes of one tier's runs may differ; 0: by `fanout`."""

    def __post_init__(self) -> None:
        if not self.ratio > 0:
            raise SpecError.of(f"merge_ratio={self.ratio}.", "It is a share of T_S, more than 0.", "use 1.")

    def merge_from(self, sizes: Sequence[int]) -> int:
        """Return the position from which on all runs, oldest first, are merged into one; `len(sizes)` for none."""
        left = list(sizes)
        while True:
            if len(left) > max(self.few, 1) and sum(left[1:]) >= self.ratio * left[0]:
                return 0
            cut = self._tier_cut(left)
            if cut == len(left):
                return cut if len(left) == len(sizes) else cut - 1
            left[cut:] = [sum(left[cut:])]

    def _tier_cut(self, sizes: Sequence[int]) -> int:
        """Return where the first overfull tier at the young end begins. T_S, the first run, is in none."""
        tiers = [_tier(size, self.width or self.fanout, self.small) for size in sizes]
        for tier in range(max(tiers[1:], default=-1) + 1):
            cut = len(tiers)
            while cut > 1 and tiers[cut - 1] <= tier:
                cut -= 1
            if tiers[cut:].count(tier) >= (self.fanout if tier else 2):
                return cut
        return len(sizes)


@lru_cache(maxsize=1024)
def _tier(size: int, width: int, small: int) -> int:
    tier = 0
    while size >= small:
        size //= width
        tier += 1
    return tier


IN_MEMORY = MergePolicy(ratio=0.2, fanout=2, few=2, width=8)
"""A merge moves keys and row numbers, so it is cheap, and fewer runs are quicker to probe."""

PERSISTED = MergePolicy(ratio=1.25, fanout=4, few=4, width=4)
"""A merge also writes the rows, so it is rare. 002-27 finds a ratio of 1 best; a little more lets the oldest run of a sliding
window expire as a whole instead of being written again."""
