"""The join-biclique family: who keeps, who is asked, how groups and subgroups are cut."""

from __future__ import annotations

import numpy as np
import pytest

from tests.routing.specs import EQUAL, LESS, TUMBLING, TWO
from weft.engine import next_plan
from weft.errors import SpecError
from weft.routing import (
    Biclique,
    BicliquePlan,
    FastJoin,
    FastJoinPlan,
    equality_columns,
    group_of,
)
from weft.types import SIDES, other
from weft_lab.schemes import ContRand, Random, SaFit

RNG = np.random.default_rng(7)
WORDS = RNG.integers(0, 500, (1, 4000))
U = RNG.integers(0, 2**32, 4000, dtype=np.uint32)


@pytest.mark.paper("003-01")
@pytest.mark.paper("Y07")
@pytest.mark.parametrize("scheme", [Biclique(), Biclique(subgroups=6), ContRand(), Random(), FastJoin()])
@pytest.mark.parametrize("tasks", [2, 5, 48])
def test_a_group_keeps_one_side_and_is_asked_by_the_other(scheme, tasks):
    plan = scheme.initial(EQUAL, tasks)
    for side in SIDES:
        kept, asked = plan.store(side, WORDS, U), plan.probe(other(side), WORDS, U)
        group = group_of(side, tasks)
        outside = np.ones(tasks, np.bool_)
        outside[group.start : group.start + group.size] = False
        assert (kept.sum(axis=0) == 1).all(), "kept once"
        assert not kept[outside].any()
        assert not asked[outside].any()


@pytest.mark.paper("003-25")
@pytest.mark.parametrize(
    ("scheme", "asked", "spread"),
    [
        (Biclique(), 1, 1),
        (ContRand(), 2, 2),
        (ContRand(group=4), 4, 4),
        (Biclique(subgroups=6), 2, 2),
        (Random(), 12, 12),
    ],
)
def test_a_key_is_spread_over_its_subgroup(scheme, asked, spread):
    plan = scheme.initial(EQUAL, 24)
    one_key = np.zeros((1, 4000), np.int64)
    assert (plan.probe("left", one_key, U).sum(axis=0) == asked).all()
    assert plan.store("left", one_key, U).any(axis=1).sum() == spread
    assert plan.lookups() == (asked, asked)


def test_subgroups_share_the_tasks_out_evenly():
    for tasks in range(1, 30):
        for cut in (1, 2, 6, 100):
            cuts = BicliquePlan(tasks, (0,), (0,), subgroups=cut).cuts("left")
            sizes = np.diff(cuts)
            assert cuts[0] == 0 and cuts[-1] == group_of("left", tasks).size
            assert sizes.min() >= 1 and sizes.max() - sizes.min() <= 1


def test_one_task_is_both_groups():
    plan = Biclique().initial(EQUAL, 1)
    assert plan.store("left", WORDS, U).all() and plan.probe("left", WORDS, U).all()


def test_random_serves_any_condition_and_hashes_do_not():
    assert Random().initial(LESS, 4).copies() == (1.0, 1.0)
    assert Biclique(subgroups=1).initial(LESS, 4) == Random().initial(LESS, 4)
    for scheme in (Biclique(), Biclique(subgroups=2), ContRand(), FastJoin()):
        with pytest.raises(SpecError, match="needs an equality between the sides"):
            scheme.initial(LESS, 4)


def test_the_number_of_a_tumbling_window_is_no_part_of_the_key():
    assert equality_columns(EQUAL) == ((0,), (0,))
    assert equality_columns(TWO) == ((TWO.left.mix,), (TWO.right.mix,))
    assert equality_columns(TUMBLING) == ((0,), (0,))


def test_schemes_that_share_a_plan_replace_one_another():
    plan = ContRand().initial(EQUAL, 4)
    changed, why = next_plan(EQUAL, Biclique(), plan, [])
    assert (changed, why) == (plan, ""), "nothing is known yet"
    assert Biclique().control(EQUAL, plan, []) == (Biclique().initial(EQUAL, 4), "scheme is now biclique")
    shared = FastJoin(biclique=False)
    fresh, why = shared.control(EQUAL, FastJoin().initial(EQUAL, 4), [])
    assert isinstance(fresh, FastJoinPlan) and fresh.shared
    assert why == "scheme is now fastjoin, all tasks keep both sides"


@pytest.mark.parametrize(
    ("scheme", "options"),
    [
        (Biclique, {"subgroups": 0}), (ContRand, {"group": 0}), (FastJoin, {"threshold": 0.5}), (FastJoin, {"keys": 0}),
        (FastJoin, {"threshold": float("nan")}), (SaFit, {"phi": "tail"}), (FastJoin, {"phi": "queue"}),
        (FastJoin, {"rounds": 0}), (FastJoin, {"load": "time"}),
    ],
)  # fmt: skip
def test_nonsense_is_refused(scheme, options):
    with pytest.raises(SpecError, match="Hint: "):
        scheme(**options)
