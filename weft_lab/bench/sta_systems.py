"""The six systems of the paper by their abbreviations, as schemes and indexes of Weft."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from weft.routing import Scheme, Split, Sta
from weft_lab.schemes import Chained, Pim

__all__ = ["SYSTEMS", "Sizes", "System"]


class Sizes(NamedTuple):
    """What a scheme may have to know: the checkpoint interval in event time, and the rows of a window."""

    checkpoint: int
    rows: int


@dataclass(frozen=True)
class System:
    """A scheme for given sizes, the index that its tasks hold, and whether it finds every pair."""

    scheme: Callable[[Sizes], Scheme]
    index: str
    exact: bool


SYSTEMS: dict[str, System] = {
    "BCHJ": System(lambda _: Chained("all", "one"), "scan", exact=True),
    "SJ": System(lambda _: Split(), "runs", exact=True),
    "CI": System(lambda size: Chained("one", "one", size.checkpoint), "runs", exact=False),
    "MCI": System(lambda _: Chained("all", "one"), "runs", exact=True),
    "MCI code": System(lambda _: Chained("one", "all"), "runs", exact=True),
    "PIM": System(lambda size: Pim(max(1, size.rows // 2), "paper", size.checkpoint), "runs", exact=False),
    "PIM exact": System(lambda size: Pim(max(1, size.rows // 2), "exact"), "runs", exact=True),
    "STA": System(lambda size: Sta(mode="paper", checkpoint=size.checkpoint, margin=1, worth=0), "runs", exact=False),
    "STA exact": System(lambda _: Sta(), "runs", exact=True),
}
"""BCHJ hashes its lookups (Alg. 3 line 4), so it is the routing of MCI with a list for an index. Round robin and random
choices are draws of `u`. MCI as the paper prints it and as the authors' code has it (000-34)."""
