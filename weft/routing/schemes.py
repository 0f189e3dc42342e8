"""Schemes: how a user asks for a routing, and what it may learn. A scheme makes plans; a plan routes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from weft.errors import SpecError, UnknownName
from weft.routing.broadcast import BroadcastPlan
from weft.routing.hash import HashPlan
from weft.routing.matrix import MatrixPlan, best_shape
from weft.routing.plan import Plan
from weft.routing.range import RangePlan
from weft.routing.split import SplitPlan
from weft.spec import JoinSpec
from weft.types import SIDES, Side

__all__ = ["SCHEMES", "Broadcast", "Hash", "Matrix", "Range", "Scheme", "Split", "TaskStats", "scheme_named"]


@dataclass(frozen=True)
class TaskStats:
    """What one task saw in one batch: rows that arrived, rows it holds, and a sample of its range words, per side."""

    arrived: dict[Side, int]
    held: dict[Side, int]
    late: dict[Side, int]
    sample: dict[Side, tuple[int, ...]]

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as JSON data."""
        return dict(self.__dict__)

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> TaskStats:
        """Read them back."""
        return cls(data["arrived"], data["held"], data["late"], {s: tuple(data["sample"][s]) for s in SIDES})


@runtime_checkable
class Scheme(Protocol):
    """A routing scheme as configured by the user. Both methods are pure."""

    name: ClassVar[str]

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        """Return the plan to start with; raise SpecError when the scheme cannot serve this join."""
        ...

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        """Return the plan for the batch after next, and why it changed ("" if it did not)."""
        ...


@dataclass(frozen=True)
class Hash:
    """Equal keys to one task."""

    name: ClassVar[str] = "hash"

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        if spec.access.equal is None:
            raise SpecError.of(
                "scheme='hash' needs an equality between the sides.",
                f"The condition is {spec.condition.text}.",
                "use scheme='auto', 'matrix' (any condition) or 'range' (bands and inequalities).",
            )
        return HashPlan(tasks, *spec.access.equal)

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        return plan, ""


@dataclass(frozen=True)
class Broadcast:
    """Everything kept everywhere; one lookup."""

    name: ClassVar[str] = "broadcast"

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        return BroadcastPlan(tasks)

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        return plan, ""


@dataclass(frozen=True)
class Split:
    """Kept once, looked up everywhere."""

    name: ClassVar[str] = "split"

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        return SplitPlan(tasks)

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        return plan, ""


@dataclass(frozen=True)
class Matrix:
    """Rows times columns over random draws; serves any condition. Without a shape, the best one for equal volumes."""

    name: ClassVar[str] = "matrix"

    rows: int | None = None
    columns: int | None = None

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        if self.rows is None and self.columns is None:
            return MatrixPlan(tasks, *best_shape(tasks))
        rows = self.rows or tasks // (self.columns or 1)
        columns = self.columns or tasks // (self.rows or 1)
        if rows < 1 or columns < 1 or rows * columns > tasks:
            raise SpecError.of(
                f"A matrix of {rows} rows and {columns} columns needs {rows * columns} tasks.",
                f"There are {tasks}.",
                "give tasks= at least rows * columns, or leave the shape to Weft.",
            )
        return MatrixPlan(tasks, rows, columns)

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        return plan, ""


@dataclass(frozen=True)
class Range:
    """Neighbouring keys to one task, cut by sampled boundaries and cut anew when the shares drift apart.

    Until the first samples are in, tuples are spread by a matrix. `imbalance` is the share of the fullest task over the
    mean from which new boundaries are worth a migration.
    """

    name: ClassVar[str] = "range"

    imbalance: float = 2.0
    enough: int = field(default=64)

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        within = spec.access.within
        if within is None:
            raise SpecError.of(
                "scheme='range' needs a band or an inequality between the sides.",
                f"The condition is {spec.condition.text}, the window {spec.window}.",
                "use scheme='hash' for equalities, 'matrix' for anything.",
            )
        return MatrixPlan(tasks, *best_shape(tasks))

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        bounds = _quantiles(stats, plan.tasks)
        if len(bounds) == 0 or sum(len(s.sample[side]) for s in stats for side in SIDES) < self.enough:
            return plan, ""
        fresh = RangePlan.over(spec.access, plan.tasks, bounds)
        if not isinstance(plan, RangePlan):
            return fresh, "first boundaries from samples"
        now, then = _imbalance(plan, stats), _imbalance(fresh, stats)
        if now > self.imbalance and then < 0.8 * now:
            return fresh, f"fullest task at {now:.1f} times the mean, {then:.1f} with new boundaries"
        return plan, ""


def _quantiles(stats: list[TaskStats], tasks: int) -> tuple[int, ...]:
    """Cut the weighted samples of all tasks into equal shares; a value that fills several shares gives one cut."""
    values, weights = _weighted(stats)
    if not len(values) or tasks < 2:
        return ()
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    targets = total[-1] * np.arange(1, tasks) / tasks
    cuts = np.unique(values[order][np.searchsorted(total, targets)])
    return tuple(int(cut) for cut in cuts[cuts > values.min()])


def _weighted(
    stats: list[TaskStats],
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.float64]]]:
    values: list[int] = []
    weights: list[float] = []
    for task in stats:
        for side in SIDES:
            sample = task.sample[side]
            values.extend(sample)
            weights.extend([task.held[side] / len(sample)] * len(sample) if sample else [])
    return np.array(values, np.int64), np.array(weights, np.float64)


def _imbalance(plan: RangePlan, stats: list[TaskStats]) -> float:
    values, weights = _weighted(stats)
    owner = np.searchsorted(np.array(plan.bounds, np.int64), values, side="right")
    share = np.bincount(owner, weights, plan.tasks)
    return float(share.max() / max(share.mean(), 1e-9))


SCHEMES: dict[str, type[Scheme]] = {cls.name: cls for cls in (Hash, Broadcast, Split, Matrix, Range)}
"""Schemes by the name users write."""


def scheme_named(scheme: str | Scheme) -> Scheme:
    """Return a scheme by name, or the configured one as it is.

    >>> scheme_named("matrix")
    Matrix(rows=None, columns=None)
    """
    if isinstance(scheme, str):
        if scheme not in SCHEMES:
            raise UnknownName.among("scheme", scheme, [*SCHEMES, "auto"])
        return SCHEMES[scheme]()
    if not isinstance(scheme, Scheme):
        raise UnknownName.among("scheme", scheme, [*SCHEMES, "auto"])
    return scheme
