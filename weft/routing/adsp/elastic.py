"""When a matrix is laid out anew: scale out above 80 %, in below 50 % of V, with patience (001-45).

A new scheme is made for 60 % of V, between the two marks, so that a steady load stays where it is. It is taken only if it
relieves the fullest task or frees tasks, and no plan is changed before it has been in force for `patience` batches.
Without a V the tasks given are all used, and the scheme changes when another one would relieve the fullest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import get_args

from weft.errors import SpecError
from weft.routing.adsp.flow import Flow, lasting, plain
from weft.routing.adsp.generate import Layout, place
from weft.routing.adsp.mapping import Pairing
from weft.routing.adsp.notes import Seen, gathered, noted
from weft.routing.adsp.plan import AreaPlan
from weft.routing.plan import Plan
from weft.routing.scheme import Notes, Scheme, TaskStats, TaskView
from weft.spec import JoinSpec, Term
from weft.spec.options import check_choice, check_count, check_number

__all__ = ["Elastic", "check_memory"]


def check_memory(memory: float | None) -> None:
    """Refuse what is no number of tuples."""
    if memory is not None:
        hint = "leave it out to use all tasks, or give a number of tuples."
        check_number("memory", memory, "how many tuples a task may hold", hint, above=True)
        if math.isinf(memory):
            raise SpecError.of("memory=inf.", "Then one task holds everything.", hint)


WATCHED = 2
"""Batches from which on areas may replace the plain matrix of the beginning."""


@dataclass(frozen=True)
class Elastic(Scheme):
    """Base of the schemes that lay out a matrix for what they see.

    `memory` is V, the tuples a task should hold at most, both streams together.
    """

    memory: float | None = None
    high: float = 0.8
    low: float = 0.5
    fill: float = 0.6
    patience: int = 4
    gain: float = 0.87
    """A layout that relieves the fullest task to no less than this share of its load is not worth a migration."""
    size: int = 256
    """Rows and columns of the compressed matrix, about; tasks note four times as many keys between them."""
    pairing: Pairing = "greedy"

    def __post_init__(self) -> None:
        check_memory(self.memory)
        for name, number, what in (
            ("high", self.high, "the share of memory above which tasks are added"),
            ("low", self.low, "the share of memory below which tasks are given up"),
            ("fill", self.fill, "the share of memory that a new layout aims at"),
            ("gain", self.gain, "the share of its load to which the fullest task must be relieved"),
        ):  # fmt: skip
            check_number(name, number, what, "leave it out for the default.", above=True, most=1)
        check_count("patience", self.patience, "batches that a plan stays in force at least", "use patience=4.")
        check_count("size", self.size, "rows of the compressed matrix", "use size=256.", least=2)
        check_choice("pairing", self.pairing, get_args(Pairing))
        if not 0 < self.low < self.fill < self.high <= 1:
            raise SpecError.of(
                f"low={self.low}, fill={self.fill}, high={self.high}.",
                "They are shares of memory, in this order; fill is what a new layout aims at.",
                "leave them at 0.5, 0.6 and 0.8.",
            )

    def order(self, spec: JoinSpec) -> Term | None:
        """Return the term that orders the matrix, None for a matrix of draws alone."""
        raise NotImplementedError

    def layout(self, spec: JoinSpec, seen: Seen, tasks: int, memory: float | None) -> Layout:
        """Return the scheme for what was seen with `memory` tuples a task; with None, or too small a one, that of `tasks`."""
        raise NotImplementedError

    def spread(self, spec: JoinSpec, seen: Seen, tasks: int) -> tuple[Layout, str]:
        """Return the layout that uses all tasks: areas, or the plain matrix where keys move too fast for them, and says so."""

        def areas(flow: Flow) -> Layout:
            return self.layout(spec, Seen(*flow, {}, 0), tasks, None)

        if lasting(seen.flow, tasks, areas):
            return self.layout(spec, seen, tasks, None), ""
        return plain(seen.left.total, seen.right.total, tasks), "keys move faster than areas can follow: "

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        """Spread the first batches as a plain matrix: nothing is known yet."""
        term = self.order(spec)
        return AreaPlan.whole(tasks, () if term is None else (term.left, term.right))

    def watch(self, spec: JoinSpec, view: TaskView, before: Notes) -> Notes:
        return noted(spec, view, before, 4 * self.size, lately=self.memory is None)

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        first = self.initial(spec, plan.tasks)
        if not isinstance(plan, AreaPlan) or not isinstance(first, AreaPlan):
            return first, f"scheme is now {self.name}"
        if plan.columns != first.columns:
            return replace(first, epoch=plan.epoch + 1), f"scheme is now {self.name}"
        seen = gathered(plan, stats)
        if seen is None or not self._due(plan, seen):
            return plan, ""
        made, why = self.decide(spec, plan, seen)
        if made is None:
            return plan, ""
        areas = place(made, plan.areas, seen.mass, plan.tasks, self.pairing)
        return replace(plan, areas=areas, epoch=plan.epoch + 1), why

    def _due(self, plan: AreaPlan, seen: Seen) -> bool:
        """Tell whether a plan may change: every `patience` batches.

        The first plan knew nothing, so the paper's elasticity has no patience with it. Areas for all tasks wait until two
        batches tell whether keys stand still: the plain matrix they start with is what keys that run away are left with.
        """
        if not plan.epoch and (self.memory is not None or not plan.columns or seen.age == WATCHED):
            return True
        return seen.age % self.patience == 0

    def decide(self, spec: JoinSpec, plan: AreaPlan, seen: Seen) -> tuple[Layout | None, str]:
        """Return the layout to change to, and why; None to stay."""
        active = len(plan.active)
        if self.memory is None:
            if seen.fullest * plan.tasks * self.gain <= seen.left.total + seen.right.total:
                return None, ""  # no layout whatever could relieve it enough
            made, moving = self.spread(spec, seen, plan.tasks)
            if made.fullest >= self.gain * seen.fullest:
                return None, ""
            return made, f"{moving}fullest task {seen.fullest:,} tuples, {made.fullest:,.0f} in {_shape(made)}"
        share = seen.fullest / self.memory
        if share > self.high:
            made = self.layout(spec, seen, plan.tasks, self.fill * self.memory)
            if made.fullest >= self.gain * seen.fullest and made.fullest > self.high * self.memory:
                return None, ""  # the tasks there are cannot do much better
            return made, f"fullest task at {share:.0%} of its memory: {active} tasks become {_shape(made)}"
        if seen.mean < self.low * self.memory and active > 1:
            made = self.layout(spec, seen, plan.tasks, self.fill * self.memory)
            if made.tasks < active and made.fullest <= self.high * self.memory:
                return made, f"tasks at {seen.mean / self.memory:.0%} of their memory: {active} become {_shape(made)}"
        return None, ""


def _shape(layout: Layout) -> str:
    areas = len(layout.shapes)
    return f"{layout.tasks} in {areas} area{'s' if areas != 1 else ''}"
