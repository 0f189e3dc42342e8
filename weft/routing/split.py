"""A tuple is kept by one task and asks all of them (split join, 000-32; round robin of 002-05)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from weft.routing.plan import Plan, draw_of, owned
from weft.types import U32, Bools, Side, Words

__all__ = ["SplitPlan"]


@dataclass(frozen=True)
class SplitPlan(Plan):
    """Store on the task that `u` draws, look up on all."""

    scheme: ClassVar[str] = "split"

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        return owned(draw_of(u, self.tasks), self.tasks)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return np.ones((self.tasks, len(u)), np.bool_)

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        return 1.0, 1.0

    def lookups(self) -> tuple[float, float]:
        return float(self.tasks), float(self.tasks)
