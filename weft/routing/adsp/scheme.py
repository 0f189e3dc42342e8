"""`Adsp`: the adaptive join matrix as a scheme. Areas where the condition orders the keys, one matrix where it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

from weft.routing.adsp.dichotomy import Mode
from weft.routing.adsp.elastic import Elastic
from weft.routing.adsp.generate import Layout, fitting, generate
from weft.routing.adsp.notes import Seen
from weft.routing.adsp.order import ordering
from weft.routing.adsp.staircase import Staircase
from weft.spec import JoinSpec, Term
from weft.spec.options import check_choice, check_count, check_switch

__all__ = ["Adsp"]


@dataclass(frozen=True)
class Adsp(Elastic):
    """The fewest tasks of `memory` tuples each (A-DSP); without `memory`, the least input per task on all tasks.

    References
    ----------
    [^1]: Fang, Zhang, Zhao, Zheng, Zhou, Zhou. A-DSP: An Adaptive Join Algorithm for Dynamic Data Stream on Cloud
        System. IEEE TKDE 2021.
    """

    name: ClassVar[str] = "adsp"

    mode: Mode = "greedy"
    tries: int | None = 2
    """Splits of an area that are followed, the most promising first; None follows all, which takes seconds."""
    exhaustive: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("mode", self.mode, get_args(Mode))
        if self.tries is not None:
            check_count("tries", self.tries, "splits of an area that are followed", "use tries=2, or None for all.")
        check_switch("exhaustive", self.exhaustive)

    def order(self, spec: JoinSpec) -> Term | None:
        return ordering(spec)

    def layout(self, spec: JoinSpec, seen: Seen, tasks: int, memory: float | None) -> Layout:
        term = ordering(spec)
        if term is None:
            stairs = Staircase.whole(seen.left.total, seen.right.total)
        else:
            stairs = Staircase.of(term, seen.left, seen.right, self.size)
        if memory is not None:
            made = generate(stairs, memory, mode=self.mode, tries=self.tries, exhaustive=self.exhaustive)
            if made.tasks <= tasks:
                return made
        return fitting(stairs, tasks, mode=self.mode, tries=self.tries, exhaustive=self.exhaustive)
