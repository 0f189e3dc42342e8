"""A join by its routing alone: which pairs meet, which tasks do how much, for a hundred tasks in seconds.

After a migration a task holds exactly what the plan gives it, so the plan's answers for the rows of the window *are* the
state, and no index is needed to count the pairs that meet. Watch and control are the schemes' own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weft.engine import next_plan
from weft.kernels import draws
from weft.routing import BatchView, Notes, Plan, Scheme, TaskStats
from weft.spec import Compare, Condition, JoinSpec, Key, Op, build_spec, within
from weft.types import SIDES, U32, Bools, Side, Words, other

__all__ = ["Routed", "route"]


@dataclass(frozen=True)
class Routed:
    """Pairs that met and pairs there are; per task: rows kept, lookups, rows looked through and rows moved in; plan changes."""

    found: int
    wanted: int
    kept: NDArray[np.int64]
    asked: NDArray[np.int64]
    looked: NDArray[np.int64]
    moved: NDArray[np.int64]
    changes: int

    @property
    def completeness(self) -> float:
        """Return the share of pairs found."""
        return self.found / self.wanted if self.wanted else 1.0


def spec_of(span: int) -> JoinSpec:
    """Return `l.k >= r.k`, as the authors run Query 4 (000-51), in a window of `span` either way."""
    compare = Compare(Key("k"), Op.GE, Key("k"))
    return build_spec(Condition("l.k >= r.k", (compare,)), within(span, on="t", delay=0))


def route(scheme: Scheme, left: Words, right: Words, *, every: int, batch: int, tasks: int, span: int) -> Routed:
    """Send two streams of keys, a tuple of each `every` so many units of time, through a scheme."""
    spec = spec_of(span)
    plans = [scheme.initial(spec, tasks)]
    keys = {"left": left, "right": right}
    words: dict[Side, Words] = {side: np.stack([keys[side], np.arange(len(left)) * every]) for side in SIDES}
    notes: list[Notes] = [{} for _ in range(tasks)]
    stats: list[TaskStats] = []
    found, changes = 0, 0
    kept, asked, looked, moved = np.zeros((4, tasks), np.int64)
    u: dict[Side, U32] = {
        side: np.concatenate([draws(at, part, 0, batch) for at in range(-(-len(left) // batch))])[: len(left)]
        for part, side in enumerate(SIDES)
    }
    zero: dict[Side, int] = dict.fromkeys(SIDES, 0)
    for number, at in enumerate(range(0, len(left), batch)):
        after, reason = next_plan(spec, scheme, plans[number], stats)
        plans.append(after)
        changes += bool(reason)
        end = min(at + batch, len(left))
        now = _Batch(plans[number], words, u, max(0, at - -(-span // every)), at, end)
        stored = {side: now.kept(side, at, end) for side in SIDES}
        for side in SIDES:
            kept += stored[side].sum(axis=1)
            new = now.rows(side, at, end)
            probes = now.plan.probe(side, *new)
            asked += probes.sum(axis=1)
            until = end if side == "left" else at  # right comes first: left rows see this batch, right rows do not
            held = now.rows(other(side), now.old, until)[0]
            state = now.kept(other(side), now.old, until)
            looked += probes.sum(axis=1) * state.sum(axis=1)
            found += _met(side, new[0], probes, held, state, span)
            if number and plans[number] != plans[number - 1]:
                before = replace(now, plan=plans[number - 1]).kept(side, now.old, at)
                moved += (now.kept(side, now.old, at) & ~before).sum(axis=1)
        notes = [scheme.watch(spec, now.view(task, stored), notes[task]) for task in range(tasks)]
        stats = [TaskStats(zero, zero, zero, {"left": (), "right": ()}, one) for one in notes]
    return Routed(found, _wanted(words, span), kept, asked, looked, moved, changes)


@dataclass(frozen=True)
class _Batch:
    """One batch under one plan, as its tasks see it: rows from `at` to `end` are new, from `old` on they are held."""

    plan: Plan
    words: dict[Side, Words]
    u: dict[Side, U32]
    old: int
    at: int
    end: int

    def rows(self, side: Side, since: int, until: int) -> tuple[Words, U32]:
        return self.words[side][:, since:until], self.u[side][since:until]

    def kept(self, side: Side, since: int, until: int) -> Bools:
        return self.plan.store(side, *self.rows(side, since, until))

    def view(self, task: int, stored: dict[Side, Bools]) -> BatchView:
        new = {side: self.rows(side, self.at, self.end) for side in SIDES}
        return BatchView(
            task,
            self.plan,
            {side: new[side][0][:, stored[side][task]] for side in SIDES},
            {side: self.words[side][:, :0] for side in SIDES},
            {side: new[side][1][stored[side][task]] for side in SIDES},
            lambda side: self._held(side, task),
        )

    def _held(self, side: Side, task: int) -> tuple[Words, U32]:
        words, u = self.rows(side, self.old, self.end)
        here = self.plan.store(side, words, u)[task]
        return words[:, here], u[here]


def _met(side: Side, new: Words, probes: Bools, held: Words, state: Bools, span: int) -> int:
    """Count the pairs that satisfy the join and meet in some task, as often as they meet."""
    if not held.shape[1]:
        return 0
    keys = new[0][:, None] >= held[0][None, :] if side == "left" else held[0][None, :] >= new[0][:, None]
    match = keys & (np.abs(new[1][:, None] - held[1][None, :]) <= span)
    meets = probes.T.astype(np.float32) @ state.astype(np.float32)
    return int(meets[match].sum())


def _wanted(words: dict[Side, Words], span: int) -> int:
    total, rows, step = 0, words["left"].shape[1], 512
    for at in range(0, rows, step):
        part = words["left"][:, at : at + step]
        near = np.abs(part[1][:, None] - words["right"][1][None, :]) <= span
        total += int((near & (part[0][:, None] >= words["right"][0][None, :])).sum())
    return total
