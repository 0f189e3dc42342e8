"""Routing without joining: what a scheme makes hundreds of simulated tasks hold, ask and move, batch by batch.

It runs the very plans, notes and control of a join, with the control loop's own delay (statistics of batch b - 1 make the
plan of batch b + 1), over words alone. So a figure with 64 tasks and a million tuples takes seconds on one core.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from weft.engine import next_plan
from weft.routing import BatchView, Notes, Plan, Scheme, TaskStats
from weft.spec import JoinSpec
from weft.types import SIDES, U32, Bools, Side, Words, other

__all__ = ["Arrival", "Seen", "Simulation", "arrivals"]

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Arrival:
    """The words and draws of one batch's rows of one side."""

    words: Words
    u: U32


@dataclass(frozen=True, eq=False)
class Seen:
    """One simulated batch: tuples held and asked for per task (both sides together), and what a new plan moved."""

    plan: Plan | None
    held: Counts
    asked: Counts
    handled: Counts
    """Tuples that each task was sent, to keep, to look for partners, or for both."""
    compared: NDArray[np.float64]
    """Pairs that each task looks at if it compares every request with all it holds of the other side (Eq. 3)."""
    moved: int = 0
    """Copies that tasks took over because the plan changed."""
    taken: int = 0
    """The most that one task took over."""
    why: str = ""
    """Why the plan of this batch differs from the one before."""

    @property
    def sent(self) -> int:
        """Return the tuples shipped to tasks, copies counted: the network of the batch."""
        return int(self.handled.sum())

    @property
    def active(self) -> int:
        """Return the tasks that hold or were asked anything."""
        return int(((self.held + self.asked) > 0).sum())


@dataclass
class Simulation:
    """A scheme on simulated tasks; rows leave after `window` batches (None: never)."""

    spec: JoinSpec
    scheme: Scheme
    tasks: int
    window: int | None = None
    plans: list[tuple[Plan, str]] = field(default_factory=list)
    kept: list[dict[Side, tuple[Arrival, Bools]]] = field(default_factory=list)
    notes: list[Notes] = field(default_factory=list)
    stats: list[TaskStats] = field(default_factory=list)
    batch: int = 0

    def __post_init__(self) -> None:
        first = self.scheme.initial(self.spec, self.tasks)
        self.plans = [(first, ""), (first, "")]
        self.notes = [{} for _ in range(self.tasks)]

    def step(self, left: Arrival, right: Arrival) -> Seen:
        """Route one batch and let the scheme look at it."""
        before = self.plans[max(self.batch - 1, 0)][0]
        plan, why = self.plans[self.batch]
        if self.batch == 0:
            before = plan
        if self.window is not None:
            self.kept = self.kept[-self.window :]
        moved = self._migrate(plan) if plan != before else np.zeros(self.tasks, np.int64)
        fresh = {"left": left, "right": right}
        stored = {side: plan.store(side, fresh[side].words, fresh[side].u) for side in SIDES}
        probed = {side: plan.probe(side, fresh[side].words, fresh[side].u) for side in SIDES}
        self.kept.append({side: (fresh[side], stored[side]) for side in SIDES})
        held = {
            side: sum((batch[side][1].sum(axis=1) for batch in self.kept), np.zeros(self.tasks, int)) for side in SIDES
        }
        if self.batch:  # task 0 of batch b reads the statistics of b - 1 and pins the plan of b + 1
            self.plans.append(next_plan(self.spec, self.scheme, plan, self.stats))
        self.stats = [self._watched(task, plan, stored, probed, held) for task in range(self.tasks)]
        self.batch += 1
        handled, asked = np.zeros(self.tasks, np.int64), np.zeros(self.tasks, np.int64)
        for side in SIDES:
            handled += (stored[side] | probed[side]).sum(axis=1)
            asked += probed[side].sum(axis=1)
        compared = np.zeros(self.tasks)
        for side in SIDES:
            compared += probed[side].sum(axis=1).astype(np.float64) * held[other(side)]
        return Seen(
            plan,
            held["left"] + held["right"],
            asked,
            handled,
            compared,
            int(moved.sum()),
            int(moved.max()),
            why if plan != before else "",
        )

    def _migrate(self, plan: Plan) -> Counts:
        moved = np.zeros(self.tasks, np.int64)
        for batch in self.kept:
            for side in SIDES:
                rows, old = batch[side]
                new = plan.store(side, rows.words, rows.u)
                moved += (new & ~old).sum(axis=1)
                batch[side] = (rows, new)
        return moved

    def _watched(
        self, task: int, plan: Plan, stored: dict[Side, Bools], probed: dict[Side, Bools], held: dict[Side, Counts]
    ) -> TaskStats:
        last = self.kept[-1]

        def everything(side: Side) -> tuple[Words, U32]:
            parts = [(rows.words[:, mask[task]], rows.u[mask[task]]) for rows, mask in (b[side] for b in self.kept)]
            return np.concatenate([words for words, _ in parts], axis=1), np.concatenate([u for _, u in parts])

        view = BatchView(
            task, plan,
            {side: last[side][0].words[:, stored[side][task]] for side in SIDES},
            {side: last[side][0].words[:, probed[side][task]] for side in SIDES},
            {side: last[side][0].u[stored[side][task]] for side in SIDES},
            everything,
        )  # fmt: skip
        self.notes[task] = self.scheme.watch(self.spec, view, self.notes[task])
        return TaskStats(
            {side: int(stored[side][task].sum()) for side in SIDES}, {side: int(held[side][task]) for side in SIDES},
            dict.fromkeys(SIDES, 0), dict.fromkeys(SIDES, ()), self.notes[task],
        )  # fmt: skip


def arrivals(keys: Iterable[Words], columns: int, seed: int) -> list[Arrival]:
    """Make arrivals of single keys, in the first word column; other columns are zero. Draws are seeded."""
    draw = np.random.default_rng(seed)
    made = []
    for key in keys:
        words = np.zeros((columns, len(key)), np.int64)
        words[0] = key
        made.append(Arrival(words, draw.integers(0, 1 << 32, len(key), dtype=np.uint32)))
    return made
