"""FastJoin's plan and control: tables per group, rounds, back-off, split keys, memory, reports."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.routing.fastjoin_plans import fastjoin_plans
from tests.routing.meeting import EDGES, check_meets_once, rows_of
from tests.routing.specs import EQUAL, TUMBLING, TWO, TWO_TUMBLING
from weft.routing import FastJoin, FastJoinPlan, HashPlan, TaskStats, plan_from_json
from weft.routing.fastjoin import KeyCounts, SplitKey, TaskGrid, load_table
from weft.types import SIDES, Side
from weft_lab.schemes import SaFit

CALM: dict[str, Any] = {"noise": 0.0, "gain": 0.0, "enough": 0.0}
KeyLoads = dict[int, tuple[float, float]]


@pytest.mark.paper("X02")
@pytest.mark.paper("003-02")
@pytest.mark.parametrize("spec", [EQUAL, TWO, TUMBLING, TWO_TUMBLING], ids=["one", "two", "tumbling", "two tumbling"])
@at_most(60)
@given(data=st.data())
def test_whatever_the_tables_say_every_pair_meets_once(spec, data):
    left, right = data.draw(rows_of(spec, "left")), data.draw(rows_of(spec, "right"))
    plan = FastJoin().initial(spec, 1)
    assert isinstance(plan, FastJoinPlan)
    keys = [*EDGES, *plan.key("left", left.words).tolist(), *plan.key("right", right.words).tolist()]
    plan = data.draw(fastjoin_plans(spec, data.draw(st.integers(1, 7)), keys))
    check_meets_once(spec, plan, left, right)
    again = plan_from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    tasks = data.draw(st.integers(1, 7))
    adapted = plan.adapt(tasks)
    check_meets_once(spec, adapted, left, right)
    assert adapted.adapt(tasks) == adapted and adapted.tasks == tasks


@at_most(60)
@given(st.data())
def test_rows_that_no_change_names_keep_their_task(data):
    tasks = data.draw(st.integers(1, 7))
    old, new = (data.draw(fastjoin_plans(EQUAL, tasks, range(6))) for _ in range(2))
    words, u = np.array([[*range(8)] * 3]), np.random.default_rng(1).integers(0, 2**32, 24, dtype=np.uint32)
    for side in SIDES:
        find = new.changed(old, side)
        assert (find is None) == (old.shared != new.shared)
        if find is not None:
            same = np.delete(np.arange(24), find(words))
            assert (old.store(side, words, u) == new.store(side, words, u))[:, same].all()
    assert new.changed(HashPlan(tasks), "left") is None


def test_without_tables_the_shared_layout_is_a_plain_hash():
    words = np.random.default_rng(1).integers(-(2**62), 2**62, (1, 1000))
    u = np.zeros(1000, np.uint32)
    plan, hashed = FastJoin(biclique=False).initial(EQUAL, 7), HashPlan(7)
    for side in SIDES:
        assert (plan.store(side, words, u) == hashed.store(side, words, u)).all()
        assert (plan.probe(side, words, u) == hashed.probe(side, words, u)).all()


@pytest.mark.paper("003-21")
def test_a_table_entry_changes_its_own_group_only():
    before = FastJoin().initial(EQUAL, 6)
    assert isinstance(before, FastJoinPlan)
    home = int(before.home(0, np.array([5]))[0])
    target = (home + 1) % 3
    after = replace(before, moved=(((5, target),), ()), version=1)
    words, u = np.full((1, 3), 5), np.array([0, 2**31, 2**32 - 1], np.uint32)
    assert (after.store("left", words, u).argmax(axis=0) == target).all(), "where R(k) is kept"
    assert (after.probe("right", words, u).argmax(axis=0) == target).all(), "and where S(k) asks"
    assert (after.store("right", words, u) == before.store("right", words, u)).all()
    assert (after.probe("left", words, u) == before.probe("left", words, u)).all()


def test_a_split_key_of_one_column_sends_left_tuples_to_one_task_and_right_ones_to_all():
    plan = FastJoinPlan(6, shared=True, split=((SplitKey(5, 3, (1, 2, 4)),),))
    words, u = np.full((1, 3000), 5), np.random.default_rng(1).integers(0, 2**32, 3000, dtype=np.uint32)
    kept = plan.store("left", words, u).sum(axis=1)
    assert kept[[0, 3, 5]].tolist() == [0, 0, 0] and kept[[1, 2, 4]].min() > 900
    assert (plan.probe("left", words, u) == plan.store("left", words, u)).all()
    assert plan.store("right", words, u).sum(axis=1).tolist() == [0, 3000, 3000, 0, 3000, 0]
    assert plan.lookups() == (1.0, 3.0) and plan.copies() == (1.0, 3.0)


def test_a_split_key_of_a_group_is_kept_by_one_of_its_tasks_and_asked_for_on_all():
    plan = FastJoinPlan(6, split=((SplitKey(5, 3, (0, 1, 2)),), (SplitKey(5, 1, (3, 4, 5)),)))
    words, u = np.full((1, 3000), 5), np.random.default_rng(1).integers(0, 2**32, 3000, dtype=np.uint32)
    for side in SIDES:
        assert plan.store(side, words, u).sum(axis=0).tolist() == [1] * 3000
        assert plan.probe(side, words, u).sum(axis=0).tolist() == [3] * 3000
    assert plan.lookups() == (3.0, 3.0) and plan.copies() == (1.0, 1.0)


@at_most(60)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_a_left_and_a_right_tuple_of_a_split_key_meet_on_one_task(rows, columns, left, right):
    split = SplitKey(5, rows, tuple(range(2, 2 + rows * columns)))
    mine = split.tasks_of("left", np.array([left], np.uint32))[0]
    theirs = split.tasks_of("right", np.array([right], np.uint32))[0]
    assert len(mine) == columns and len(theirs) == rows
    assert len(set(mine.tolist()) & set(theirs.tolist())) == 1


def test_a_key_hot_on_one_side_gets_a_matrix_of_one_column_and_one_hot_on_both_a_square():
    one = FastJoin(biclique=False, split_hot=True, load="work", threshold=1.5, **CALM)
    plan = FastJoinPlan(8, shared=True)
    for left, right, shape in (
        (40_000.0, 40.0, TaskGrid(8, 1)),
        (40.0, 40_000.0, TaskGrid(1, 8)),
        (9000.0, 9000.0, None),
    ):
        loads = skewed(plan, keys=40)
        task = int(plan.owner(0, np.array([0]))[0])
        loads.setdefault(("left", task), {})[0] = (left, right)
        loads.setdefault(("right", task), {})[0] = (right, left)
        after, _ = one.control(EQUAL, plan, stats_of(plan, loads))
        assert isinstance(after, FastJoinPlan)
        found = {split.key: split.shape for split in after.split[0]}[0]
        if shape is None:
            assert min(found) > 1
        else:
            assert min(found) == min(shape) and (found.rows > 1) == (shape.rows > 1)


def stats_of(
    plan: FastJoinPlan, loads: dict[tuple[Side, int], KeyLoads], version: int | None = None
) -> list[TaskStats]:
    """Make statistics from {(kept side, task): {key: (rows, arrivals)}}."""
    found = []
    for task in range(plan.tasks):
        kept: dict[str, Any] = {}
        phi: dict[str, Any] = {}
        for side in SIDES:
            keys = loads.get((side, task), {})
            names = sorted(keys)
            rows, arrivals = [keys[key][0] for key in names], [keys[key][1] for key in names]
            kept[side] = [[0, KeyCounts.of_json([sum(rows), 0, names, rows]).to_json()]]
            phi[side] = KeyCounts.of_json([sum(arrivals), 0, names, arrivals]).to_json()
        notes = {"version": plan.version if version is None else version, "tasks": plan.tasks, "kept": kept, "phi": phi}
        empty: dict[Side, int] = {"left": 0, "right": 0}
        found.append(TaskStats(empty, empty, empty, {"left": (), "right": ()}, notes))
    return found


def loads_after(plan: FastJoinPlan, loads: dict[tuple[Side, int], KeyLoads], group: int = 0) -> np.ndarray:
    """Return a group's loads when every key lives where the plan says."""
    side = SIDES[group]
    members = plan.members(group)
    rows, phi = np.zeros(members.size), np.zeros(members.size)
    split = {one.key: one.tasks for one in plan.split[group]} if plan.split else {}
    for (kept, _), keys in loads.items():
        for key, (stored, arriving) in keys.items():
            if kept != side:
                continue
            tasks = split.get(key) or (int(plan.owner(group, np.array([key]))[0]),)
            for task in tasks:
                rows[task - members.start] += stored / len(tasks)
                phi[task - members.start] += arriving
    return np.asarray(rows * phi)


