"""Join-biclique (BiStream): one group of tasks stores the left stream, the other the right; tuples probe across (003-01).

A tuple is stored once, by its own group, and probes the other group, which does not store it. Each group is divided into
subgroups: the key's hash picks the subgroup, the draw `u` the member that stores the tuple, and a tuple of the other side
probes all members. One member per subgroup is hash partitioning. One subgroup per group is random partitioning, which serves
any condition and is immune to skew. Anything in between spreads a hot key over a subgroup (003-25). That spread never changes;
FastJoin adapts to the load. Bi and Bi_6 of the A-DSP paper are one and six subgroups (001-43).

References
----------
[^1]: Lin, Ooi, Wang, Yu. Scalable Distributed Stream Join Processing. SIGMOD 2015.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from weft.routing.conditions import Need, equality_columns
from weft.routing.plan import Plan, group_of, hash_home, key_word
from weft.routing.scheme import SCHEMES, Scheme, TaskStats
from weft.spec import JoinSpec
from weft.spec.options import check_count
from weft.types import U32, Bools, Side, Words, other

__all__ = ["Biclique", "BicliquePlan", "OverBiclique"]


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

    def describe(self) -> str:
        left, right = len(self.cuts("left")) - 1, len(self.cuts("right")) - 1
        return f"a biclique, {left} subgroups for left rows and {right} for right rows"

    def adapt(self, tasks: int) -> Plan:
        return replace(self, tasks=tasks)

    def copies(self) -> tuple[float, float]:
        return 1.0, 1.0

    def lookups(self) -> tuple[float, float]:
        return float(np.diff(self.cuts("right")).max()), float(np.diff(self.cuts("left")).max())


@dataclass(frozen=True)
class OverBiclique(Scheme):
    """What the schemes over `BicliquePlan` share: the plan never changes, unless another of them left it."""

    adapts = False

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        asked = self.first_plan(spec, plan.tasks)
        return (plan, "") if plan == asked else (asked, f"scheme is now {self.name}")


@SCHEMES.register
@dataclass(frozen=True)
class Biclique(OverBiclique):
    """BiStream. By default, keys are hashed to single tasks; `subgroups=1` is random partitioning.

    >>> Biclique(subgroups=6).name
    'biclique'
    """

    name: ClassVar[str] = "biclique"

    subgroups: int | None = None

    def __post_init__(self) -> None:
        if self.subgroups is not None:
            hint = "leave it out for one task per subgroup (hash partitioning)."
            check_count("subgroups", self.subgroups, "subgroups of each group of tasks", hint)

    @property
    def needs(self) -> tuple[Need, ...]:
        return () if self.subgroups == 1 else (Need.EQUALITY,)

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return Biclique(), Biclique(subgroups=1), Biclique(subgroups=2)

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        if self.subgroups == 1:
            return BicliquePlan(tasks, subgroups=1)
        return BicliquePlan(tasks, *equality_columns(spec), self.subgroups or 0)
