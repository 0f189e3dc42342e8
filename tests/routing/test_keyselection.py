"""The load model and the selection of keys, against the paper's formulas and exhaustive search."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.routing.fastjoin import Pair, greedy_fit, load_imbalance, loads_of, scaling_gain_ratio
from weft_lab.schemes import sa_fit


@st.composite
def pairs(draw: st.DrawFn, most: int = 12) -> Pair:
    """Draw a source with up to 12 keys and a target; every count is a small whole number, so sums are exact."""
    sides, keys = draw(st.sampled_from((1, 2))), draw(st.integers(0, most))
    counts = st.lists(st.integers(0, 9), min_size=keys, max_size=keys)
    stored, phi = (np.array([draw(counts) for _ in range(sides)], np.float64).reshape(sides, keys) for _ in range(2))
    others = st.lists(st.integers(0, 20), min_size=sides, max_size=sides)
    rest = [np.array(draw(others), np.float64) for _ in range(4)]
    source = np.stack([stored.sum(axis=1) + rest[0], rest[2]], axis=1)
    arriving = np.stack([phi.sum(axis=1) + rest[1], rest[3]], axis=1)
    return Pair(source, arriving, stored, phi)


def subsets(keys: int) -> list[np.ndarray]:
    return [np.array(one, np.int64) for size in range(keys + 1) for one in combinations(range(keys), size)]


@pytest.mark.paper("003-05")
def test_load_is_rows_kept_times_arrivals():
    loads = loads_of(np.array([[6.0, 5.0]]), np.array([[4.0, 2.0]]))
    assert loads.tolist() == [24.0, 10.0] and load_imbalance(loads) == 2.4


@pytest.mark.paper("003-12")
def test_imbalance_beside_an_idle_task_is_infinite_and_that_of_nothing_is_one():
    assert load_imbalance(np.array([1.0, 0.0])) == math.inf
    assert load_imbalance(np.array([0.0, 0.0])) == 1.0
    assert load_imbalance(np.zeros(0)) == 1.0


@pytest.mark.paper("003-06")
@pytest.mark.paper("003-07")
@pytest.mark.paper("003-08")
@given(pairs())
def test_benefit_is_the_gap_a_key_closes(pair):
    """(7) is (8) once the signs of (6) are put right; for one side, (6) is also checked term by term."""
    for key, benefit in enumerate(pair.benefits()):
        source, target = pair.after(np.array([key]))
        assert benefit == pair.gap - (source - target)
        if len(pair.stored) == 1:
            (r_i, r_j), (f_i, f_j) = pair.stored[0], pair.phi[0]
            r_k, f_k = pair.key_stored[0, key], pair.key_phi[0, key]
            assert source == r_i * f_i - r_k * f_i - r_i * f_k + r_k * f_k
            assert target == r_j * f_j + r_k * f_j + r_j * f_k + r_k * f_k
            assert benefit == (r_i + r_j) * f_k + (f_i + f_j) * r_k


@pytest.mark.paper("003-09")
@given(pairs(most=7))
def test_benefits_add_up_for_any_set(pair):
    benefits = pair.benefits()
    for chosen in subsets(len(benefits)):
        source, target = pair.after(chosen)
        assert source - target == pair.gap - benefits[chosen].sum()


@pytest.mark.paper("003-10")
@pytest.mark.paper("003-17")
@given(pairs(), st.lists(st.integers(0, 400), max_size=4))
def test_greedyfit_never_overshoots_and_never_makes_imbalance_worse(pair, others):
    chosen = greedy_fit(pair)
    if pair.gap <= 0:
        assert not len(chosen)
        return
    before, after = loads_of(pair.stored, pair.phi), pair.after(chosen)
    assert after[0] - after[1] > 0 or not len(chosen)
    assert after[0] - after[1] == pair.gap - pair.benefits()[chosen].sum()
    # The others lie between the two, or source and target would not be the heaviest and the lightest (§IV-B).
    between = [float(np.clip(load, before[1], before[0])) for load in others]
    was, now = (load_imbalance(np.array([*pairwise, *between])) for pairwise in (before, after))
    assert now <= was
    if len(chosen) and math.isfinite(was) and all(before[1] < load < before[0] for load in between):
        assert now < was


@pytest.mark.paper("003-10")
@pytest.mark.paper("003-16")
@at_most(40)
@given(pairs())
def test_greedyfit_against_exhaustive_search(pair):
    """No feasible set closes more than the optimum; GreedyFit leaves out no key that still fits, and finds one if any does."""
    benefits, gap = pair.benefits(), pair.gap
    chosen = greedy_fit(pair)
    closed = benefits[chosen].sum()
    masks = (np.arange(1 << len(benefits))[:, None] >> np.arange(len(benefits))) & 1
    sums = masks @ benefits
    optimum = sums[sums < gap].max(initial=0.0)
    assert closed <= optimum
    left = np.setdiff1d(np.arange(len(benefits)), chosen)
    assert not ((benefits[left] > 0) & (benefits[left] < gap - closed)).any()
    assert (closed > 0) == (optimum > 0)


@pytest.mark.paper("003-11")
def test_keys_that_do_not_fit_are_skipped_and_the_rest_still_tried():
    pair = Pair(
        np.array([[13.0, 4.0]]), np.array([[13.0, 4.0]]), np.array([[9.0, 2.0, 2.0]]), np.array([[9.0, 2.0, 2.0]])
    )
    assert pair.benefits()[0] > pair.gap
    assert greedy_fit(pair).tolist() == [1, 2]
    assert greedy_fit(pair, least=1e9).tolist() == [], "theta_gap: not worth it"


@pytest.mark.paper("003-12")
def test_keys_without_stored_rows_move_first_and_useless_ones_never():
    pair = Pair(
        np.array([[20.0, 1.0]]), np.array([[20.0, 1.0]]), np.array([[5.0, 0.0, 0.0]]), np.array([[5.0, 2.0, 0.0]])
    )
    assert pair.factors()[1] == math.inf
    chosen = greedy_fit(pair).tolist()
    assert chosen[0] == 1 and 2 not in chosen


@pytest.mark.paper("003-13")
def test_one_hot_key_cannot_be_helped():
    pair = Pair(np.array([[100.0, 1.0]]), np.array([[100.0, 1.0]]), np.array([[100.0]]), np.array([[100.0]]))
    assert pair.benefits()[0] >= pair.gap
    assert len(greedy_fit(pair)) == 0 and len(sa_fit(pair, 1)) == 0


@pytest.mark.paper("003-14")
@at_most(40)
@given(pairs(), st.integers(0, 5))
def test_safit_stays_feasible_and_is_a_function_of_its_seed(pair, seed):
    chosen = sa_fit(pair, seed, steps=20)
    assert chosen.tolist() == sa_fit(pair, seed, steps=20).tolist()
    assert pair.benefits()[chosen].sum() <= max(pair.gap, 0.0)


@pytest.mark.paper("003-14")
@pytest.mark.paper("003-15")
@at_most(15)
@given(pairs(most=5))
def test_safit_finds_the_greatest_value_of_few_keys(pair):
    """With five keys annealing sees every set: what it returns has the best value (10), often a small set."""
    benefits, rows = pair.benefits(), pair.rows
    feasible = [one for one in subsets(len(benefits)) if len(one) and benefits[one].sum() <= pair.gap]
    best = max((benefits[one].sum() / max(rows[one].sum(), 1.0) for one in feasible), default=0.0)
    chosen = sa_fit(pair, 3, steps=200)
    found = benefits[chosen].sum() / max(rows[chosen].sum(), 1.0) if len(chosen) else 0.0
    assert found == pytest.approx(best)


@pytest.mark.paper("003-24")
def test_scaling_gain_ratio():
    assert scaling_gain_ratio(16, 15.9, 10.01) > 0.9
    assert scaling_gain_ratio(16, 16, 14) == pytest.approx(14 / 15)
    assert scaling_gain_ratio(16, 16, 10_000) > 0.9999
