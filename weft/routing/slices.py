"""Slices of time, assigned to tasks in turn; a tuple probes the tasks that its window reaches.

This works for any join with a time window, whatever its condition. It pays off if a batch spans many windows: then nearly
every tuple visits one task, where a matrix or a split join sends it to several. If a batch is short compared with the window, one
slice would hold everything that arrives. So the scheme starts without slices, samples the times that arrive, and uses slices only
if they would be long compared with the window and balanced among the tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from weft.routing.conditions import Need
from weft.routing.fixed import MatrixPlan, SplitPlan, best_shape
from weft.routing.plan import Plan, owned
from weft.routing.scheme import SCHEMES, BatchView, Notes, Scheme, TaskStats
from weft.spec import JoinSpec, Within
from weft.spec.options import check_count, check_number
from weft.types import SIDES, U32, WORD_MAX, WORD_MIN, Bools, Side, Words

__all__ = ["SlicePlan", "Slices"]

_SAMPLE = 128
"""Times per side and task that a batch reports."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SlicePlan(Plan):
    """Slice number `t // length` belongs to task `number % tasks`.

    A left tuple at `t` meets right ones in `[t - before, t + after]`.
    """

    scheme: ClassVar[str] = "slices"

    left_time: int = 0
    right_time: int = 0
    before: int = 0
    after: int = 0
    length: int = 1

    def _time(self, side: Side, words: Words) -> Words:
        return words[self.left_time if side == "left" else self.right_time]

    def store(self, side: Side, words: Words, u: U32) -> Bools:
        return owned(self._time(side, words) // self.length % self.tasks, self.tasks)

    def probe(self, side: Side, words: Words, u: U32) -> Bools:
        back, ahead = (self.before, self.after) if side == "left" else (self.after, self.before)
        time = self._time(side, words)
        first = np.where(time < WORD_MIN + back, WORD_MIN, time - back) // self.length
        last = np.where(time > WORD_MAX - ahead, WORD_MAX, time + ahead) // self.length
        # Task k has a slice among first..last if the first of its slices from there on is not beyond the last.
        turns = (np.arange(self.tasks)[:, None] - first % self.tasks) % self.tasks
        return np.asarray(turns <= np.minimum(last - np.minimum(first, last), self.tasks))

    def adapt(self, tasks: int) -> Plan:
        """Cut for another number of tasks; the lengths that suit it come with the next samples."""
        return SlicePlan(tasks, self.left_time, self.right_time, self.before, self.after, self.length)

    def copies(self) -> tuple[float, float]:
        return 1.0, 1.0

    def lookups(self) -> tuple[float, float]:
        most = min(float(self.tasks), 1 + (self.before + self.after) / self.length)
        return most, most


@SCHEMES.register
@dataclass(frozen=True)
class Slices(Scheme):
    """Slices of time, assigned to tasks in turn, if they pay off; otherwise a split join (up to two tasks) or a matrix.

    Parameters
    ----------
    rounds
        How many rounds over all tasks a batch makes: more rounds balance better, fewer probe fewer tasks.
    long
        How many times longer than the reach of the window (both directions together) a slice must be.
    even
        The work of the busiest task relative to the mean up to which slices are used; they are given up only if two
        consecutive batches exceed its square.
    """

    name: ClassVar[str] = "slices"
    needs = (Need.WINDOW_IN_TIME,)

    rounds: int = 4
    long: float = 4.0
    even: float = 1.25

    def __post_init__(self) -> None:
        check_count("rounds", self.rounds, "rounds over all tasks in one batch", "use rounds=4.")
        check_number("long", self.long, "the length of a slice relative to the reach of the window", "use 4.")
        check_number("even", self.even, "the work of the busiest task relative to the mean", "use 1.25.", least=1)

    def at_need(self, spec: JoinSpec) -> str:
        del spec
        return "slices of time if the batches are long"

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        return Slices(rounds=1, long=0.0, even=9.0), Slices(rounds=2, long=0.0, even=1.5)

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        return SplitPlan(tasks) if tasks <= 2 else MatrixPlan(tasks, *best_shape(tasks))

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        times: list[int] = []
        rows = 0
        for side in SIDES:
            column = spec.side(side).time
            assert column is not None
            stored = view.stored[side][column]
            rows += len(stored)
            times += np.sort(stored[:: max(1, -(-len(stored) // _SAMPLE))]).tolist()
        return {"times": times, "rows": rows, "before": [before.get("times", []), before.get("rows", 0)]}

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        now = _samples([(task.notes.get("times", []), task.notes.get("rows", 0)) for task in stats])
        then = _samples([tuple(task.notes.get("before", ([], 0))) for task in stats])
        if not len(now[0]) or plan.tasks < 2:
            return plan, ""
        limit = self.even**2
        cut = isinstance(plan, SlicePlan)
        if isinstance(plan, SlicePlan) and (
            _even(plan, *now) <= limit or not len(then[0]) or _even(plan, *then) <= limit
        ):
            return plan, ""
        low, high = np.quantile(now[0], (0.05, 0.95))  # a straggler must not stretch the slices
        fresh = self._cut(spec, plan.tasks, int((high - low) / 0.9 / (self.rounds * plan.tasks)))
        if fresh is not None and _even(fresh, *now) <= self.even:
            return fresh, f"{'new ' if cut else ''}slices of {fresh.length:,} of event time"
        back = self.first_plan(spec, plan.tasks)
        return (back, "slices of time have become uneven") if cut else (plan, "")

    def _cut(self, spec: JoinSpec, tasks: int, length: int) -> SlicePlan | None:
        window, left, right = spec.window, spec.left.time, spec.right.time
        assert isinstance(window, Within) and left is not None and right is not None
        reach = window.before + window.after
        if length < max(1, self.long * reach):
            return None
        return SlicePlan(tasks, left, right, window.before, window.after, length)


def _samples(noted: list[Any]) -> tuple[Words, Floats]:
    """Return the sampled times of all tasks, and how many rows each stands for."""
    times = [np.array(values, np.int64) for values, _ in noted]
    weights = [np.full(len(values), rows / max(len(values), 1)) for values, (_, rows) in zip(times, noted, strict=True)]
    return np.concatenate(times), np.concatenate(weights)


def _even(plan: SlicePlan, times: Words, weights: Floats) -> float:
    """Return the rows of the busiest task over the mean."""
    load = np.bincount(times // plan.length % plan.tasks, weights, plan.tasks)
    return float(load.max() / max(load.mean(), 1e-9))
