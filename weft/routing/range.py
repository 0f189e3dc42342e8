"""Range partitioning: a tuple is stored on the task of its key and probes the tasks that its range reaches.

Boundaries come from samples of the keys seen, so a skewed or drifting distribution is cut into equal shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from weft.kernels import float_range, narrow
from weft.routing.conditions import Need
from weft.routing.fixed import MatrixPlan
from weft.routing.plan import Plan, owned
from weft.routing.regions import Regions
from weft.routing.scheme import SCHEMES, Scheme, TaskStats
from weft.spec import JoinSpec, Op, Term
from weft.spec.options import check_number
from weft.types import SIDES, U32, WORD_MAX, WORD_MIN, Bools, Side, Words, other

__all__ = ["Range", "RangePlan", "reach"]

_ENDS: dict[Op, tuple[int | None, int | None]] = {
    Op.LT: (1, None), Op.LE: (0, None), Op.GT: (None, -1), Op.GE: (None, 0), Op.EQ: (0, 0),
}  # fmt: skip
"""`probe OP stored` as offsets from the probe's word to the ends of what it reaches."""


def _end(offset: float) -> int | None:
    """Return a band's end, None where it is open."""
    return None if math.isinf(offset) else int(offset)


def reach(term: Term, words: Words) -> tuple[Words, Words, Bools]:
    """Return the inclusive range of stored words that `term`, read from the probe, allows; and which rows allow any."""
    word = words[term.left]
    if term.op is Op.FBAND:
        return float_range(word, term.lo, term.hi)
    low, high = (_end(-term.hi), _end(-term.lo)) if term.op is Op.BAND else _ENDS[term.op]
    least, most = np.full(len(word), WORD_MIN), np.full(len(word), WORD_MAX)
    alive = np.ones(len(word), np.bool_)
    narrow(word, low, True, least, alive)
    narrow(word, high, False, most, alive)
    return least, most, alive


@dataclass(frozen=True)
class RangePlan(Plan):
    """Task `i` keeps the keys from `bounds[i - 1]` up to, not including, `bounds[i]`.

    `term` (and `until`, for an interval) is the range term as read from the left: (left, op, right, lo, hi). Tuples of a
    `preserved` side probe their own task alone; those of the other side are stored wherever they may be looked for.
    """

    scheme: ClassVar[str] = "range"

    bounds: tuple[int, ...] = ()
    term: tuple[Any, ...] = ()
    until: tuple[Any, ...] = ()
    preserved: tuple[Side, ...] = ()

    @staticmethod
    def over(spec: JoinSpec, tasks: int, bounds: tuple[int, ...]) -> RangePlan:
        """Make the plan for a join."""
        return RangePlan(tasks, bounds, _pack(spec.access.within), _pack(spec.access.until), spec.kind.preserved)

    def _terms(self, side: Side) -> tuple[Term, Term | None]:
        term, until = _unpack(self.term), _unpack(self.until) if self.until else None
        if side == "left":
            return term, until
        return term.flip(), None if until is None else until.flip()

    def _owner(self, word: Words) -> Bools:
        return owned(np.searchsorted(np.array(self.bounds, np.int64), word, side="right"), self.tasks)

    def _overlap(self, least: Words, most: Words, alive: Bools) -> Bools:
        cuts = np.array(self.bounds, np.int64)
        first, last = np.searchsorted(cuts, least, side="right"), np.searchsorted(cuts, most, side="right")
        task = np.arange(self.tasks)[:, None]
        return np.asarray((task >= first) & (task <= last) & (alive & (least <= most)))

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        term, until = self._terms(side)
        if until is not None and until.left != term.left:  # this side holds the interval: it waits wherever x may fall
            return self._overlap(words[term.left], words[until.left], np.ones(len(u), np.bool_))
        if until is None and other(side) in self.preserved:
            return self._overlap(*reach(term, words))
        return self._owner(words[term.left])

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        term, until = self._terms(side)
        if until is not None or self.preserved:  # x meets the interval at the task of x, whoever comes first
            return self.store(side, words, u)
        return self._overlap(*reach(term, words))

    def keeps_whole(self, side: Side) -> bool:
        term, until = self._terms(side)
        if until is not None:
            return until.left == term.left
        return self.preserved == (side,)

    def regions(self, side: Side, *, first: bool = False) -> Regions | None:
        del first
        term, until = self._terms(side)
        if (until is not None and until.left != term.left) or (until is None and other(side) in self.preserved):
            return None  # stored wherever it may be looked for
        ends = zip([WORD_MIN, *self.bounds], [*(bound - 1 for bound in self.bounds), WORD_MAX], strict=True)
        task, low, high = zip(*((task, *pair) for task, pair in enumerate(ends) if pair[0] <= pair[1]), strict=True)
        return Regions.of(task, axis=("word", (term.left,)), low=low, high=high)

    def describe(self) -> str:
        return f"{self.tasks} key ranges with sampled boundaries"

    def adapt(self, tasks: int) -> Plan:
        """Spread the same boundaries over another number of tasks; control will cut anew from the next samples."""
        cuts = np.array(self.bounds, np.int64)
        if len(cuts):
            cuts = cuts[np.linspace(0, len(cuts) - 1, max(tasks - 1, 0)).round().astype(np.int64)]
        return RangePlan(tasks, tuple(int(cut) for cut in np.unique(cuts)[: max(tasks - 1, 0)]), self.term, self.until,
                         self.preserved)  # fmt: skip

    def copies(self) -> tuple[float, float]:
        left, right = (self._reached if other(side) in self.preserved else 1.0 for side in SIDES)
        return left, right

    def lookups(self) -> tuple[float, float]:
        left, right = (1.0 if side in self.preserved else self._reached for side in SIDES)
        return left, right

    @property
    def _reached(self) -> float:
        # A band reaches its neighbours at most; an inequality reaches half of all tasks on average.
        narrow_term = self.until or self.term[1] in (Op.BAND, Op.FBAND, Op.EQ)
        return 2.0 if narrow_term and self.tasks > 1 else 1 + (self.tasks - 1) / 2