def imbalance_after(plan: FastJoinPlan, loads: dict[tuple[Side, int], KeyLoads]) -> float:
    found = loads_after(plan, loads)
    return float(found.max() / found.mean())


def skewed(plan: FastJoinPlan, keys: int = 60) -> dict[tuple[Side, int], KeyLoads]:
    """Give key k of the left group 600 / (k + 1) rows and arrivals, where the plan has it."""
    loads: dict[tuple[Side, int], KeyLoads] = {}
    for key in range(keys):
        task = int(plan.owner(0, np.array([key]))[0])
        loads.setdefault(("left", task), {})[key] = (600 / (key + 1), 600 / (key + 1))
    return loads


@pytest.mark.paper("003-04")
@pytest.mark.paper("003-05")
def test_keys_move_from_heavy_to_light_tasks_when_the_threshold_is_exceeded():
    plan = FastJoinPlan(8)
    loads = skewed(plan)
    scheme = FastJoin(**CALM)
    after, why = scheme.control(EQUAL, plan, stats_of(plan, loads))
    assert isinstance(after, FastJoinPlan)
    assert after.moved[0] and not after.moved[1], "two monitors: only the left group is out of balance"
    assert imbalance_after(after, loads) < imbalance_after(plan, loads)
    assert why.startswith("left group: LI ") and "keys to task" in why and "rows, LI" in why
    assert (after.version, after.migrations, after.moving) == (1, 1, True) and after.volume > 0
    table = load_table(plan, 0, stats_of(plan, loads))
    lazy = FastJoin(**CALM, threshold=1.01 * float(table.loads.max() / table.loads.min()))
    assert lazy.control(EQUAL, plan, stats_of(plan, loads)) == (plan, "")


