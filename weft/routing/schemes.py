"""The schemes that look at no more than counts and samples, and the names of all schemes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from weft.errors import SpecError, UnknownName
from weft.routing.adsp import Adsp, Ordered
from weft.routing.biclique import Biclique
from weft.routing.broadcast import BroadcastPlan
from weft.routing.chained import Chained, Pim
from weft.routing.contrand import ContRand
from weft.routing.dynamic import Dynamic
from weft.routing.fastjoin import FastJoin
from weft.routing.hash import HashPlan
from weft.routing.matrix import MatrixPlan, best_shape
from weft.routing.plan import Plan
from weft.routing.predictor import Sta
from weft.routing.randomly import Random
from weft.routing.range import RangePlan
from weft.routing.readj import Readj
from weft.routing.scheme import Scheme, TaskStats, weighted_sample
from weft.routing.slices import Slices
from weft.routing.split import SplitPlan
from weft.routing.square import Square
from weft.spec import JoinSpec
from weft.spec.options import check_count, check_number
from weft.types import SIDES

__all__ = ["SCHEMES", "Broadcast", "Hash", "Matrix", "Range", "Split", "scheme_named"]


@dataclass(frozen=True)
class Hash(Scheme):
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


@dataclass(frozen=True)
class Broadcast(Scheme):
    """Everything kept everywhere; one lookup."""

    name: ClassVar[str] = "broadcast"

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        return BroadcastPlan(tasks)


@dataclass(frozen=True)
class Split(Scheme):
    """Kept once, looked up everywhere."""

    name: ClassVar[str] = "split"

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        return SplitPlan(tasks)


@dataclass(frozen=True)
class Matrix(Scheme):
    """Rows times columns over random draws; serves any condition. Without a shape, the best one for equal volumes."""

    name: ClassVar[str] = "matrix"

    rows: int | None = None
    columns: int | None = None

    def __post_init__(self) -> None:
        for name, count in (("rows", self.rows), ("columns", self.columns)):
            if count is not None:
                check_count(name, count, f"{name} of the matrix", "leave the shape to Weft, or give whole numbers.")

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        if self.rows is None and self.columns is None:
            return MatrixPlan(tasks, *best_shape(tasks))
        rows = self.rows or tasks // (self.columns or 1)
        columns = self.columns or tasks // (self.rows or 1)
        if rows < 1 or columns < 1 or rows * columns > tasks:
            rows, columns = max(rows, 1), max(columns, 1)
            raise SpecError.of(
                f"A matrix of {rows} rows and {columns} columns needs {rows * columns} tasks.",
                f"There are {tasks}.",
                "give tasks= at least rows * columns, or leave the shape to Weft.",
            )
        return MatrixPlan(tasks, rows, columns)


@dataclass(frozen=True)
class Range(Scheme):
    """Neighbouring keys to one task, cut by sampled boundaries and cut anew when the shares drift apart.

    Until the first samples are in, tuples are spread by a matrix. `imbalance` is the share of the fullest task over the
    mean from which new boundaries are worth a migration.
    """

    name: ClassVar[str] = "range"

    imbalance: float = 2.0
    enough: int = field(default=64)

    def __post_init__(self) -> None:
        check_number("imbalance", self.imbalance, "the fullest task over the mean", "use 2.", least=1)
        check_number("enough", self.enough, "the sampled rows from which boundaries are cut", "use 64.")

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
    values, weights = weighted_sample(stats)
    if not len(values) or tasks < 2:
        return ()
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    targets = total[-1] * np.arange(1, tasks) / tasks
    cuts = np.unique(values[order][np.searchsorted(total, targets)])
    return tuple(int(cut) for cut in cuts[cuts > values.min()])


def _imbalance(plan: RangePlan, stats: list[TaskStats]) -> float:
    values, weights = weighted_sample(stats)
    owner = np.searchsorted(np.array(plan.bounds, np.int64), values, side="right")
    share = np.bincount(owner, weights, plan.tasks)
    return float(share.max() / max(share.mean(), 1e-9))


_ALL: tuple[type[Scheme], ...] = (
    Hash, Broadcast, Split, Matrix, Range, Biclique, ContRand, Random, FastJoin, Adsp, Ordered, Square, Dynamic, Readj, Sta,
    Chained, Pim, Slices,
)  # fmt: skip
SCHEMES: dict[str, type[Scheme]] = {kind.name: kind for kind in _ALL}
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
    if isinstance(scheme, type) and issubclass(scheme, Scheme):
        made = f"{scheme.__name__}()"
        raise SpecError.of(
            f"scheme={scheme.__name__} is a class.", f"A scheme is made from it: {made}.", f"use scheme={made}."
        )
    if not isinstance(scheme, Scheme):
        raise UnknownName.among("scheme", scheme, [*SCHEMES, "auto"])
    return scheme