def _pack(term: Term | None) -> tuple[Any, ...]:
    return () if term is None else (term.left, int(term.op), term.right, term.lo, term.hi)


def _unpack(term: tuple[Any, ...]) -> Term:
    left, op, right, lo, hi = term
    return Term(left, Op(op), right, lo, hi)


@SCHEMES.register
@dataclass(frozen=True)
class Range(Scheme):
    """Range partitioning with sampled boundaries, which are set again when the shares drift apart.

    Until the first samples arrive, a matrix routes the tuples. `imbalance` is the load of the fullest task relative to the mean
    above which new boundaries are worth a migration.
    """

    name: ClassVar[str] = "range"
    needs = (Need.RANGE,)

    imbalance: float = 2.0
    enough: int = field(default=64)

    def __post_init__(self) -> None:
        check_number(
            "imbalance", self.imbalance, "the load of the fullest task relative to the mean", "use 2.", least=1
        )
        check_number("enough", self.enough, "the sampled rows needed to set boundaries", "use 64.")

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        return MatrixPlan.of(spec, tasks)

    def later_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        return RangePlan.over(spec, tasks, ())

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return Range(imbalance=1.0, enough=1), Range()

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        bounds = _quantiles(stats, plan.tasks)
        if len(bounds) == 0 or sum(len(s.sample[side]) for s in stats for side in SIDES) < self.enough:
            return plan, ""
        fresh = RangePlan.over(spec, plan.tasks, bounds)
        if not fresh.preserves(spec):
            return plan, ""
        if not isinstance(plan, RangePlan):
            return fresh, "first boundaries from samples"
        now, then = _imbalance(plan, stats), _imbalance(fresh, stats)
        if now > self.imbalance and then < 0.8 * now:
            return fresh, f"fullest task at {now:.1f} times the mean, {then:.1f} with new boundaries"
        return plan, ""


def _quantiles(stats: list[TaskStats], tasks: int) -> tuple[int, ...]:
    """Cut the weighted samples of all tasks into equal shares; a value that fills several shares gives one cut."""
    values, weights = _weighted_sample(stats)
    if not len(values) or tasks < 2:
        return ()
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    targets = total[-1] * np.arange(1, tasks) / tasks
    cuts = np.unique(values[order][np.searchsorted(total, targets)])
    return tuple(int(cut) for cut in cuts[cuts > values.min()])


def _imbalance(plan: RangePlan, stats: list[TaskStats]) -> float:
    values, weights = _weighted_sample(stats)
    owner = np.searchsorted(np.array(plan.bounds, np.int64), values, side="right")
    share = np.bincount(owner, weights, plan.tasks)
    return float(share.max() / max(share.mean(), 1e-9))


def _weighted_sample(stats: list[TaskStats]) -> tuple[Words, NDArray[np.float64]]:
    """Return the sampled range words of all tasks and how many kept rows each stands for."""
    values: list[int] = []
    weights: list[float] = []
    for task in stats:
        for side in SIDES:
            sample = task.sample[side]
            values.extend(sample)
            weights.extend([task.keeps(side) / len(sample)] * len(sample) if sample else [])
    return np.array(values, np.int64), np.array(weights, np.float64)
