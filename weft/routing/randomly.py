"""Random partitioning in a biclique: any task of a group keeps a tuple, all tasks of the other group are asked (003-25).

Serves any condition and no skew disturbs it, but every tuple is looked up on half of all tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weft.routing.biclique import BicliquePlan, BicliqueScheme
from weft.routing.plan import Plan
from weft.spec import JoinSpec

__all__ = ["Random"]


@dataclass(frozen=True)
class Random(BicliqueScheme):
    """Kept by one task of its side's group, looked up in the whole other group."""

    name: ClassVar[str] = "random"

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        return BicliquePlan(tasks, subgroups=1)
