"""ContRand, BiStream's hybrid: the key's hash picks a small subgroup, a random member of it keeps the tuple (003-25).

A hot key is spread over the members of its subgroup, and every tuple of the other side asks all of them. The spread is the
same for all keys and never changes; FastJoin (`weft.routing.fastjoin`) is what follows the load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weft.routing.biclique import BicliquePlan, BicliqueScheme
from weft.routing.groups import key_columns
from weft.routing.plan import Plan
from weft.spec import JoinSpec
from weft.spec.options import check_count

__all__ = ["ContRand"]


@dataclass(frozen=True)
class ContRand(BicliqueScheme):
    """Subgroups of `group` tasks; the authors' code has 2 (003-27). The last subgroups take what is left over."""

    name: ClassVar[str] = "contrand"

    group: int = 2

    def __post_init__(self) -> None:
        check_count("group", self.group, "tasks that share a key", "use group=2.")

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        return BicliquePlan(tasks, *key_columns(spec, self.name), members=self.group)
