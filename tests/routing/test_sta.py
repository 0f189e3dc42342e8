"""STA and the schemes that share a chain: where tuples go, whatever turned hot; and what the stale ones may miss."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.routing.meeting import EDGES, SPECS, Rows, check_meets_once, rows_of
from weft.engine import next_plan
from weft.errors import SpecError
from weft.routing import (
    BatchView,
    Plan,
    Scheme,
    Sta,
    StaPlan,
    TaskStats,
    plan_from_json,
)  # fmt: skip
from weft.routing.sta import two_choices
from weft.sketch import ASketch
from weft.spec import JoinSpec
from weft.types import SIDES, WORD_MIN, Side, other
from weft_lab.schemes import Chained, ChainPlan, Pim

TIMED = SPECS["less, within time"]
NOBODY: dict[Side, int] = {"left": 0, "right": 0}


def stats_with(notes: dict) -> TaskStats:
    return TaskStats(NOBODY, NOBODY, NOBODY, {"left": (), "right": ()}, notes)


def hot_keys(plan: Plan) -> tuple[int, ...]:
    assert isinstance(plan, StaPlan)
    return plan.left_hot


def sketch_of(keys, top: int = 32) -> dict:
    sketch = ASketch(top)
    sketch.update(np.array(keys, np.int64))
    return sketch.to_json()


@st.composite
def notes_of(draw: st.DrawFn) -> dict:
    keys = st.lists(st.sampled_from(EDGES), max_size=9)
    bound = st.sampled_from((WORD_MIN, -3, 0, 1, 3, 7))
    found = {side: sketch_of(draw(keys)) for side in SIDES}
    return {**found, "newest": draw(bound), "merged": draw(bound), "mutable": draw(st.integers(0, 3))}


EXACT = [
    Sta(),
    Sta(hot=1, margin=1, worth=0),
    Sta(hot=3, choices="two choices", top=4),
    Sta(hot="auto", top=3, margin=1),
    Sta(cold="publish", margin=1),
    Sta(cold="publish", choices="two choices", top=2),
    Chained("all", "one"),
    Chained("one", "all"),
]


@st.composite
def reached(draw: st.DrawFn, spec: JoinSpec, scheme: Scheme) -> Plan:
    plan = scheme.initial(spec, draw(st.integers(4, 7)))
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.integers(0, 3)) == 3:
            plan = plan.adapt(draw(st.integers(4, 7)))
        else:
            stats = [stats_with(draw(notes_of())) for _ in range(draw(st.integers(1, 2)))]
            plan = next_plan(spec, scheme, plan, stats)[0]
    return plan.adapt(draw(st.integers(1, 7))) if draw(st.integers(0, 3)) == 3 else plan


@pytest.mark.paper("000-16", "000-17", "000-20", "000-34", "000-69", "X02")
@pytest.mark.parametrize("name", SPECS)
@at_most(12)
@given(data=st.data())
def test_every_pair_meets_once(name, data):
    spec = SPECS[name]
    choices = EXACT + ([Pim(merge=1), Pim(merge=2)] if spec.left.time is not None else [])
    plan = data.draw(reached(spec, data.draw(st.sampled_from(choices), "scheme")), "plan")
    check_meets_once(spec, plan, data.draw(rows_of(spec, "left")), data.draw(rows_of(spec, "right")))
    assert plan_from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.paper("000-24", "000-33", "000-35", "000-69")
@at_most(60)
@given(data=st.data())
def test_a_stale_chain_finds_no_pair_twice_and_every_published_one(data):
    scheme: Scheme = data.draw(
        st.sampled_from([Sta(mode="paper", checkpoint=2), Chained("one", "one", 2), Pim(1, "paper", 2)]), "scheme"
    )
    plan = data.draw(reached(TIMED, scheme), "plan")
    assert isinstance(plan, (StaPlan, ChainPlan))
    left, right = data.draw(rows_of(TIMED, "left")), data.draw(rows_of(TIMED, "right"))
    for earlier, later in ((left, right), (right, left)):
        side: Side = "left" if earlier is left else "right"
        kept, asked = plan.store(side, earlier.words, earlier.u), plan.probe(other(side), later.words, later.u)
        assert kept.any(axis=0).all() and asked.any(axis=0).all()
        meets = np.einsum("te,tl->el", kept.astype(int), asked.astype(int))
        assert meets.max() <= 1
        old = earlier.words[1] < plan.published
        assert (meets[old] == 1).all()


def rows(keys, times=None) -> Rows:
    random = np.random.default_rng(1)
    keys = np.asarray(keys, np.int64)
    words = np.stack([keys, np.zeros(len(keys), np.int64) if times is None else np.asarray(times, np.int64)])
    return Rows(words, random.integers(0, 2**32, len(keys), dtype=np.uint32))


def view_of(plan: Plan, task: int, block: Rows) -> BatchView:
    here = plan.store("left", block.words, block.u)[task]
    none, nobody = np.zeros((2, 0), np.int64), np.zeros(0, np.uint32)
    return BatchView(
        task, plan, {"left": block.words[:, here], "right": none}, {"left": none, "right": none},
        {"left": block.u[here], "right": nobody}, lambda side: (none, nobody),
    )  # fmt: skip


@pytest.mark.paper("000-16", "000-17", "000-18", "000-19", "000-21")
def test_hot_keys_share_the_last_tasks_and_cold_ones_the_others():
    plan = StaPlan(10, left_hot=(5,), right_hot=(5,))
    hot, cold = rows(np.full(4000, 5)), rows(np.arange(6, 4006))
    share = plan.store("left", hot.words, hot.u).sum(axis=1)
    assert share[:8].sum() == 0 and abs(share[8] - share[9]) < 300
    share = plan.store("left", cold.words, cold.u).sum(axis=1)
    assert share[8:].sum() == 0 and share[:8].min() > 400
    one = replace(plan, ask_one=True)
    asked = one.probe("right", cold.words, cold.u)
    assert asked[8:].all() and (asked[:8].sum(axis=0) == 1).all()
    assert plan.probe("right", cold.words, cold.u).all()


@pytest.mark.paper("000-22")
def test_two_hot_tasks_need_a_third_one():
    assert isinstance(Sta().initial(SPECS["less"], 3), StaPlan)
    with pytest.raises(SpecError, match="needs at least 3 tasks"):
        Sta().initial(SPECS["less"], 2)


@pytest.mark.paper("000-21")
def test_two_choices_give_a_key_to_the_less_loaded_task():
    random = np.random.default_rng(2)
    keys, counts = random.integers(0, 10**6, 64), np.sort(random.integers(1, 1000, 64))[::-1]
    placed = np.bincount(two_choices(keys, counts, 4), counts, 4)
    hashed = np.bincount(keys % 4, counts, 4)
    assert placed.max() / placed.mean() < 1.1 < hashed.max() / hashed.mean()


@pytest.mark.paper("000-26", "000-27")
def test_keys_turn_hot_and_cold_and_hot_again():
    scheme, spec = Sta(top=1, margin=1), SPECS["less"]
    plan = scheme.initial(spec, 5)
    seen: list[int] = []
    for burst, hot in (([7] * 5, 7), ([8] * 9, 8), ([7] * 9, 7)):
        seen += burst
        plan, why = scheme.control(spec, plan, [stats_with({side: sketch_of(seen, 8) for side in SIDES})])
        assert isinstance(plan, StaPlan)
        assert plan.left_hot == plan.right_hot == (hot,)
        assert "turned hot" in why
    assert "turned cold" in why
    assert scheme.control(spec, plan, [stats_with({side: sketch_of(seen, 8) for side in SIDES})]) == (plan, "")


def test_a_margin_keeps_keys_of_equal_weight_where_they_are():
    spec = SPECS["less"]
    plan = StaPlan(4, left_hot=(3,), right_hot=(3,))
    notes = [stats_with({side: sketch_of([3] * 10 + [4] * 12) for side in SIDES})]
    assert Sta(top=1, margin=1.5).control(spec, plan, notes) == (plan, "")
    assert hot_keys(Sta(top=1, margin=1).control(spec, plan, notes)[0]) == (4,)


def test_a_change_that_moves_few_tuples_is_not_worth_it():
    spec, plan = SPECS["less"], StaPlan(4, left_hot=(3, 4), right_hot=(3, 4))
    notes = [stats_with({side: sketch_of([3] * 200 + [4] * 2 + [5] * 4) for side in SIDES})]
    assert Sta(top=2, margin=1, worth=0.05).control(spec, plan, notes) == (plan, "")
    assert hot_keys(Sta(top=2, margin=1, worth=0).control(spec, plan, notes)[0]) == (3, 5)


@pytest.mark.paper("000-11")
def test_every_tuple_is_counted_by_one_task():
    spec = SPECS["less"]
    stream = rows(np.random.default_rng(3).zipf(1.5, 3000) % 1000)
    exact = np.bincount(stream.words[0], minlength=1000)
    for scheme in (Sta(), Sta(cold="publish")):
        first = scheme.initial(spec, 6)
        assert isinstance(first, StaPlan)
        plan = replace(first, left_hot=(1, 2), right_hot=(1,))
        sketches = [ASketch.of_json(scheme.watch(spec, view_of(plan, task, stream), {})["left"]) for task in range(6)]
        found = sum(sketch.estimate(np.arange(10)) for sketch in sketches)
        assert (found >= exact[:10]).all() and (found <= exact[:10] + 40).all()


@pytest.mark.paper("000-15")
def test_halving_lets_a_new_favourite_in():
    spec = SPECS["less"]
    plan = Sta(hot=1).initial(spec, 2)

    def hot_after(scheme: Sta) -> tuple[int, ...]:
        notes: dict = {}
        for key in [5] * 10 + [6] * 3:
            block = rows(np.full(100, key))
            notes = scheme.watch(spec, view_of(plan, 0, block), notes)
        return hot_keys(scheme.control(spec, plan, [stats_with(notes)])[0])

    assert hot_after(Sta(hot=1, top=1, margin=1)) == (5,)
    assert hot_after(Sta(hot=1, top=1, margin=1, halve=100)) == (6,)


@pytest.mark.paper("000-33", "000-34", "000-35")
def test_how_often_the_competitors_keep_and_ask():
    block = rows(np.arange(2000), np.arange(2000))

    def sizes(plan: Plan) -> tuple[float, float]:
        kept, asked = (question("left", block.words, block.u).sum() / 2000 for question in (plan.store, plan.probe))
        return float(kept), float(asked)

    assert sizes(Chained("one", "one", 10).initial(TIMED, 8)) == (1, 1)  # CI between checkpoints
    assert sizes(Chained("all", "one").initial(TIMED, 8)) == (8, 1)  # MCI as printed
    assert sizes(Chained("one", "all").initial(TIMED, 8)) == (1, 8)  # MCI of the authors' code
    pim = Pim(mode="paper").initial(TIMED, 8)
    assert sizes(pim) == (1, 2)  # one sub-index and the tree
    assert isinstance(pim, ChainPlan)
    merged = replace(pim, merged=2000).store("left", block.words, block.u)
    assert merged[7].all() and not merged[:7].any()


@pytest.mark.paper("000-24")
def test_a_checkpoint_publishes_whole_intervals():
    for scheme in (Sta(mode="paper", checkpoint=10), Chained("one", "one", 10), Pim(10**6, "paper", 10)):
        plan = scheme.initial(TIMED, 5)
        plan, why = scheme.control(TIMED, plan, [stats_with({"newest": 27})])
        assert isinstance(plan, (StaPlan, ChainPlan))
        assert plan.published == 20 and why == "checkpoint: published up to 20"
        assert scheme.control(TIMED, plan, [stats_with({"newest": 29})]) == (plan, "")


@pytest.mark.parametrize("scheme", [Sta(mode="paper"), Chained("one", "one"), Pim()])
def test_checkpoints_need_event_time(scheme):
    with pytest.raises(SpecError, match="event time"):
        scheme.initial(SPECS["less"], 4)


def test_a_chain_that_finds_everything_many_times_is_refused():
    with pytest.raises(SpecError, match="once per task"):
        Chained("all", "all").initial(SPECS["less"], 4)