@pytest.mark.paper("003-04")
def test_one_round_is_one_source_and_one_target():
    plan = FastJoinPlan(8)
    after, _ = FastJoin(**CALM, rounds=1).control(EQUAL, plan, stats_of(plan, skewed(plan)))
    assert isinstance(after, FastJoinPlan)
    assert len({task for _, task in after.moved[0]}) == 1
    loads = load_table(plan, 0, stats_of(plan, skewed(plan))).loads
    assert {task for _, task in after.moved[0]} == {int(loads.argmin())}
    moved = np.array([key for key, _ in after.moved[0]])
    assert (plan.owner(0, moved) == loads.argmax()).all()


@pytest.mark.paper("003-19")
@pytest.mark.paper("003-22")
def test_monitors_rest_until_statistics_of_the_new_plan_are_in():
    plan = FastJoinPlan(8)
    scheme, loads = FastJoin(**CALM), skewed(plan)
    after, _ = scheme.control(EQUAL, plan, stats_of(plan, loads))
    assert isinstance(after, FastJoinPlan)
    stale, why = scheme.control(EQUAL, after, stats_of(after, loads, version=0))
    assert (stale, why) == (after, "") and isinstance(stale, FastJoinPlan) and stale.moving
    calm: dict[tuple[Side, int], KeyLoads] = {("left", task): {100 + task: (9.0, 9.0)} for task in range(4)}
    done, why = scheme.control(EQUAL, stale, stats_of(after, calm))
    assert (done, why) == (after, "") and isinstance(done, FastJoinPlan) and not done.moving
    assert done.migrations == 1
    assert scheme.control(EQUAL, after, stats_of(replace(after, tasks=6), loads))[1] == "", "other tasks, other notes"


@pytest.mark.paper("003-13")
def test_a_key_that_no_migration_can_help_makes_the_monitor_back_off():
    plan: Any = FastJoinPlan(4)
    task = int(plan.owner(0, np.array([5]))[0])
    loads: dict[tuple[Side, int], KeyLoads] = {("left", task): {5: (100.0, 100.0)}}
    looked = []
    for _ in range(80):
        plan, why = FastJoin(**CALM).control(EQUAL, plan, stats_of(plan, loads))
        assert why == ""
        looked.append(plan.memory[0][2])
    assert plan.version == 0 and plan.migrations == 0
    assert looked[-1] < 16, "looked less and less often"


