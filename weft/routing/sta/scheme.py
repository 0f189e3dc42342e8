"""The STA scheme: the tasks' sketches tell which keys are hot, and the plan follows (000-11, 000-26, 000-27).

In the paper one vertex behind the source sees every tuple and answers at once. Here each task counts the tuples it keeps
in an augmented sketch of its own, carried from batch to batch in its notes; estimates add up over tasks, since each tuple is
counted once. Control reads them one batch later and its plan holds from the batch after: **the hot keys of batch b are
those of all batches up to b - 2.** Within a batch equal keys are counted together, which is Alg. 1 on the batch with its
tuples put in another order.

A key that turns hot or cold moves with all its tuples: a plan is a function of the key, and the migration is general. (The
paper leaves a promoted key's old tuples in the chain, 000-26, and moves only those of a demoted one, 000-27.)

A checkpoint of the paper's mode is a plan as well: the tuples older than `published` (a timestamp) belong to every task, and
the general migration copies them. So checkpoints need event time, their interval is a length of it, and what is published in
batch b + 1 is what had arrived by batch b - 1: one batch more of staleness than the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from weft.errors import SpecError
from weft.kernels import mix_words
from weft.routing.conditions import Need, compared_columns, time_columns
from weft.routing.plan import Plan
from weft.routing.scheme import SCHEMES, BatchView, Notes, Scheme, TaskStats
from weft.routing.sta.plan import StaPlan
from weft.sketch import ASketch, heaviest
from weft.spec import JoinSpec
from weft.spec.options import Duration, check_choice, check_count, check_number, microseconds
from weft.types import SIDES, WORD_MIN, Bools, Rows, Side, Words

__all__ = ["Sta", "checkpoint_of", "new_here", "newest_of", "newest_seen"]


@SCHEMES.register
@dataclass(frozen=True)
class Sta(Scheme):
    """Stream-aware inequality join.

    Parameters
    ----------
    hot
        The number of tasks for hot keys; the other keys need at least one more (000-22: three tasks for two hot ones). The
        paper uses two and allows more (000-16): `"auto"` starts with two, then gives hot keys a share of the tasks equal to
        their share of the tuples. With two of many tasks, the hot tasks carry most of a skewed stream.
    mode
        `"exact"` finds every pair. `"paper"` probes one cold task, which sees the others' tuples as of the last checkpoint:
        fewer lookups, but some pairs are missed (000-69).
    checkpoint
        How often, in event time, cold tasks publish their tuples; only in mode `"paper"`.
    cold
        How mode `"exact"` finds all pairs: `"ask"` probes all cold tasks, `"publish"` stores cold tuples on all and probes one.
    choices
        `"round robin"` spreads each hot key over all hot tasks; `"two choices"` assigns it to the less loaded of two
        hashed tasks (000-21).
    top, depth, width
        The number of keys in the filter, and the shape of the sketch (000-10).
    margin
        How many times more frequent a key must be to replace a hot one. 1 is the paper's swap; larger values save migrations.
    worth
        The set of hot keys changes only if the keys concerned have at least this share of all counted tuples: moving rows
        has a cost, and at the tail of the hot keys counts are close. 0 is the paper's rule.
    halve
        Counts are halved whenever a task has counted this many tuples of a side; 0 means never, as in the paper (000-15).
    """

    name: ClassVar[str] = "sta"

    hot: int | Literal["auto"] = 2
    mode: Literal["exact", "paper"] = "exact"
    checkpoint: Duration = "1 second"
    cold: Literal["ask", "publish"] = "ask"
    choices: Literal["round robin", "two choices"] = "round robin"
    top: int = 32
    depth: int = 8
    width: int = 512
    margin: float = 1.5
    worth: float = 0.02
    halve: int = 0

    def __post_init__(self) -> None:
        if self.hot != "auto":
            check_count("hot", self.hot, "tasks for hot keys", "use hot=2, or hot='auto'.")
        for name, word, known in (
            ("mode", self.mode, ("exact", "paper")), ("cold", self.cold, ("ask", "publish")),
            ("choices", self.choices, ("round robin", "two choices")),
        ):  # fmt: skip
            check_choice(name, word, known)
        microseconds("checkpoint", self.checkpoint, least=1)
        for name, count, what, least in (
            ("top", self.top, "hot keys", 1), ("depth", self.depth, "rows of a sketch", 1),
            ("width", self.width, "counters in a row of a sketch", 1),
            ("halve", self.halve, "tuples after which counts are halved", 0),
        ):  # fmt: skip
            check_count(name, count, what, "leave it out for the default.", least=least)
        what = "how many times more frequent a key must be to replace a hot one"
        check_number("margin", self.margin, what, "use 1.5.", least=1)
        check_number("worth", self.worth, "a share of all tuples counted", "use 0.02.", most=1)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.COMPARISON,) if self.exact else (Need.COMPARISON, Need.EVENT_TIME)

    @property
    def least_tasks(self) -> int:
        return 2 if self.hot == "auto" else self.hot + 1

    @property
    def exact(self) -> bool:
        return self.mode == "exact"

    @classmethod
    def examples(cls) -> tuple[Scheme, ...]:
        eager = Sta(hot="auto", top=2, margin=1, worth=0)
        return (
            eager, replace(eager, hot=1, choices="two choices"), Sta(top=1, cold="publish", worth=0),
            replace(eager, hot=1, mode="paper", checkpoint=2),
        )  # fmt: skip

    def first_plan(self, spec: JoinSpec, tasks: int) -> Plan:
        least = self.least_tasks - 1
        if tasks <= least:
            raise SpecError.of(
                f"scheme='sta' with {least} hot task{'s' if least > 1 else ''} needs at least {least + 1} tasks.",
                f"There {'is one' if tasks == 1 else f'are {tasks}'}.",
                f"give tasks={least + 1} or more" + (", or Sta(hot=1)." if 1 < tasks <= least else "."),
            )
        return self._plan(spec, tasks)

    def _plan(self, spec: JoinSpec, tasks: int) -> StaPlan:
        left, right = compared_columns(spec)
        stale = self.mode == "paper"
        times = time_columns(spec) if stale else (-1, -1)
        publish = not stale and self.cold == "publish"
        hot = min(2, max(1, tasks - 1)) if self.hot == "auto" else self.hot
        return StaPlan(
            tasks, left, right, hot, ask_one=stale or publish, shared=publish, left_time=times[0], right_time=times[1]
        )  # fmt: skip

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        columns = compared_columns(spec)
        notes: Notes = {"newest": max(newest_of(spec, view), before.get("newest", WORD_MIN))}
        for side, column in zip(SIDES, columns, strict=True):
            sketch = self._sketch(before.get(side))
            keys, counts = np.unique(view.stored[side][column][new_here(view, side)], return_counts=True)
            order = np.argsort(-counts, kind="stable")
            sketch.update(keys[order], counts[order].astype(np.int64))
            counted = before.get(f"{side} counted", 0) + int(counts.sum())
            while self.halve and counted >= self.halve:
                sketch.halve()
                counted -= self.halve
            notes[side], notes[f"{side} counted"] = sketch.to_json(), counted
        return notes

    def _sketch(self, noted: dict[str, Any] | None) -> ASketch:
        """Return the sketch of the notes; a new one if there is none, or it has another shape."""
        found = None if noted is None else ASketch.of_json(noted)
        if found is None or (found.rest.depth, found.rest.width) != (self.depth, self.width):
            return ASketch(self.top, self.depth, self.width)
        found.top = self.top
        return found

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        assert isinstance(plan, StaPlan)
        fresh = self._plan(spec, plan.tasks)
        if (fresh.left, fresh.right) != (plan.left, plan.right):
            return fresh, "the key changed"
        found = {
            side: self._hottest(side, now, stats) for side, now in (("left", plan.left_hot), ("right", plan.right_hot))
        }
        if self.hot == "auto":
            fresh = replace(fresh, hot=_hot_tasks(plan, list(found.values())))
        places = {side: self._places(hottest, fresh) for side, hottest in found.items()}
        published = WORD_MIN
        if self.mode == "paper":
            interval = microseconds("checkpoint", self.checkpoint, least=1)
            published = checkpoint_of(newest_seen(stats), interval, plan.published)
        after = replace(
            fresh, left_hot=tuple(found["left"].keys.tolist()), right_hot=tuple(found["right"].keys.tolist()),
            left_place=places["left"], right_place=places["right"], published=published,
        )  # fmt: skip
        return (plan, "") if after == plan else (after, _why(plan, after))

    def _hottest(self, side: str, now: tuple[int, ...], stats: list[TaskStats]) -> Hottest:
        """Return the hot keys of one side."""
        sketches = [self._sketch(task.notes[side]) for task in stats if side in task.notes]
        if not sketches:
            return Hottest(np.array(now, np.int64), np.zeros(len(now), np.int64), 0)
        keys, counts = heaviest(sketches, sum(len(sketch.keys) for sketch in sketches))
        keys, counts = keys[counts > 1], counts[counts > 1]  # not hot at first sight (000-14)
        held = np.isin(keys, np.array(now, np.int64))
        rank = np.lexsort((keys, -np.where(held, counts * self.margin, counts)))[: self.top]
        total = sum(int((sketch.new - sketch.old).sum() + sketch.rest.table[0].sum()) for sketch in sketches)
        moved = counts[np.setdiff1d(np.flatnonzero(held), rank)].sum() + counts[rank][~held[rank]].sum()
        if now and moved < self.worth * total:
            rank = np.flatnonzero(held)
        keys, counts = keys[rank], counts[rank]
        order = np.argsort(keys)
        return Hottest(keys[order], counts[order], total)

    def _places(self, hottest: Hottest, plan: StaPlan) -> tuple[int, ...]:
        """Return, with two choices, the hot task of each hot key."""
        if self.choices != "two choices":
            return ()
        return tuple(two_choices(hottest.keys, hottest.counts, plan.hot_tasks).tolist())


class Hottest(NamedTuple):
    """Hot keys in ascending order, how often each was seen, and how many tuples were counted in all."""

    keys: Words
    counts: Rows
    total: int


_DRIFT = 0.25
"""Hot tasks are added or taken away when their number is off by more than this share."""


def _hot_tasks(plan: StaPlan, sides: list[Hottest]) -> int:
    """Return how many tasks the hot keys' share of the tuples calls for; a small difference is not worth a migration."""
    total = sum(side.total for side in sides)
    if not total:
        return plan.hot
    wanted = round(plan.tasks * min(1.0, sum(int(side.counts.sum()) for side in sides) / total))
    wanted = max(1, min(plan.tasks - 1, wanted))
    return plan.hot if abs(wanted - plan.hot) <= _DRIFT * plan.hot else wanted


