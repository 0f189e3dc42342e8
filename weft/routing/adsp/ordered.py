"""What `auto` runs for bands and inequalities: key ranges while they are balanced, then A-DSP areas.

Ranges store every row once, which is optimal while keys are stationary and no single key is hot. If balanced ranges become
unbalanced, the keys moved; if ranges would be unbalanced however they are cut, some keys are too hot for one task. Both are
measured on what the tasks hold, and both call for areas, which follow the keys and split a hot key over several tasks. The
scheme never switches back: areas of uniform, stationary keys are key ranges too, so nothing would be gained, and plans cannot
oscillate. From then on `Adsp` decides, with its own patience.

An inequality reaches half of all ranges, so it keeps the matrix it starts with until areas, which skip impossible pairs, lower
the load of its tasks.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from weft.routing.adsp.generate import place
from weft.routing.adsp.notes import LEAST, Gathered, Histogram, flow_noted, flows, keys_noted
from weft.routing.adsp.plan import Area, AreaPlan, lay
from weft.routing.adsp.scheme import Adsp
from weft.routing.adsp.varietal import Varietal
from weft.routing.conditions import Need, ordering
from weft.routing.fixed import MatrixPlan
from weft.routing.plan import Plan
from weft.routing.range import RangePlan
from weft.routing.scheme import SCHEMES, BatchView, Notes, Scheme, TaskStats
from weft.spec import JoinSpec, Op
from weft.spec.options import check_count, check_number
from weft.types import SIDES, WORD_MAX, WORD_MIN

__all__ = ["Ordered"]


@SCHEMES.register
@dataclass(frozen=True)
class Ordered(Scheme):
    """Key ranges that switch to areas of the ordered tuple matrix.

    `imbalance` is the load of the fullest task relative to the mean above which the plan changes, `enough` the number of rows per
    task below which nothing migrates, and `patience` the number of batches for which a plan stays in force.
    """

    name: ClassVar[str] = "ordered"
    reaches: ClassVar[tuple[str, ...]] = ("range", "areas")
    needs = (Need.ORDER,)

    imbalance: float = 1.3
    enough: float = 1000.0
    patience: int = 4
    size: int = 256

    def __post_init__(self) -> None:
        check_number(
            "imbalance", self.imbalance, "the load of the fullest task relative to the mean", "use 1.3.", least=1
        )
        check_number("enough", self.enough, "the rows per task below which nothing migrates", "use 1000.")
        check_count("patience", self.patience, "batches for which a plan stays in force", "use patience=4.")
        check_count("size", self.size, "rows of the compressed matrix", "use size=256.", least=2)

    @property
    def areas(self) -> Adsp:
        """Return the scheme that takes over."""
        return Adsp(patience=self.patience, size=self.size)

    def ranges(self, spec: JoinSpec) -> bool:
        """Tell whether a tuple meets only its neighbours by key, so that key ranges serve it."""
        within = spec.access.within
        if within is None or within.left >= len(spec.left.keys):  # time: all that arrives would go to the last range
            return False
        near = within.op in (Op.BAND, Op.FBAND) or spec.access.until is not None
        return near and RangePlan.over(spec, 1, ()).preserves(spec)

    def at_need(self, spec: JoinSpec) -> str:
        return "" if spec.kind.preserved else "A-DSP areas if needed"

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return (Ordered(imbalance=1.0, enough=0, patience=1, size=8),)

    def later_plan(self, spec: JoinSpec, tasks: int) -> Plan | None:
        return RangePlan.over(spec, tasks, ()) if self.ranges(spec) else None

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        return MatrixPlan.of(spec, tasks)

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        if isinstance(view.plan, AreaPlan):
            return self.areas.watch(spec, view, before)
        term = ordering(spec)
        assert term is not None
        size = max(LEAST, 4 * self.size // view.plan.tasks)
        columns = (term.left, term.right)
        notes = keys_noted(spec, view, before, _mark(view.plan), columns, size)
        return {**notes, "flow": flow_noted(view, before, columns)}

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        if isinstance(plan, AreaPlan):
            return self.areas.control(spec, plan, stats)
        seen = _gathered(plan, stats)
        rows = 0.0 if seen is None else seen.left.total + seen.right.total
        if seen is None or plan.tasks == 1 or rows < max(self.enough * plan.tasks, 1):
            return plan, ""
        if isinstance(plan, RangePlan):
            return (plan, "") if seen.age % self.patience else self._uneven(spec, plan, seen)
        if seen.age & (seen.age - 1) and seen.age % (
            4 * self.patience
        ):  # where areas do not help, look ever more rarely
            return plan, ""
        return self._first(spec, plan, seen)

    def _first(self, spec: JoinSpec, plan: Plan, seen: Gathered) -> tuple[Plan, str]:
        """Leave the matrix of the first batches: for ranges if they would be even, else for areas if these help.

        Areas wait until the keys were watched for `patience` batches, for the matrix is where keys that run away end up.
        """
        watched = seen.age >= self.patience
        if not self.ranges(spec):
            if not watched:
                return plan, ""
            return self._changed(spec, plan, seen, seen.fullest, "areas skip impossible pairs")
        fresh = RangePlan.over(spec, plan.tasks, _cut(seen, plan.tasks))
        uneven = _imbalance(fresh, seen)
        if uneven > self.imbalance and not watched:
            return plan, ""
        if uneven > self.imbalance:
            fullest = uneven * (seen.left.total + seen.right.total) / plan.tasks
            after, why = self._changed(spec, plan, seen, fullest, f"one range would hold {uneven:.1f} times the mean")
            if why:
                return after, why
        return (fresh, "first boundaries from samples") if fresh.bounds else (plan, "")

    def _uneven(self, spec: JoinSpec, plan: RangePlan, seen: Gathered) -> tuple[Plan, str]:
        now = seen.fullest / seen.mean
        if now <= self.imbalance:
            return plan, ""
        fresh = RangePlan.over(spec, plan.tasks, _cut(seen, plan.tasks))
        again = _imbalance(fresh, seen)
        cause = "keys moved" if again <= self.imbalance else "keys too hot for a range"
        told = f"{cause}: the fullest range holds {now:.1f} times the mean, {again:.1f} with new boundaries"
        after, why = self._changed(spec, plan, seen, seen.fullest, told)
        if not why and again < 0.8 * now:  # areas would not do (they know no interval), other boundaries would
            return fresh, f"fullest range at {now:.1f} times the mean, {again:.1f} with new boundaries"
        return after, why

    def _changed(self, spec: JoinSpec, plan: Plan, seen: Gathered, fullest: float, told: str) -> tuple[Plan, str]:
        """Change to areas if they relieve the fullest task; an area may hold a tuple on several tasks."""
        if spec.kind.preserved:
            return plan, ""
        first = self.areas.first_plan(spec, plan.tasks)
        layout, moving = self.areas.spread(spec, seen, plan.tasks)
        if layout.fullest >= self.areas.gain * fullest:
            return plan, ""
        areas = place(layout, _as_areas(plan), seen.mass, plan.tasks)
        count = f"{len(areas)} area{'s' if len(areas) != 1 else ''}"
        why = (
            f"{moving}{told}; {fullest:,.0f} tuples become {layout.fullest:,.0f} in {count} of the tuple matrix (A-DSP)"
        )
        return AreaPlan(plan.tasks, areas, first.columns, epoch=1), why


def _as_areas(plan: Plan) -> tuple[Area, ...]:
    """Return what the tasks hold as areas, so that Algorithm 4 gives a new cell to the task that has most of it."""
    if not isinstance(plan, RangePlan):
        return AreaPlan.whole(plan.tasks).areas
    ends = [WORD_MIN, *plan.bounds, WORD_MAX]
    ranges = [(low, high - (high < WORD_MAX)) for low, high in pairwise(ends)]
    return tuple(lay(Varietal(1, 1), keys, keys, (task,)) for task, keys in enumerate(ranges))


def _mark(plan: Plan) -> int:
    """Return a number by which notes tell the plan they were taken under."""
    return zlib.crc32(repr(plan).encode())


def _gathered(plan: Plan, stats: list[TaskStats]) -> Gathered | None:
    """Add up what the tasks noted under this plan; None when they tell of another one."""
    mark = _mark(plan)
    if len(stats) != plan.tasks or any(one.notes.get("epoch") != mark or "keys" not in one.notes for one in stats):
        return None
    sides = []
    for side, copies in zip(SIDES, plan.copies(), strict=True):
        noted = [Histogram.of_json(one.notes["keys"][side]).scaled(one.keeps(side) / copies) for one in stats]
        sides.append(Histogram.merged(noted))
    held = {task: sum(one.keeps(side) for side in SIDES) for task, one in enumerate(stats)}
    return Gathered(sides[0], sides[1], held, min(one.notes["age"] for one in stats), flows(stats))


def _cut(seen: Gathered, tasks: int) -> tuple[int, ...]:
    """Cut both streams together into equal shares; a key that fills several shares gives one cut."""
    both = Histogram.merged([seen.left, seen.right])
    total = np.cumsum(both.weights)
    at = np.searchsorted(total, total[-1] * np.arange(1, tasks) / tasks)
    return tuple(int(cut) for cut in np.unique(both.keys[at]) if cut > both.keys[0])


def _imbalance(plan: RangePlan, seen: Gathered) -> float:
    """Return what the fullest range holds over the mean."""
    both = Histogram.merged([seen.left, seen.right])
    owner = np.searchsorted(np.array(plan.bounds, np.int64), both.keys, side="right")
    share = np.bincount(owner, both.weights, plan.tasks)
    return float(share.max() / max(share.mean(), 1e-9))