def test_a_hot_key_is_split_when_asked_and_others_are_balanced_around_it():
    plan = FastJoinPlan(8)
    loads = skewed(plan, keys=40)
    task = int(plan.owner(0, np.array([0]))[0])
    loads["left", task][0] = (6000.0, 6000.0)
    plain, _ = FastJoin(**CALM).control(EQUAL, plan, stats_of(plan, loads))
    split, why = FastJoin(**CALM, split_hot=True).control(EQUAL, plan, stats_of(plan, loads))
    assert isinstance(plain, FastJoinPlan) and isinstance(split, FastJoinPlan)
    assert "key 0 split over" in why and len(split.split[0][0].tasks) > 1
    assert imbalance_after(plain, loads) > 3, "the paper's migration cannot do it"
    assert imbalance_after(split, loads) < 1.5


def test_a_split_key_that_cooled_is_made_whole_with_the_next_change():
    plan = replace(FastJoinPlan(8), split=((SplitKey(999, 4, (0, 1, 2, 3)),), ()), version=4)
    after, why = FastJoin(**CALM, split_hot=True).control(EQUAL, plan, stats_of(plan, skewed(plan)))
    assert isinstance(after, FastJoinPlan)
    assert after.version == 5 and 999 not in {one.key for one in after.split[0]}
    assert "1 cooled key merged back" in why


def test_noise_and_small_numbers_do_not_move_keys():
    plan = FastJoinPlan(4)
    few: dict[tuple[Side, int], KeyLoads] = {("left", t): {t: (50.0, 4.0 + 4 * t), t + 9: (2.0, 0.5)} for t in range(2)}
    assert FastJoin(threshold=1.05).control(EQUAL, plan, stats_of(plan, few))[1] == "", "not enough arrivals"
    assert FastJoin(threshold=1.05, enough=0).control(EQUAL, plan, stats_of(plan, few))[1] == "", "within the noise"
    assert FastJoin(threshold=1.05, **CALM).control(EQUAL, plan, stats_of(plan, few))[1] != ""


def test_the_table_keeps_within_its_bound():
    plan = replace(FastJoinPlan(8), moved=(tuple((key, 0) for key in range(1000, 1050)), ()))
    after, _ = FastJoin(**CALM, table=30).control(EQUAL, plan, stats_of(plan, skewed(plan)))
    assert isinstance(after, FastJoinPlan) and 0 < len(after.moved[0]) <= 30


@at_most(40)
@given(st.data())
def test_control_is_pure_and_never_raises_the_greatest_load(data):
    shared = data.draw(st.booleans())
    plan = data.draw(fastjoin_plans(EQUAL, data.draw(st.integers(1, 7)), EDGES))
    plan = replace(plan, shared=shared, moved=(), split=())
    count = st.tuples(st.integers(0, 30).map(float), st.integers(0, 30).map(float))
    loads: dict[tuple[Side, int], KeyLoads] = {}
    for key in range(data.draw(st.integers(0, 20))):
        for group in range(plan.groups):
            for side in plan.keeps(group):
                task = int(plan.owner(group, np.array([key]))[0])
                loads.setdefault((side, task), {})[key] = data.draw(count)
    scheme = data.draw(st.sampled_from((FastJoin, SaFit)))(
        threshold=data.draw(st.sampled_from((1.0, 1.5, 2.2))),
        split_hot=data.draw(st.booleans()),
        biclique=not shared,
        **CALM,
    )
    stats = stats_of(plan, loads)
    after, why = scheme.control(EQUAL, plan, stats)
    assert (after, why) == scheme.control(EQUAL, plan, stats)
    assert isinstance(after, FastJoinPlan)
    assert (why == "") == (after == plan)
    if why and not shared:
        for group in range(2):
            was, now = loads_after(plan, loads, group), loads_after(after, loads, group)
            assert now.max() <= was.max() * 1.0001
    assert plan_from_json(json.loads(json.dumps(after.to_json()))) == after
