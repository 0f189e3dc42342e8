"""`Adsp`: the adaptive join matrix as a scheme. Areas if the condition orders the keys, otherwise one matrix.

`Elastic` decides when a matrix gets a new layout: scale out above 80 % of V, in below 50 %, with patience (001-45). A new
layout targets 60 % of V, between the two bounds, so that a steady load causes no change. It is adopted only if it lowers the
load of the fullest task or frees tasks, and a plan stays in force for at least `patience` batches. Without V, all tasks are
used, and the layout changes if another one would lower the load of the fullest task.

Control acts two batches late. If the hot keys have moved by then, every area was made for keys that are gone, and the
area that the new ones fall into takes them all. One matrix over all keys, 2-DSP, depends on no key. So the areas made for the
oldest recorded arrivals are evaluated on the newest: if one of their tasks would get more than a task of the plain matrix, the
plain matrix is used (our addition; the paper does not ask how long a scheme will last).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, get_args

from weft.errors import SpecError
from weft.routing.adsp.dichotomy import Mode, Staircase
from weft.routing.adsp.generate import AreaLayout, fitting, generate, place
from weft.routing.adsp.mapping import Pairing
from weft.routing.adsp.notes import Flow, Gathered, gathered, noted
from weft.routing.adsp.plan import EVERY, AreaPlan
from weft.routing.adsp.varietal import Varietal
from weft.routing.conditions import ordering
from weft.routing.fixed import best_shape
from weft.routing.plan import Plan
from weft.routing.scheme import SCHEMES, BatchView, Notes, Scheme, TaskStats
from weft.spec import JoinSpec, Term
from weft.spec.options import check_choice, check_count, check_number, check_switch

__all__ = ["Adsp", "Elastic", "check_memory"]

WATCHED = 2
"""Batches from which on areas may replace the plain matrix of the beginning."""


@dataclass(frozen=True)
class Elastic(Scheme):
    """Base of the schemes that lay out a matrix for what they see.

    `memory` is V, the maximum number of tuples that a task should hold, both streams together.
    """

    memory: float | None = None
    high: float = 0.8
    low: float = 0.5
    fill: float = 0.6
    patience: int = 4
    gain: float = 0.87
    """A layout must lower the load of the fullest task below this share to be worth a migration."""
    size: int = 256
    """The approximate number of rows and columns of the compressed matrix; together, tasks record four times as many keys."""
    pairing: Pairing = "greedy"

    def __post_init__(self) -> None:
        check_memory(self.memory)
        for name, number, what in (
            ("high", self.high, "the share of memory above which tasks are added"),
            ("low", self.low, "the share of memory below which tasks are removed"),
            ("fill", self.fill, "the share of memory that a new layout aims at"),
            ("gain", self.gain, "the share of its load that the fullest task may keep in a new layout"),
        ):  # fmt: skip
            check_number(name, number, what, "leave it out for the default.", above=True, most=1)
        check_count("patience", self.patience, "batches for which a plan stays in force", "use patience=4.")
        check_count("size", self.size, "rows of the compressed matrix", "use size=256.", least=2)
        check_choice("pairing", self.pairing, get_args(Pairing))
        if not 0 < self.low < self.fill < self.high <= 1:
            raise SpecError.of(
                f"low={self.low}, fill={self.fill}, high={self.high} are not in order.",
                "They are shares of memory, between 0 and 1 and in ascending order; fill is the target of a new layout.",
                "leave them at 0.5, 0.6 and 0.8.",
            )

    def order(self, spec: JoinSpec) -> Term | None:
        """Return the term that orders the matrix, None for a matrix of draws alone."""
        raise NotImplementedError

    def layout(self, spec: JoinSpec, seen: Gathered, tasks: int, memory: float | None) -> AreaLayout:
        """Return the scheme for what was seen with `memory` tuples a task; with None, or too small a one, that of `tasks`."""
        raise NotImplementedError

    def spread(self, spec: JoinSpec, seen: Gathered, tasks: int) -> tuple[AreaLayout, str]:
        """Return the layout that uses all tasks: areas, or the plain matrix where keys move too fast for them, and says so."""

        def areas(flow: Flow) -> AreaLayout:
            return self.layout(spec, Gathered(*flow, {}, 0), tasks, None)

        if lasting(seen.flow, tasks, areas):
            return self.layout(spec, seen, tasks, None), ""
        return plain(seen.left.total, seen.right.total, tasks), "keys move faster than areas can follow: "

    def first_plan(self, spec: JoinSpec, tasks: int) -> AreaPlan:
        """Spread the first batches as a plain matrix: nothing is known yet."""
        term = self.order(spec)
        return AreaPlan.whole(tasks, () if term is None else (term.left, term.right))

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        return noted(spec, view, before, 4 * self.size, lately=self.memory is None)

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        first = self.first_plan(spec, plan.tasks)
        if not isinstance(plan, AreaPlan):
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

    def _due(self, plan: AreaPlan, seen: Gathered) -> bool:
        """Tell whether a plan may change: every `patience` batches.

        The first plan knew nothing, so the paper's elasticity has no patience with it. Areas for all tasks wait until two
        batches tell whether keys stand still: the plain matrix they start with is what keys that run away are left with.
        """
        if not plan.epoch and (self.memory is not None or not plan.columns or seen.age == WATCHED):
            return True
        return seen.age % self.patience == 0

    def decide(self, spec: JoinSpec, plan: AreaPlan, seen: Gathered) -> tuple[AreaLayout | None, str]:
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


@SCHEMES.register
@dataclass(frozen=True)
class Adsp(Elastic):
    """Uses as few tasks of `memory` tuples as possible (A-DSP); without `memory`, all tasks with the least input per task.

    References
    ----------
    [^1]: Fang, Zhang, Zhao, Zheng, Zhou, Zhou. A-DSP: An Adaptive Join Algorithm for Dynamic Data Stream on Cloud
        System. IEEE TKDE 2021.
    """

    name: ClassVar[str] = "adsp"

    mode: Mode = "greedy"
    tries: int | None = 2
    """How many splits of an area to try, the most promising first; None tries all, which takes seconds."""
    exhaustive: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("mode", self.mode, get_args(Mode))
        if self.tries is not None:
            check_count("tries", self.tries, "splits of an area to try", "use tries=2, or None for all.")
        check_switch("exhaustive", self.exhaustive)

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return (
            Adsp(patience=1),
            Adsp(memory=4, patience=1, size=4),
            Adsp(memory=7, patience=2, size=8, pairing="optimal"),
        )

    def order(self, spec: JoinSpec) -> Term | None:
        return ordering(spec)

    def layout(self, spec: JoinSpec, seen: Gathered, tasks: int, memory: float | None) -> AreaLayout:
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


def check_memory(memory: float | None) -> None:
    """Refuse what is no number of tuples."""
    if memory is not None:
        hint = "leave it out to use all tasks, or give a number of tuples."
        check_number("memory", memory, "how many tuples a task may hold", hint, above=True)
        if math.isinf(memory):
            raise SpecError.of("memory=inf is not valid.", "One task would hold everything.", hint)


def _shape(layout: AreaLayout) -> str:
    areas = len(layout.shapes)
    return f"{layout.tasks} in {areas} area{'s' if areas != 1 else ''}"


def plain(left: float, right: float, tasks: int) -> AreaLayout:
    """Return the layout of one area over all keys."""
    shape = Varietal(*best_shape(tasks, max(left, 1.0), max(right, 1.0)))
    return AreaLayout((EVERY,), (EVERY,), ((left, right),), (shape,))


def lasting(found: Sequence[Flow], tasks: int, areas: Callable[[Flow], AreaLayout]) -> bool:
    """Tell whether areas made for the oldest batch noted still serve the newest better than the plain matrix would."""
    if len(found) < 2:
        return True
    newest, oldest = found[0], found[-1]
    if min(side.total for side in (*newest, *oldest)) <= 0:
        return True
    return borne(areas(oldest), newest) <= plain(newest[0].total, newest[1].total, tasks).fullest


def borne(layout: AreaLayout, flow: Flow) -> float:
    """Return what the busiest task of a layout would get of these arrivals."""
    left, right = flow
    return max(
        max(shape.loads(left.mass(*rows), right.mass(*columns)))
        for shape, rows, columns in zip(layout.shapes, layout.left, layout.right, strict=True)
    )
