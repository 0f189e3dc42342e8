"""A scheme driven through real adaptation: batches are routed, watched and decided upon as a join does it.

The very plans, notes and control steps of a join, with its delay (statistics of batch b - 1 make the plan of batch b + 1) and
its migration (rows that `Plan.changed` does not find stay where they are). Only the join itself is replaced: it counts in
how many tasks each pair meets.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from tests.routing.meeting import Rows, matching
from weft.engine import next_plan
from weft.kernels import mix_words
from weft.kernels.words import float_words
from weft.routing import BatchView, Plan, Scheme, TaskStats
from weft.spec import JoinSpec, Op, Tumbling
from weft.types import SIDES, U32, Bools, Side, Words

__all__ = ["Drive", "batches_of"]

SAMPLE = 128
"""Range words per side and task, as in a join."""


class Drive:
    """One scheme on one join. `plans` are those that were in force, batch by batch."""

    def __init__(self, spec: JoinSpec, scheme: Scheme, tasks: int) -> None:
        self.spec, self.scheme = spec, scheme
        self.plans: list[Plan] = [scheme.initial(spec, tasks)]
        self.following = self.plans[0]
        self.rows = {
            side: Rows(np.zeros((spec.side(side).columns, 0), np.int64), np.zeros(0, np.uint32)) for side in SIDES
        }
        self.kept: dict[Side, Bools] = {side: np.zeros((tasks, 0), np.bool_) for side in SIDES}
        self.stats: list[TaskStats] = []
        self.met: NDArray[np.int64] = np.zeros((0, 0), np.int64)

    def batch(self, left: Rows, right: Rows) -> None:
        """Route one batch, count who meets, note, and decide."""
        plan, old = self.following, self.plans[-1]
        if plan != old:
            self._migrate(old, plan)
        self.plans.append(plan)
        fresh: dict[Side, Rows] = {"left": left, "right": right}
        stored = {side: plan.store(side, fresh[side].words, fresh[side].u) for side in SIDES}
        probed = {side: plan.probe(side, fresh[side].words, fresh[side].u) for side in SIDES}
        early = self.kept["left"]
        for side in SIDES:
            rows = self.rows[side]
            self.rows[side] = Rows(
                np.concatenate([rows.words, fresh[side].words], 1), np.concatenate([rows.u, fresh[side].u])
            )
            self.kept[side] = np.concatenate([self.kept[side], stored[side]], axis=1)
        # Left rows look among all right rows, right rows among the left rows of earlier batches.
        met = np.zeros((len(self.rows["left"].u), len(self.rows["right"].u)), np.int64)
        met[: self.met.shape[0], : self.met.shape[1]] = self.met
        met[self.met.shape[0] :] += probed["left"].T.astype(np.int64) @ self.kept["right"].astype(np.int64)
        met[: self.met.shape[0], self.met.shape[1] :] += early.T.astype(np.int64) @ probed["right"].astype(np.int64)
        self.met = met
        after = next_plan(self.spec, self.scheme, plan, self.stats)[0]
        self.stats = [self._noted(task, plan, fresh, stored, probed) for task in range(plan.tasks)]
        self.following = after

    def restart(self, tasks: int) -> None:
        """Go on with another number of tasks."""
        self.following = self.following.adapt(tasks)

    @property
    def changes(self) -> int:
        """Return how often another plan came into force."""
        return sum(one != two for one, two in zip(self.plans, self.plans[1:], strict=False))

    def check(self) -> None:
        """Check that the pairs of all batches were found: each once, or where the scheme may miss some, at most once."""
        found = self.met[matching(self.spec, self.rows["left"].words, self.rows["right"].words)]
        once = found == 1 if self.scheme.exact else found <= 1
        assert once.all(), f"{self.scheme}: pairs met {np.unique(found)} times over {self.plans}"

    def _migrate(self, old: Plan, plan: Plan) -> None:
        for side in SIDES:
            rows, kept = self.rows[side], self.kept[side]
            fresh = plan.store(side, rows.words, rows.u)
            moving = plan.changed(old, side)
            if moving is not None and plan.tasks == old.tasks:
                stay = np.setdiff1d(np.arange(len(rows.u)), moving(rows.words))
                assert (fresh[:, stay] == kept[:, stay]).all(), f"{plan} moves rows that it does not name"
            for task in range(plan.tasks):
                self._check_sources(old, plan, side, task, fresh[task])
            self.kept[side] = fresh

    def _check_sources(self, old: Plan, plan: Plan, side: Side, task: int, fresh: Bools) -> None:
        """Check that a task would look where the rows are that it gains, whatever it leaves out."""
        gained, rows, kept = plan.gained(old, side, task), self.rows[side], self.kept[side]
        if gained is None:
            return
        mine = kept[task] if task < len(kept) else np.zeros(len(rows.u), np.bool_)
        come = np.flatnonzero(fresh & ~mine & kept.any(axis=0))
        owners, boxes = gained
        assert owners[kept[:, come].argmax(axis=0)].all(), (
            f"{plan} after {old}: task {task} gains from others than it asks"
        )
        words, draws = rows.words[:, come], rows.u[come].astype(np.int64)
        assert boxes.reach(words, words, draws, draws).all(), (
            f"{plan} after {old}: task {task} gains what it does not open"
        )

    def _noted(
        self, task: int, plan: Plan, fresh: dict[Side, Rows], stored: dict[Side, Bools], probed: dict[Side, Bools]
    ) -> TaskStats:  # fmt: skip
        def held(side: Side) -> tuple[Words, U32]:
            mine = self.kept[side][task]
            return self.rows[side].words[:, mine], self.rows[side].u[mine]

        view = BatchView(
            task, plan, {side: fresh[side].words[:, stored[side][task]] for side in SIDES},
            {side: fresh[side].words[:, probed[side][task]] for side in SIDES},
            {side: fresh[side].u[stored[side][task]] for side in SIDES}, held,
        )  # fmt: skip
        before = json.dumps(self.stats[task].notes if task < len(self.stats) else {})
        notes = self.scheme.watch(self.spec, view, json.loads(before))
        assert json.dumps(notes) == json.dumps(self.scheme.watch(self.spec, view, json.loads(before))), (
            "notes are not pure"
        )
        stats = TaskStats(
            {side: int(stored[side][task].sum()) for side in SIDES}, {side: len(held(side)[1]) for side in SIDES},
            dict.fromkeys(SIDES, 0), {side: self._sample(side, held(side)[0]) for side in SIDES}, notes,
        )  # fmt: skip
        return TaskStats.of_json(json.loads(json.dumps(stats.to_json())))

    def _sample(self, side: Side, words: Words) -> tuple[int, ...]:
        within = self.spec.access.within
        if within is None or within.op is Op.EQ:
            return ()
        column = np.sort(words[within.left if side == "left" else within.right])
        return tuple(int(word) for word in column[:: max(1, -(-len(column) // SAMPLE))])


def batches_of(spec: JoinSpec, count: int = 6, seed: int = 1) -> list[dict[Side, Rows]]:
    """Make batches that call for adaptation: a hot key that moves on, keys that drift, a left stream that outgrows the right."""
    random = np.random.default_rng(seed)
    made = []
    for batch in range(count):
        sizes: dict[Side, int] = {"left": 12 * (batch + 1), "right": 10}
        made.append({side: _rows(spec, side, size, batch, random) for side, size in sizes.items()})
    return made


def _rows(spec: JoinSpec, side: Side, size: int, batch: int, random: np.random.Generator) -> Rows:
    part = spec.side(side)
    hot = random.random(size) < 0.5
    words = np.zeros((part.columns, size), np.int64)
    for column in range(len(part.keys)):
        # The columns of a key agree on the hot rows, so that a hot key is hot in all of its columns.
        keys = np.where(hot, 3 + batch // 2, random.integers(batch, batch + 12, size))
        floating = any(
            term.op is Op.FBAND and column == (term.left if side == "left" else term.right) for term in spec.terms
        )
        words[column] = float_words(keys.astype(np.float64)) if floating else keys
    if part.time is not None:
        words[part.time] = 20 * batch + random.integers(0, 20, size)
        if part.bucket is not None:
            assert isinstance(spec.window, Tumbling)
            words[part.bucket] = words[part.time] // spec.window.size
    if part.mix is not None:
        words[part.mix] = mix_words([words[column] for column in part.equal])
    return Rows(words, random.integers(0, 2**32, size, dtype=np.uint32))
