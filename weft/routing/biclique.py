"""Join-biclique (BiStream): one group of tasks keeps the left stream, the other the right one; tuples ask across (003-01).

A tuple is kept once, by its own group, and asks the other group, where it is not kept. Each group is cut into subgroups:
the key's hash picks the subgroup, the draw `u` the member that keeps the tuple, and a tuple of the other side asks all
members. One member per subgroup is hash partitioning, one subgroup per group is random partitioning, which serves any
condition, and what lies between is BiStream's ContRand (003-25). Bi and Bi_6 of the A-DSP paper are one and six
subgroups (001-43).

References
----------
[^1]: Lin, Ooi, Wang, Yu. Scalable Distributed Stream Join Processing. SIGMOD 2015.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from weft.routing.groups import group_of, hash_home, key_columns, key_word
from weft.routing.plan import Plan
from weft.routing.scheme import Scheme, TaskStats
from weft.spec import JoinSpec
from weft.spec.options import check_count
from weft.types import U32, Bools, Side, Words, other

__all__ = ["Biclique", "BicliquePlan", "BicliqueScheme"]


@dataclass(frozen=True)
class BicliquePlan(Plan):
    """Two groups of tasks, cut into subgroups: `subgroups` of them, or (0) as many as leave `members` in each.

    `left` and `right` name the key's word columns; with one subgroup they are not looked at and may be empty.
    """

    scheme: ClassVar[str] = "biclique"

    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    subgroups: int = 0
    members: int = 1

    def cuts(self, keeper: Side) -> NDArray[np.int64]:
        """Return where the subgroups of a group begin, and the end of the last one, as task numbers."""
        group = group_of(keeper, self.tasks)
        count = min(self.subgroups or max(1, group.size // self.members), group.size)
        return group.start + np.arange(count + 1, dtype=np.int64) * group.size // count

    def _subgroup(self, side: Side, words: Words, count: int) -> NDArray[np.int64]:
        if count == 1:
            return np.zeros(words.shape[1], np.int64)
        return hash_home(key_word(words, self.left if side == "left" else self.right), count)

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        cuts = self.cuts(side)
        subgroup = self._subgroup(side, words, len(cuts) - 1)
        size = np.diff(cuts)[subgroup]
        member = (u.astype(np.uint64) * size.astype(np.uint64) >> np.uint64(32)).astype(np.int64)
        return np.asarray(cuts[subgroup] + member == np.arange(self.tasks)[:, None])

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        cuts = self.cuts(other(side))
        subgroup = self._subgroup(side, words, len(cuts) - 1)
        task = np.arange(self.tasks)[:, None]
        return np.asarray((task >= cuts[subgroup]) & (task < cuts[subgroup + 1]))

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        return 1.0, 1.0

    def lookups(self) -> tuple[float, float]:
        return float(np.diff(self.cuts("right")).max()), float(np.diff(self.cuts("left")).max())


@dataclass(frozen=True)
class BicliqueScheme(Scheme):
    """What the schemes over `BicliquePlan` share: the plan never changes, unless another of them left it."""

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        asked = self.initial(spec, plan.tasks)
        return (plan, "") if plan == asked else (asked, f"scheme is now {self.name}")


@dataclass(frozen=True)
class Biclique(BicliqueScheme):
    """BiStream. Without `subgroups` keys are hashed to single tasks; `subgroups=1` is random partitioning.

    >>> Biclique(subgroups=6).name
    'biclique'
    """

    name: ClassVar[str] = "biclique"

    subgroups: int | None = None

    def __post_init__(self) -> None:
        if self.subgroups is not None:
            hint = "leave it out for one task per subgroup (hash partitioning)."
            check_count("subgroups", self.subgroups, "subgroups each group of tasks is cut into", hint)

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        if self.subgroups == 1:
            return BicliquePlan(tasks, subgroups=1)
        return BicliquePlan(tasks, *key_columns(spec, self.name), self.subgroups or 0)
