"""BiStream's two other partitionings, by their names: random, and ContRand between random and hash (003-25).

`Biclique(subgroups=1)` is the first; the second says how many tasks share a key instead of how many subgroups there are.

References
----------
[^1]: Lin, Ooi, Wang, Yu. Scalable Distributed Stream Join Processing. SIGMOD 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weft.routing import SCHEMES, BicliquePlan, Need, OverBiclique, Plan, Scheme, equality_columns
from weft.spec import JoinSpec
from weft.spec.options import check_count

__all__ = ["ContRand", "Random"]


@SCHEMES.register
@dataclass(frozen=True)
class Random(OverBiclique):
    """Stores a tuple on a random task of its group and probes the whole other group. Serves any condition."""

    name: ClassVar[str] = "random"

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        return BicliquePlan(tasks, subgroups=1)


@SCHEMES.register
@dataclass(frozen=True)
class ContRand(OverBiclique):
    """Subgroups of `group` tasks; the authors' code uses 2 (003-27). The last subgroups take the remaining tasks."""

    name: ClassVar[str] = "contrand"
    needs = (Need.EQUALITY,)

    group: int = 2

    def __post_init__(self) -> None:
        check_count("group", self.group, "tasks that share a key", "use group=2.")

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return ContRand(), ContRand(group=3)

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        return BicliquePlan(tasks, *equality_columns(spec), members=self.group)
