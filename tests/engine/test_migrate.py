"""Migration against brute force: whatever the two plans, a task ends with the rows that the new one gives it, each once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.routing.fastjoin_plans import fastjoin_plans
from tests.routing.meeting import EDGES, SPECS, Rows, rows_of
from weft.engine import Sources, migrate
from weft.index import Run, make_index
from weft.routing import FastJoinPlan, MatrixPlan, Plan, RangePlan, equality_columns, scheme_named
from weft.spec import JoinSpec
from weft.state import TaskState
from weft.state.segments import segment_of
from weft.types import SIDES, WORD_MIN, Block, Side, other

JOINS = ("equal", "two equal", "band", "less", "less, within time", "interval of the right", "not")


@st.composite
def plans(draw: st.DrawFn, spec: JoinSpec, tasks: int) -> Plan:
    """Draw a plan of any kind that serves a join."""
    kinds = ["matrix", "broadcast", "split"]
    kinds += ["hash", "fastjoin", "fastjoin"] if spec.access.equal is not None else []
    kinds += ["range", "range"] if spec.access.within is not None else []
    kind = draw(st.sampled_from(kinds))
    if kind == "fastjoin":
        return draw(fastjoin_plans(spec, tasks, EDGES))
    if kind == "range":
        bounds = draw(st.lists(st.sampled_from(EDGES), max_size=tasks - 1, unique=True).map(sorted))
        return RangePlan.over(spec, tasks, tuple(bounds))
    if kind == "matrix":
        rows = draw(st.integers(1, tasks))
        return MatrixPlan(tasks, rows, draw(st.integers(1, tasks // rows)))
    return scheme_named(kind).initial(spec, tasks)


@st.composite
def indexes(draw: st.DrawFn, spec: JoinSpec) -> str:
    return draw(st.sampled_from(["runs", "scan", *(["hash"] if spec.access.equal is not None else [])]))


def state_of(
    spec: JoinSpec, index: str, plan: Plan, task: int, rows: dict[Side, Rows], cut: int, before: dict[Side, int]
) -> TaskState:
    """Return what a task holds under a plan: rows that came in two batches, some of which may have expired."""
    runs: dict[Side, tuple[Run, ...]] = {}
    for side in SIDES:
        holder = make_index(index, spec.access_of(other(side)), spec.expiry(side), kept=True)
        here = plan.store(side, rows[side].words, rows[side].u)[task]
        for batch in (slice(0, cut), slice(cut, None)):
            ids = np.arange(len(rows[side].u))[batch][here[batch]]
            if len(ids):
                payload = pa.table({"id": ids})
                holder.insert(Block(rows[side].words[:, ids], rows[side].u[ids], payload))
        holder.expire(before[side])
        runs[side] = tuple(holder.snapshot())
    return TaskState(plan, runs, before, index=index)


def held(state: TaskState, side: Side) -> list[int]:
    """Return the ids of the rows that a task holds."""
    return sorted(number for run in state.runs[side] for number in run.payload["id"].take(run.row).to_pylist())


def check_rows(spec: JoinSpec, index: str, state: TaskState, rows: dict[Side, Rows]) -> None:
    """Check that words, draws and payload still belong together, and that an index can go on from the runs."""
    for side in SIDES:
        for run in state.runs[side]:
            ids = run.payload["id"].to_numpy()
            assert (run.words == rows[side].words[:, ids]).all() and (run.u == rows[side].u[ids]).all()
        again = make_index(index, spec.access_of(other(side)), spec.expiry(side), kept=True)
        again.restore(state.runs[side], state.before[side])
        again.validate()


def _opened(state: TaskState, plan: Plan, owner: int, task: int) -> TaskState:
    """Return what a task opens of an old one's state: the segments in which it may gain something."""
    sources = Sources.of(plan, state.plan, task)
    runs = {
        side: tuple(
            run
            for run in state.runs[side]
            if sources.wants(owner, side, segment_of("0-0.arrow", run, {})[0], waits=False)
        )
        for side in SIDES
    }
    return replace(state, runs=runs if owner in sources.tasks else {"left": (), "right": ()})


