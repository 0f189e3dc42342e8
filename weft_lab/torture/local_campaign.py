"""The campaign on the local runtime: seeds by the thousand, each a join with its input and its troubles."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable

from weft.spec import INNER, KINDS
from weft_lab.torture.asof_cases import an_asof_case
from weft_lab.torture.cases import a_case
from weft_lab.torture.draw import Draw, Seeded
from weft_lab.torture.lives import Lived, Mortal, Troubles, live
from weft_lab.torture.tally import Enough, Tally, Tell, nothing_told

__all__ = ["local_life", "run_local"]


_ASOF = 5
"""One seed in so many is an as-of join."""


def local_life(seed: int) -> Lived:
    """Run the join of a seed through its troubles; raises where anything came out wrong."""
    draw = Seeded(seed)
    case = an_asof_case(draw, streams=True, most=7, size=12) if seed % _ASOF == _ASOF - 1 else _any_other(draw)
    return live(case, draw, Troubles(crash=True, rescale=draw.flag(), change=draw.flag(), most=4))


def _any_other(draw: Draw) -> Mortal:
    itself = draw.integer(0, 3) == 3
    unordered = itself and draw.flag()
    kinds = (INNER,) if unordered else (INNER, *KINDS.values())
    return a_case(draw, itself=itself, unordered=unordered, most=draw.pick((3, 6, 12)), kinds=kinds)


def run_local(seeds: Iterable[int], enough: Enough, tell: Tell = nothing_told) -> Tally:
    """Run seeds until there are no more, or enough was done."""
    tally, started = Tally(), time.monotonic()
    for seed in seeds:
        if enough(tally):
            break
        try:
            lived = local_life(seed)
            tally.counts += lived.counts
            tally.pairs += lived.pairs
        except Exception:  # noqa: BLE001  whatever it is, it is a finding
            tally.failures[seed] = traceback.format_exc()
        tally.seeds += 1
        tally.seconds = time.monotonic() - started
        tell(tally)
    return tally
