"""What `auto` does with bands and inequalities: ranges first, areas at need, one matrix where keys run away."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.routing.meeting import SPECS, check_meets_once, rows_of
from tests.routing.test_adsp_scheme import feed, keys_of
from weft.errors import SpecError
from weft.routing import Adsp, AreaPlan, MatrixPlan, Ordered, RangePlan, ordering, plan_from_json
from weft_lab.bench.drift import centred_keys
from weft_lab.simulation import Arrival, Simulation

ORDERED = [name for name, spec in SPECS.items() if ordering(spec) is not None]


def uniform(rows: int, seed: int, least: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(least, least + 5_000, rows)


@pytest.mark.paper("001-02", "001-31")
@pytest.mark.parametrize("name", ORDERED)
@at_most(12)
@given(data=st.data())
def test_every_plan_on_the_way_lets_pairs_meet_once(name, data):
    spec = SPECS[name]
    eager = Ordered(imbalance=1.0, enough=0, patience=1, size=4)
    run = Simulation(
        spec, eager, data.draw(st.integers(1, 7), "tasks"), window=data.draw(st.sampled_from([None, 1, 2]))
    )
    left, right = data.draw(rows_of(spec, "left")), data.draw(rows_of(spec, "right"))
    for _ in range(data.draw(st.integers(2, 8), "batches")):
        times = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
        sides = [
            Arrival(np.repeat(rows.words, n, axis=1), np.repeat(rows.u, n) * np.uint32(2654435761))
            for rows, n in zip((left, right), times, strict=True)
        ]
        plan = run.plans[run.batch][0]
        run.step(*sides)
        check_meets_once(spec, plan, left, right)
        assert plan_from_json(json.loads(json.dumps(plan.to_json()))) == plan
    check_meets_once(spec, run.plans[-1][0].adapt(data.draw(st.integers(1, 7))), left, right)


def test_even_and_still_keys_stay_in_ranges():
    run = Simulation(SPECS["band"], Ordered(), 8, window=3)
    plans = [feed(run, [uniform(4_000, 2 * batch + side) for side in (0, 1)]).plan for batch in range(20)]
    assert isinstance(plans[0], MatrixPlan) and isinstance(plans[2], RangePlan)
    assert all(plan == plans[2] for plan in plans[2:])


@pytest.mark.paper("001-31", "001-45")
@pytest.mark.parametrize("z", [1, 2])
def test_hot_keys_go_to_areas_once(z):
    run = Simulation(SPECS["band"], Ordered(), 8, window=3)
    seen = [feed(run, [keys_of(z, 4_000, 5_000, 2 * batch + side) for side in (0, 1)]) for batch in range(20)]
    assert [one.why for one in seen if one.why] == [seen[5].why]  # watched for four batches, acted upon two later
    assert "one range would hold" in seen[5].why and "A-DSP" in seen[5].why
    assert isinstance(seen[-1].plan, AreaPlan) and seen[-1].held.max() <= 1.3 * seen[-1].held.mean()


def test_keys_that_moved_go_to_areas():
    run = Simulation(SPECS["band"], Ordered(), 8, window=3)
    seen = [feed(run, [uniform(4_000, 2 * b + side, 0 if b < 8 else 9_000) for side in (0, 1)]) for b in range(28)]
    reasons = [one.why for one in seen if one.why]
    assert reasons[0] == "first boundaries from samples" and "keys moved: the fullest range" in reasons[1]
    assert len(reasons) <= 4 and isinstance(seen[-1].plan, AreaPlan) and len(seen[-1].plan.areas) > 1
    assert seen[-1].held.max() <= 1.3 * seen[-1].held.mean()


@pytest.mark.simulation
@pytest.mark.parametrize("scheme", [Ordered(), Adsp()])
def test_keys_that_run_away_go_to_one_matrix_and_come_back_when_they_stop(scheme):
    draw = np.random.default_rng(5)
    run = Simulation(SPECS["band"], scheme, 8, window=1)
    seen = []
    for batch in range(46):
        centre = 3_000 * min(max(batch - 10, 0), 20)  # still, running, still
        keys = [centred_keys(draw, 4_000, 100_000, 1.0, centre) for _ in (0, 1)]
        seen.append(feed(run, keys))
    assert any("keys move faster than areas can follow" in one.why for one in seen)
    assert max(one.handled.max() / one.handled.mean() for one in seen[22:31]) < 1.2  # nobody has all of the hot keys
    assert isinstance(seen[-1].plan, AreaPlan) and len(seen[-1].plan.areas) > 1
    assert sum(bool(one.why) for one in seen) <= 9


def test_an_inequality_leaves_out_what_cannot_match():
    run = Simulation(SPECS["less"], Ordered(), 8, window=3)
    seen = [feed(run, [uniform(4_000, 2 * b), uniform(4_000, 2 * b + 1, -4_000)]) for b in range(12)]
    assert "areas skip impossible pairs" in seen[5].why
    assert seen[-1].held.max() < 0.7 * seen[4].held.max()


def test_ordered_refuses_what_has_no_order_and_nonsense():
    with pytest.raises(SpecError, match="Hint: use scheme='matrix'"):
        Ordered().initial(SPECS["not"], 4)
    with pytest.raises(SpecError, match="Hint: "):
        Ordered(imbalance=0.5)
