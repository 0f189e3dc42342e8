"""The adaptive schemes: every plan they reach meets every pair once, loads follow, and nothing thrashes."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.routing.meeting import SPECS, check_meets_once, rows_of
from weft.errors import SpecError
from weft.routing import Adsp, AreaPlan, Scheme, ordering, plan_from_json
from weft_lab.schemes import Dynamic, Readj, ReadjPlan, Square, advised, rebalanced
from weft_lab.simulation import Arrival, Seen, Simulation, arrivals

SCHEMES: dict[str, Scheme] = {
    "adsp": Adsp(patience=1), "adsp with memory": Adsp(memory=6, patience=1, size=4),
    "adsp, all splits": Adsp(memory=5, patience=2, mode="dp", tries=None, exhaustive=True, pairing="optimal", size=3),
    "square": Square(memory=6, patience=1), "dynamic": Dynamic(memory=6), "dynamic, all tasks": Dynamic(),
    "readj": Readj(sigma=0.01, imbalance=1.0, patience=1),
}  # fmt: skip


@pytest.mark.paper("001-02", "001-03", "001-29", "001-31", "001-42", "001-43")
@pytest.mark.parametrize("name", SPECS)
@at_most(12)
@given(data=st.data())
def test_every_plan_on_the_way_lets_pairs_meet_once(name, data):
    """Plans reached from real notes: batches of any keys, growing and shrinking, and restarts with other tasks."""
    spec = SPECS[name]
    scheme = SCHEMES[data.draw(st.sampled_from(sorted(SCHEMES)), "scheme")]
    tasks = data.draw(st.integers(1, 9), "tasks")
    run = Simulation(spec, scheme, tasks, window=data.draw(st.sampled_from([None, 1, 2]), "window"))
    left, right = data.draw(rows_of(spec, "left")), data.draw(rows_of(spec, "right"))
    for _ in range(data.draw(st.integers(1, 6), "batches")):
        times = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
        sides = [
            Arrival(np.repeat(rows.words, n, axis=1), np.repeat(rows.u, n) * np.uint32(2654435761))
            for rows, n in zip((left, right), times, strict=True)
        ]
        plan = run.plans[run.batch][0]
        run.step(*sides)
        check_meets_once(spec, plan, left, right)
        assert plan_from_json(json.loads(json.dumps(plan.to_json()))) == plan
    plan = run.plans[-1][0]
    for _ in range(2):
        tasks = data.draw(st.integers(1, 9))
        adapted = plan.adapt(tasks)
        assert adapted.tasks == tasks and adapted.adapt(tasks) == adapted
        check_meets_once(spec, adapted, left, right)
        plan = adapted


@pytest.mark.paper("001-18")
def test_what_orders_the_matrix():
    found = {name: ordering(spec) for name, spec in SPECS.items()}
    assert found["not"] is None
    assert {name for name, term in found.items() if term is None} == {"not"}
    assert found["two equal"] is not None and found["less, within time"] is not None
    assert found["two equal"].left == SPECS["two equal"].left.mix
    assert found["less, within time"].left == 0  # not the time: all that arrives would lie beyond the last cut


def keys_of(z: float, rows: int, domain: int, seed: int) -> np.ndarray:
    """Draw keys by Zipf's law, ranks scattered over the domain."""
    draw = np.random.default_rng(seed)
    share = np.arange(1, domain + 1, dtype=float) ** -z
    place = np.random.default_rng(7).permutation(domain)
    return place[np.searchsorted(np.cumsum(share) / share.sum(), draw.random(rows))]


def feed(run: Simulation, keys, seed: int = 0) -> Seen:
    left, right = arrivals(keys, run.spec.left.columns, seed + 1_000 * run.batch)
    return run.step(left, right)


@pytest.mark.paper("001-04", "001-44")
@pytest.mark.parametrize("z", [0, 1, 2])
@pytest.mark.parametrize("name", ["equal", "band"])
@pytest.mark.simulation
def test_64_tasks_are_even_whatever_the_skew(name, z):
    """The first areas are cut by the few rows there are; the second cut, `patience` batches later, is even."""
    run, whole = Simulation(SPECS[name], Adsp(), 64), Simulation(SPECS["not"], Adsp(), 64)
    for batch in range(12):
        keys = [keys_of(z, 4_000, 5_000, 10 * batch + side) for side in (0, 1)]
        seen, plain = feed(run, keys), feed(whole, keys)
    loads = seen.held[seen.held > 0]
    assert loads.max() <= 1.3 * loads.mean()
    assert len(loads) > 55
    assert loads.max() < plain.held.max()  # areas need fewer copies than one matrix


@pytest.mark.paper("001-45", "001-31")
@pytest.mark.simulation
def test_tasks_follow_the_load_out_and_in():
    run = Simulation(SPECS["band"], Adsp(memory=4_000), 64, window=4)
    used = []
    for batch in range(60):
        rows = 400 if batch < 15 or batch >= 38 else 6_000
        used.append(feed(run, [keys_of(1, rows, 5_000, 2 * batch + side) for side in (0, 1)]).active)
    quiet, busy, again = max(used[10:15]), min(used[30:38]), max(used[-4:])
    assert quiet <= 2 and again <= 2
    assert busy > 10