def two_choices(keys: Words, counts: Rows, tasks: int) -> Rows:
    """Return a task for each key, heaviest first: the less loaded of the two that it hashes to (Nasir et al.)."""
    first, second = (
        (mix_words([keys, np.full(len(keys), salt)]).view(np.uint64) % np.uint64(max(tasks, 1))).astype(np.int64)
        for salt in (1, 2)
    )
    load = np.zeros(max(tasks, 1), np.int64)
    chosen = np.zeros(len(keys), np.int64)
    for at in np.argsort(-counts, kind="stable"):  # a few dozen keys, and each choice depends on those before
        one, two = first[at], second[at]
        chosen[at] = one if load[one] <= load[two] else two
        load[chosen[at]] += counts[at]
    return chosen


def _why(before: StaPlan, after: StaPlan) -> str:
    old = {("left", key) for key in before.left_hot} | {("right", key) for key in before.right_hot}
    new = {("left", key) for key in after.left_hot} | {("right", key) for key in after.right_hot}
    parts = [
        f"{len(keys)} key{'s' if len(keys) != 1 else ''} turned {word}"
        for keys, word in ((new - old, "hot"), (old - new, "cold")) if keys
    ]  # fmt: skip
    if after.published != before.published:
        parts.append(f"checkpoint: published up to {after.published}")
    if after.hot != before.hot:
        parts.append(f"{after.hot} hot tasks instead of {before.hot}")
    return ", ".join(parts) or "hot keys reassigned"


def checkpoint_of(newest: int, interval: int, published: int) -> int:
    """Return the last whole interval before `newest`, never before what is published already."""
    return published if newest == WORD_MIN else max(published, newest // interval * interval)


def new_here(view: BatchView, side: Side) -> Bools:
    """Tell which stored rows this task counts: each row is counted by the first task that keeps it."""
    first = view.plan.store(side, view.stored[side], view.draws[side]).argmax(axis=0)
    return np.asarray(first == view.task)


def newest_of(spec: JoinSpec, view: BatchView) -> int:
    """Return the greatest timestamp among the rows that came to stay."""
    columns = {side: spec.side(side).time for side in SIDES}
    words = {side: view.stored[side] for side in SIDES}
    found = [
        int(words[side][column].max()) for side, column in columns.items() if column is not None and words[side].size
    ]
    return max(found, default=WORD_MIN)


def newest_seen(stats: list[TaskStats]) -> int:
    """Return the greatest timestamp that any task noted."""
    return max((task.notes.get("newest", WORD_MIN) for task in stats), default=WORD_MIN)
