"""Every task keeps everything; a tuple asks one task (BCHJ of the STA paper, 000-31)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from weft.routing.plan import Plan, draw_of, owned
from weft.types import U32, Bools, Side, Words

__all__ = ["BroadcastPlan"]


@dataclass(frozen=True)
class BroadcastPlan(Plan):
    """Store on all tasks, look up on the one that `u` draws."""

    scheme: ClassVar[str] = "broadcast"

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        return np.ones((self.tasks, len(u)), np.bool_)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return owned(draw_of(u, self.tasks), self.tasks)

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        return float(self.tasks), float(self.tasks)

    def lookups(self) -> tuple[float, float]:
        return 1.0, 1.0
