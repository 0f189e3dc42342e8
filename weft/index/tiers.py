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
from functools import lru_cache

__all__ = ["merge_from"]


def merge_from(sizes: Sequence[int], ratio: float, fanout: int, small: int, few: int = 0, width: int = 0) -> int:
    """Return the position from which on all runs are merged into one; `len(sizes)` for none.

    >>> merge_from([1000, 100, 50], ratio=1, fanout=4, small=60)
    3
    >>> merge_from([1000, 100, 50, 8], ratio=1, fanout=4, small=60)
    2
    >>> merge_from([1000, 600, 500], ratio=1, fanout=4, small=60)
    0
    >>> merge_from([1000, 600, 500], ratio=1, fanout=4, small=60, few=4)
    3
    """
    left = list(sizes)
    while True:
        if len(left) > max(few, 1) and sum(left[1:]) >= ratio * left[0]:
            return 0
        cut = _tier_cut(left, fanout, width or fanout, small)
        if cut == len(left):
            return cut if len(left) == len(sizes) else cut - 1
        left[cut:] = [sum(left[cut:])]


def _tier_cut(sizes: Sequence[int], fanout: int, width: int, small: int) -> int:
    """Return where the first overfull tier at the young end begins. T_S, the first run, is in none."""
    tiers = [_tier(size, width, small) for size in sizes]
    for tier in range(max(tiers[1:], default=-1) + 1):
        cut = len(tiers)
        while cut > 1 and tiers[cut - 1] <= tier:
            cut -= 1
        if tiers[cut:].count(tier) >= (fanout if tier else 2):
            return cut
    return len(sizes)


@lru_cache(maxsize=1024)
def _tier(size: int, width: int, small: int) -> int:
    tier = 0
    while size >= small:
        size //= width
        tier += 1
    return tier
