"""Equal keys to one task: a tuple is stored once and asks once. Fast, and at the mercy of a hot key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from weft.kernels import mix_words
from weft.routing.plan import Plan, draw_of, owned
from weft.types import U32, Bools, Side, Words

__all__ = ["HashPlan"]


@dataclass(frozen=True)
class HashPlan(Plan):
    """The task is a hash of the equality word."""

    scheme: ClassVar[str] = "hash"

    left: int = 0
    right: int = 0

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        hashed = mix_words([words[self.left if side == "left" else self.right]]).view(np.uint64)
        return owned(draw_of((hashed >> np.uint64(32)).astype(np.uint32), self.tasks), self.tasks)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        return self.store(side, words, u)

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        return 1.0, 1.0

    def lookups(self) -> tuple[float, float]:
        return 1.0, 1.0
