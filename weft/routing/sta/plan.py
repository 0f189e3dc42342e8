"""STA: hot keys to tasks of their own, cold keys spread over the others (Alg. 2, 000-16..000-22; lookups 000-18).

The tasks are numbered from 0: the last ones are hot, the others cold (000-20). Alg. 2 keeps a counter for its round robin;
a plan is a pure function of a tuple, so the tuple's draw `u` stands for it: as even, and the same on every replay. Called
"power of two choices" in the paper, the round robin compares no loads (000-21); `choices="two choices"` does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from weft.routing.plan import Plan, draw_of
from weft.types import U32, WORD_MIN, Bools, Side, Words

__all__ = ["StaPlan"]


@lru_cache(maxsize=64)
def _array(words: tuple[int, ...]) -> Words:
    """Return a plan's tuple as an array; a migration asks the same plan many times."""
    made = np.array(words, np.int64)
    made.flags.writeable = False
    return made


@dataclass(frozen=True)
class StaPlan(Plan):
    """Hot keys per side, in ascending order, and how cold keys are kept.

    A cold tuple is kept by the cold task that `u` draws, and by every cold task if its side is `shared` or its timestamp
    lies before `published`. A lookup asks all hot tasks, and all cold ones or, with `ask_one`, one of them. Complete if
    `ask_one == shared`; otherwise the paper's stale chain.
    `left_place` and `right_place` name each hot key's task among the hot ones; empty, `u` draws it.
    """

    scheme: ClassVar[str] = "sta"

    left: int = 0
    right: int = 0
    hot: int = 2
    left_hot: tuple[int, ...] = ()
    right_hot: tuple[int, ...] = ()
    left_place: tuple[int, ...] = ()
    right_place: tuple[int, ...] = ()
    ask_one: bool = False
    shared: bool = False
    left_time: int = -1
    right_time: int = -1
    published: int = WORD_MIN

    @property
    def hot_tasks(self) -> int:
        """Return how many tasks are hot; at least one is left for the cold keys."""
        return min(self.hot, self.tasks - 1)

    @property
    def cold_tasks(self) -> int:
        """Return how many tasks are cold."""
        return self.tasks - self.hot_tasks

    def is_hot(self, side: Side, words: Words) -> tuple[Bools, Words]:
        """Tell which tuples have a hot key, and the place of each among the hot keys."""
        keys = _array(self.left_hot if side == "left" else self.right_hot)
        word = words[self.left if side == "left" else self.right]
        if not len(keys) or not self.hot_tasks:
            return np.zeros(len(word), np.bool_), np.zeros(len(word), np.int64)
        place = np.minimum(np.searchsorted(keys, word), len(keys) - 1)
        return np.asarray(keys[place] == word), place

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        hot, place = self.is_hot(side, words)
        placed = _array(self.left_place if side == "left" else self.right_place)
        owner = draw_of(u, self.cold_tasks)
        if hot.any():
            among = placed[place[hot]] if len(placed) else draw_of(u[hot], self.hot_tasks)
            owner[hot] = self.cold_tasks + among
        kept = np.asarray(owner[None, :] == np.arange(self.tasks)[:, None])
        column = self.left_time if side == "left" else self.right_time
        if self.shared:
            kept[: self.cold_tasks] |= ~hot
        elif column >= 0:
            kept[: self.cold_tasks] |= ~hot & (words[column] < self.published)
        return kept

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        asked = np.ones((self.tasks, len(u)), np.bool_)
        if self.ask_one:
            asked[: self.cold_tasks] = draw_of(u, self.cold_tasks)[None, :] == np.arange(self.cold_tasks)[:, None]
        if not (self.right_hot if side == "left" else self.left_hot):
            asked[self.cold_tasks :] = False  # nothing is kept there
        return asked

    def describe(self) -> str:
        missed = "; some pairs since the last checkpoint are missed" if self.ask_one and not self.shared else ""
        return f"{self.cold_tasks} tasks for cold keys, {self.hot_tasks} for hot ones{missed}"

    def adapt(self, tasks: int) -> Plan:
        hot = max(1, min(self.hot, tasks - 1))
        left, right = (tuple(place % hot for place in side) for side in (self.left_place, self.right_place))
        return replace(self, tasks=tasks, left_place=left, right_place=right)

    def copies(self) -> tuple[float, float]:
        most = float(self.cold_tasks if self.ask_one else 1)
        return most, most

    def lookups(self) -> tuple[float, float]:
        cold = 1 if self.ask_one else self.cold_tasks
        return float(cold + self.hot_tasks), float(cold + self.hot_tasks)