@pytest.mark.parametrize("join", JOINS)
@at_most(60)
@given(data=st.data())
def test_a_task_holds_what_the_new_plan_gives_it(join: str, data: st.DataObject) -> None:
    spec = SPECS[join]
    rows: dict[Side, Rows] = {side: data.draw(rows_of(spec, side), side) for side in SIDES}
    old, new = (data.draw(plans(spec, data.draw(st.integers(1, 4))), name) for name in ("old", "new"))
    one, two = data.draw(indexes(spec), "index before"), data.draw(indexes(spec), "index now")
    cut, before = data.draw(st.integers(0, 6), "cut"), dict.fromkeys(SIDES, WORD_MIN)
    states = [state_of(spec, one, old, task, rows, cut, before) for task in range(old.tasks)]
    for task in range(new.tasks):
        state, moved = migrate(
            spec, two, task, new, [_opened(one, new, owner, task) for owner, one in enumerate(states)]
        )
        gained = lost = 0
        for side in SIDES:
            then = np.zeros((max(old.tasks, new.tasks), len(rows[side].u)), np.bool_)
            then[: old.tasks] = old.store(side, rows[side].words, rows[side].u)
            # A row that no task kept, an interval whose ends are the wrong way round, has no partner and is gone.
            now = new.store(side, rows[side].words, rows[side].u)[task] & then.any(axis=0)
            assert held(state, side) == np.flatnonzero(now).tolist()
            gained += int((now & ~then[task]).sum())
            lost += int((then[task] & ~now).sum())
        assert moved.lost == lost
        assert moved.gained == gained if one == two else moved.gained >= gained
        assert (state.plan, state.index) == (new, two)
        check_rows(spec, two, state, rows)


@at_most(60)
@given(data=st.data())
def test_what_has_expired_may_stay_behind_and_nothing_else(data: st.DataObject) -> None:
    spec = SPECS["band, tumbling"]
    rows: dict[Side, Rows] = {side: data.draw(rows_of(spec, side), side) for side in SIDES}
    before: dict[Side, int] = {side: data.draw(st.sampled_from(EDGES)) for side in SIDES}
    old, new = (data.draw(plans(spec, data.draw(st.integers(1, 4))), name) for name in ("old", "new"))
    states = [state_of(spec, "runs", old, task, rows, 3, before) for task in range(old.tasks)]
    for task in range(new.tasks):
        state, _ = migrate(spec, "runs", task, new, states)
        for side in SIDES:
            column = spec.expiry(side)
            assert column is not None
            now = new.store(side, rows[side].words, rows[side].u)[task]
            needed = set(np.flatnonzero(now & (rows[side].words[column] >= before[side])).tolist())
            found = held(state, side)
            assert len(found) == len(set(found)) and needed <= set(found) <= set(np.flatnonzero(now).tolist())
        assert state.before == before
        check_rows(spec, "runs", state, rows)


def test_a_run_that_loses_nothing_is_kept_as_it_lies() -> None:
    """File and all: one key moves from task 0 to task 1, and a third task has nothing to do with it."""
    spec = SPECS["equal"]
    plan = FastJoinPlan(3, *equality_columns(spec), shared=True)
    words = np.arange(12, dtype=np.int64)[None, :].copy()
    rows: dict[Side, Rows] = {side: Rows(words, np.zeros(12, np.uint32)) for side in SIDES}
    owner = plan.owner(0, words[0])
    moving = int(words[0][owner == 0][0])
    after = replace(plan, moved=(((moving, 1),),), version=1)
    none = dict.fromkeys(SIDES, WORD_MIN)
    states = [state_of(spec, "runs", plan, task, rows, 12, none) for task in range(3)]
    named = [
        replace(state, runs={side: tuple(replace(run, segment="file") for run in state.runs[side]) for side in SIDES})
        for state in states
    ]
    moves = [migrate(spec, "runs", task, after, named) for task in range(3)]
    assert [(moved.gained, moved.lost) for _, moved in moves] == [(0, 2), (2, 0), (0, 0)]
    segments = [[run.segment for run in state.runs["left"]] for state, _ in moves]
    assert segments[0] == [""] and "file" in segments[1] and segments[2] == ["file"]
