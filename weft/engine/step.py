"""The join step of one task in one batch: no clock, no file, no Spark.

Within a batch, right comes before left: new right rows are stored, left rows look among all right rows,
right rows look among the left rows of earlier batches, then the left rows are stored. So each pair is found once, by
its later tuple. A new tuple probes, expires, inserts (X01); what is out of the window is filtered when probed, because
the window is one of the terms, and removed in bulk later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from weft.engine.arrivals import Arrivals
from weft.engine.clock import advance, expired_before, late_rows
from weft.engine.pairs import Leaving, Pairs, once, pairs_of
from weft.engine.route import HOME, PROBE, STORE
from weft.index import Index, Probe, Run, make_index
from weft.routing import BatchView, TaskStats
from weft.spec import JoinSpec, Op, Term
from weft.state import TaskState
from weft.types import SIDES, U32, Block, Side, Words, other

__all__ = [
    "CHUNK", "Found", "Step", "alive_rows", "arrived_rows", "finished", "held_rows", "index_of", "outliving", "step",
]  # fmt: skip

CHUNK = 1 << 16
"""Pairs per chunk: memory stays bounded whatever the selectivity."""

SAMPLE = 128
"""Range words per side and task that a batch reports for control."""


Found = TypeVar("Found", bound=Sized)
"""A chunk of what a join finds."""


@dataclass(frozen=True)
class Step(Generic[Found]):
    """The state after the batch, what was seen, and the pairs, found while they are drawn."""

    state: TaskState
    stats: TaskStats
    view: BatchView
    pairs: Callable[[], Iterator[Found]]
    spent: Callable[[], dict[str, float]] = dict
    """Seconds of its parts that the join itself takes, once the pairs are drawn."""


def step(
    spec: JoinSpec, index: str, state: TaskState, arrivals: Arrivals, chunk: int = CHUNK, task: int = 0,
    leaving: Leaving | None = None,
) -> Step[Pairs]:  # fmt: skip
    """Join one batch. The state after it does not depend on the pairs being drawn."""
    leaving = leaving or Leaving()
    blocks, roles = arrivals.blocks, arrivals.roles
    fresh = {side: blocks[side].filter((roles[side] & STORE) != 0) for side in SIDES}
    asking = {side: blocks[side].filter((roles[side] & PROBE) != 0) for side in SIDES}
    clock = advance(state.clock, arrivals.headers)

    runs: dict[Side, tuple[Run, ...]] = {}
    for side in SIDES:
        holder = index_of(spec, index, side, state.runs[side], state.before[side])
        holder.expire(expired_before(spec, side, state.clock))
        if len(fresh[side]):
            holder.insert(fresh[side])
        runs[side] = tuple(holder.snapshot())
    before = {side: expired_before(spec, side, state.clock) for side in SIDES}
    kept = {
        side: tuple(outliving(spec, side, runs[side], state.runs[side], expired_before(spec, side, clock)))
        for side in SIDES
    }
    after = replace(state, runs=kept, before=before, clock=clock)

    def pairs() -> Iterator[Pairs]:
        old = {side: index_of(spec, index, side, state.runs[side], state.before[side]) for side in SIDES}
        if spec.self_join:
            new = index_of(spec, index, "right", (), state.before["right"])
            if len(fresh["right"]):
                new.insert(fresh["right"])
            yield from once(spec, asking, old, new, chunk, leaving)
            return
        right = index_of(spec, index, "right", runs["right"], before["right"])
        yield from _found(spec, "left", asking["left"], right, chunk, leaving)
        yield from _found(spec, "right", asking["right"], old["left"], chunk, leaving)

    return finished(spec, state, after, arrivals, fresh, asking, pairs, task)


def finished(
    spec: JoinSpec, state: TaskState, after: TaskState, arrivals: Arrivals, fresh: dict[Side, Block],
    asking: dict[Side, Block], pairs: Callable[[], Iterator[Pairs]], task: int,
) -> Step[Pairs]:  # fmt: skip
    """Return a step from the state before it and after it, with what was seen on the way."""
    kept, before = after.runs, after.before
    sample = {side: _sample(spec, side, kept[side]) for side in SIDES}
    alive = {side: alive_rows(spec, side, kept[side], before[side]) for side in SIDES}
    stats = TaskStats(arrived_rows(arrivals), after.rows, late_rows(arrivals.headers, task), sample, alive=alive)
    view = BatchView(
        task,
        state.plan,
        {side: fresh[side].words for side in SIDES},
        {side: asking[side].words for side in SIDES},
        {side: fresh[side].u for side in SIDES},
        lambda side: held_rows(spec, side, kept[side]),
    )
    return Step(after, stats, view, pairs)


def _found(
    spec: JoinSpec, side: Side, block: Block, index: Index, chunk: int, leaving: Leaving
) -> Iterator[Pairs]:  # fmt: skip
    if len(block):
        probe = Probe(block, spec.access_of(side), spec.terms_of(side))
        yield from pairs_of(side, block, index.probe(probe, chunk), leaving)


def index_of(spec: JoinSpec, name: str, side: Side, runs: tuple[Run, ...], before: int) -> Index:
    """Return an index of one side over runs."""
    made = make_index(name, spec.access_of(other(side)), spec.expiry(side), kept=True)
    made.restore(runs, before)
    return made


def outliving(
    spec: JoinSpec, side: Side, runs: tuple[Run, ...], old: tuple[Run, ...], before: int
) -> Iterator[Run]:  # fmt: skip
    """Yield the runs as they are kept: without the rows that no later batch can meet, where those are many.

    A batch longer than the window brings mostly such rows. Runs that this batch found stay as they are: they are written.
    """
    column = spec.expiry(side)
    for run in runs:
        if column is None or any(run is each for each in old):
            yield run
        elif run.newest >= before:  # the newest row itself may have moved to another task
            stays = run.column(column) >= before
            rows = run.row[stays[run.row]]
            if 4 * len(rows) > 3 * run.rows:
                yield run
            elif len(rows):
                yield Run(run.parts, rows, run.newest, run.span).compacted()


def arrived_rows(arrivals: Arrivals) -> dict[Side, int]:
    """Count the rows that this task counts, for all tasks that they reached."""
    return {side: int(((arrivals.roles[side] & HOME) != 0).sum()) for side in SIDES}


def alive_rows(spec: JoinSpec, side: Side, runs: tuple[Run, ...], before: int) -> int:
    """Count the rows that have not expired."""
    column = spec.expiry(side)
    if column is None:
        return sum(len(run) for run in runs)
    return sum(
        int(np.count_nonzero(part.words[column] >= before))
        for run in runs
        if run.newest >= before
        for part in run.parts
    )


def held_rows(spec: JoinSpec, side: Side, runs: tuple[Run, ...]) -> tuple[Words, U32]:
    """Return words and draws of everything held, rows that wait for their removal included."""
    if not runs:
        return np.zeros((spec.side(side).columns, 0), np.int64), np.zeros(0, np.uint32)
    return np.concatenate([run.words for run in runs], axis=1), np.concatenate([run.u for run in runs])


def _sample(spec: JoinSpec, side: Side, runs: tuple[Run, ...]) -> tuple[int, ...]:
    """Return evenly spaced range words of what is held: sorted runs give quantiles for nothing."""
    within: Term | None = spec.access.within
    if within is None or within.op is Op.EQ:
        return ()
    column = within.left if side == "left" else within.right
    total = sum(len(run) for run in runs)
    if not total:
        return ()
    stride = max(1, -(-total // SAMPLE))
    picked: list[Words] = [run.column(column)[run.row[stride // 2 :: stride]] for run in runs]
    return tuple(int(word) for word in np.concatenate(picked)[:SAMPLE])