@pytest.mark.paper("001-45")
@pytest.mark.parametrize("scheme", [Adsp(memory=3_000), Adsp(), Square(memory=3_000), Dynamic(memory=3_000)])
@pytest.mark.simulation
def test_a_steady_load_leaves_the_plan_alone(scheme):
    run = Simulation(SPECS["band"], scheme, 32, window=4)
    plans = [feed(run, [keys_of(1, 1_500, 5_000, 2 * batch + side) for side in (0, 1)]).plan for batch in range(32)]
    assert all(plan == plans[16] for plan in plans[16:])


@pytest.mark.paper("001-45")
@pytest.mark.parametrize("period", [1, 3, 7])
@pytest.mark.simulation
def test_an_oscillating_load_changes_at_most_once_per_patience(period):
    scheme = Adsp(memory=2_000, patience=6)
    run = Simulation(SPECS["band"], scheme, 32, window=1)
    changes = []
    for batch in range(60):
        rows = 300 if batch // period % 2 else 4_000
        seen = feed(run, [keys_of(0.5, rows, 5_000, 2 * batch + side) for side in (0, 1)])
        changes += [batch] if seen.why else []
    assert all(b - a >= 6 for a, b in pairwise(changes[1:]))


def test_memory_is_kept_within_the_tasks_there_are():
    run = Simulation(SPECS["band"], Adsp(memory=500), 6)
    for batch in range(12):
        seen = feed(run, [keys_of(1, 800, 2_000, 2 * batch + side) for side in (0, 1)])
    assert isinstance(seen.plan, AreaPlan) and len(seen.plan.active) <= 6


@pytest.mark.paper("Y06", "001-43")
def test_dynamic_grows_by_four_and_turns_when_a_stream_doubles():
    run = Simulation(SPECS["not"], Dynamic(memory=4_000), 64)
    shapes = []
    for batch in range(16):
        sizes = (500, 500) if batch < 8 else (8_000, 50)
        seen = feed(run, [np.zeros(size, np.int64) for size in sizes])
        assert isinstance(seen.plan, AreaPlan)
        shapes.append((seen.plan.areas[0].rows, seen.plan.areas[0].columns))
    assert shapes[0] == (1, 1) and (2, 2) in shapes
    assert {rows * columns for rows, columns in shapes} <= {1, 4, 16, 64}
    assert shapes[-1][0] > 4 * shapes[-1][1]
    assert advised(64, 1, 1) == (8, 8) and advised(64, 16, 1) == (32, 2)


@pytest.mark.paper("001-43")
def test_readj_spreads_heavy_keys_and_less_with_a_large_sigma():
    ratios = {}
    for sigma in (0.01, 10.0):
        run = Simulation(SPECS["equal"], Readj(sigma=sigma, patience=2), 8)
        for batch in range(10):
            seen = feed(run, [keys_of(0.8, 4_000, 300, 2 * batch + side) for side in (0, 1)])
        assert isinstance(seen.plan, ReadjPlan)
        ratios[sigma] = seen.held.max() / seen.held.mean()
    assert ratios[0.01] < 1.2 < ratios[10.0]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.integers(2, 5), st.data())
def test_readj_never_makes_the_fullest_task_fuller(weights, tasks, data):
    owner = np.array(data.draw(st.lists(st.integers(0, tasks - 1), min_size=len(weights), max_size=len(weights))))
    heavy = np.array(weights, float)
    loads = np.bincount(owner, heavy, tasks).astype(float)
    moved = rebalanced(loads, heavy, owner, 1.0)
    assert np.bincount(moved, heavy, tasks).max() <= loads.max()


@pytest.mark.parametrize("name", ["equal", "band", "not"])
def test_a_restart_with_another_scheme_takes_over(name):
    """Notes and plans that another scheme left behind are not taken for one's own."""
    schemes: list[Scheme] = [Adsp(patience=1), Readj(patience=1), Square(memory=900, patience=1), Dynamic(memory=900),
                             Readj(patience=1), Dynamic(), Adsp(memory=900, patience=1), Square(), Adsp()]  # fmt: skip
    run = Simulation(SPECS[name], schemes[0], 12, window=3)
    for scheme in schemes:
        run.scheme = scheme
        for _ in range(5):
            seen = feed(run, [keys_of(1, 600, 500, 2 * run.batch + side) for side in (0, 1)])
        assert seen.plan is not None and seen.plan.scheme == scheme.initial(SPECS[name], 12).scheme
        assert (seen.held.sum() > 0) and len(run.plans) == run.batch + 1


def test_nonsense_is_refused():
    for make in (lambda: Adsp(memory=0), lambda: Square(low=0.9), lambda: Adsp(patience=0), lambda: Dynamic(memory=-1),
                 lambda: Readj(sigma=0)):  # fmt: skip
        with pytest.raises(SpecError, match="Hint: "):
            make()
