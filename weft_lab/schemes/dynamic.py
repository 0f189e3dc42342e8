"""`Dynamic`, the baseline of Elseidy et al.: a matrix of n x m tasks, both powers of two (001-43, Y06).

The advisor compares `|R| / n + |S| / m` over all n m = J when either stream has doubled since it last looked. When a task
holds more than half of its memory, every task is split into four. The matrix never shrinks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from weft.routing import SCHEMES, AreaPlan, BatchView, Notes, Plan, Scheme, TaskStats
from weft.routing.adsp import EVERY, AreaLayout, Varietal, check_memory, gathered, place
from weft.spec import JoinSpec
from weft.types import SIDES

__all__ = ["Dynamic", "advised"]


def advised(tasks: int, left: float, right: float) -> tuple[int, int]:
    """Return the (n, m)-mapping of a power of two with the least input per task; of equal ones the squarest.

    >>> advised(16, 1, 1), advised(16, 4, 1), advised(16, 1, 100)
    ((4, 4), (8, 2), (1, 16))
    """
    shapes = [(1 << power, tasks >> power) for power in range(tasks.bit_length())]
    return min(shapes, key=lambda shape: (left / shape[0] + right / shape[1], abs(shape[0] - shape[1]), shape))


@SCHEMES.register
@dataclass(frozen=True)
class Dynamic(Scheme):
    """A matrix whose sides are powers of two.

    With `memory` it starts with one task and grows by a factor of four; without `memory` it uses all tasks.
    """

    name: ClassVar[str] = "dynamic"

    memory: float | None = None

    def __post_init__(self) -> None:
        check_memory(self.memory)

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return Dynamic(memory=4), Dynamic()

    def first_plan(self, spec: JoinSpec, tasks: int) -> AreaPlan:
        return AreaPlan.whole(tasks, (), advised(_power(tasks), 1, 1) if self.memory is None else (1, 1))

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        """Note whether a stream has doubled since the advisor last looked; a task's share tells as well as the whole."""
        plan = view.plan
        if not isinstance(plan, AreaPlan):
            return {}
        if before.get("epoch") != plan.epoch or "marks" not in before:  # a new plan, or another scheme's notes
            held = [len(view.held(side)[1]) for side in SIDES]
            return {"epoch": plan.epoch, "age": 1, "marks": held, "held": held, "doubled": False}
        held = [count + len(view.draws[side]) for count, side in zip(before["held"], SIDES, strict=True)]
        doubled = any(now >= 2 * max(mark, 1) for now, mark in zip(held, before["marks"], strict=True))
        return {
            "epoch": plan.epoch, "age": before["age"] + 1, "marks": held if doubled else before["marks"], "held": held,
            "doubled": doubled,
        }  # fmt: skip

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        if not isinstance(plan, AreaPlan):
            return self.first_plan(spec, plan.tasks), f"scheme is now {self.name}"
        area = plan.areas[0]
        count = len(area.tasks)
        if plan.columns or len(plan.areas) != 1 or area.extra or count & (count - 1):  # another scheme's plan
            return replace(self.first_plan(spec, plan.tasks), epoch=plan.epoch + 1), f"scheme is now {self.name}"
        seen = gathered(plan, stats)
        if seen is None:
            return plan, ""
        volumes = seen.left.total, seen.right.total
        if self.memory is not None and seen.fullest > self.memory / 2 and 4 * count <= plan.tasks:
            shape, why = (
                (2 * area.rows, 2 * area.columns),
                f"a task holds {seen.fullest:,} tuples: each is split into four",
            )
        elif any(stats[task].notes.get("doubled") for task in area.tasks):
            shape = advised(count, *volumes)
            why = f"a stream has doubled: {volumes[0]:,.0f} and {volumes[1]:,.0f} tuples"
        else:
            return plan, ""
        if shape == (area.rows, area.columns):
            return plan, ""
        layout = AreaLayout((EVERY,), (EVERY,), (volumes,), (Varietal(*shape),))
        areas = place(layout, plan.areas, seen.mass, plan.tasks)
        return replace(plan, areas=areas, epoch=plan.epoch + 1), f"{why}; now {shape[0]} x {shape[1]}"


def _power(tasks: int) -> int:
    return 1 << (tasks.bit_length() - 1)
