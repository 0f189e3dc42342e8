"""The plain plans and schemes one by one: what they cost, what they refuse, when ranges are cut anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.routing.meeting import EDGES, SPECS, check_meets_once, rows_of
from weft.engine import next_plan
from weft.errors import SpecError, StateError, UnknownName
from weft.routing import (
    BroadcastPlan,
    Hash,
    HashPlan,
    Matrix,
    MatrixPlan,
    Plan,
    Range,
    RangePlan,
    Split,
    SplitPlan,
    TaskStats,
    best_shape,
    draw_of,
    plan_from_json,
    scheme_named,
)  # fmt: skip
from weft.spec import JoinSpec


@pytest.mark.parametrize("name", [name for name in SPECS if SPECS[name].access.within is not None])
@at_most(30)
@given(data=st.data())
def test_any_boundaries_will_do(name, data):
    spec = SPECS[name]
    tasks = data.draw(st.integers(1, 7))
    cuts = data.draw(st.lists(st.sampled_from(EDGES), max_size=tasks - 1, unique=True))
    plan = RangePlan.over(spec, tasks, tuple(sorted(cuts)))
    left, right = data.draw(rows_of(spec, "left")), data.draw(rows_of(spec, "right"))
    check_meets_once(spec, plan, left, right)
    check_meets_once(spec, plan.adapt(data.draw(st.integers(1, 7))), left, right)


def _sizes(plan: Plan, spec: JoinSpec, rows: int = 4_000) -> tuple[float, float]:
    """Return how often a tuple is stored and how many tasks it asks, on average."""
    generator = np.random.default_rng(1)
    words = generator.integers(0, 1_000, (spec.left.columns, rows))
    u = generator.integers(0, 2**32, rows, dtype=np.uint32)
    return float(plan.store("left", words, u).sum() / rows), float(plan.probe("left", words, u).sum() / rows)


@pytest.mark.paper("000-31")
def test_broadcast_keeps_everywhere_and_asks_once():
    assert _sizes(BroadcastPlan(5), SPECS["less"]) == (5.0, 1.0)


@pytest.mark.paper("000-32")
def test_split_keeps_once_and_asks_everywhere():
    assert _sizes(SplitPlan(5), SPECS["less"]) == (1.0, 5.0)


def test_hash_keeps_once_and_asks_once():
    assert _sizes(Hash().initial(SPECS["equal"], 5), SPECS["equal"]) == (1.0, 1.0)


@pytest.mark.paper("001-03")
def test_a_matrix_keeps_a_left_tuple_once_per_column():
    assert _sizes(MatrixPlan(7, 2, 3), SPECS["less"]) == (3.0, 3.0)
    assert _sizes(MatrixPlan(4, 4, 1), SPECS["less"]) == (1.0, 1.0)


def test_what_explain_says_of_copies_and_lookups_is_true():
    for plan in (BroadcastPlan(5), SplitPlan(5), MatrixPlan(6, 2, 3), HashPlan(4)):
        kept, asked = _sizes(plan, SPECS["equal"])
        assert (kept, asked) == (plan.copies()[0], plan.lookups()[0])


def test_draws_fall_evenly_on_all_tasks():
    u = np.random.default_rng(2).integers(0, 2**32, 70_000, dtype=np.uint32)
    share = np.bincount(draw_of(u, 7), minlength=7)
    assert len(share) == 7 and share.min() > 9_500


def test_ranges_follow_the_samples():
    spec = SPECS["band"]
    words = tuple(range(0, 1_000, 10))
    stats = TaskStats(
        {"left": 0, "right": 0}, {"left": 100, "right": 100}, {"left": 0, "right": 0}, {"left": words, "right": words}
    )
    plan, why = Range().control(spec, Range().initial(spec, 4), [stats])
    assert isinstance(plan, RangePlan) and len(plan.bounds) == 3
    assert why == "first boundaries from samples"
    assert [abs(cut - at) <= 20 for cut, at in zip(plan.bounds, (250, 500, 750), strict=True)] == [True] * 3
    assert Range().control(spec, plan, [stats]) == (plan, "")


def test_drifting_keys_give_new_boundaries():
    spec = SPECS["band"]
    old = RangePlan.over(spec, 4, (10, 20, 30))
    words = tuple(range(1_000, 1_100))
    stats = TaskStats(
        {"left": 0, "right": 0}, {"left": 100, "right": 100}, {"left": 0, "right": 0}, {"left": words, "right": words}
    )
    plan, why = Range().control(spec, old, [stats])
    assert isinstance(plan, RangePlan) and plan.bounds[0] > 1_000
    assert "times the mean" in why


def test_one_value_everywhere_gives_no_boundaries_and_no_change():
    spec = SPECS["band"]
    stats = TaskStats(
        {"left": 0, "right": 0},
        {"left": 100, "right": 100},
        {"left": 0, "right": 0},
        {"left": (7,) * 64, "right": (7,) * 64},
    )
    first = Range().initial(spec, 4)
    assert Range().control(spec, first, [stats]) == (first, "")


def test_another_scheme_replaces_the_plan_it_finds():
    plan, why = next_plan(SPECS["equal"], Split(), HashPlan(3), [])
    assert plan == SplitPlan(3)
    assert why == "scheme is now split"


@pytest.mark.parametrize(
    ("scheme", "name", "what"), [(Hash(), "less", "an equality"), (Range(), "not", "a band or an inequality")]
)
def test_a_scheme_refuses_what_it_cannot_serve(scheme, name, what):
    with pytest.raises(SpecError, match=f"needs {what} between the sides") as caught:
        scheme.initial(SPECS[name], 3)
    assert "Hint: use scheme=" in str(caught.value)


def test_a_matrix_that_needs_more_tasks_is_refused():
    with pytest.raises(SpecError, match=r"A matrix of 2 rows and 3 columns needs 6 tasks.\nThere are 5.\nHint: "):
        Matrix(2, 3).initial(SPECS["less"], 5)


def test_unknown_names_are_refused():
    with pytest.raises(
        UnknownName, match=r"no scheme named 'hsah'.*\nKnown: adsp, auto, .*\nHint: did you mean 'hash'"
    ):
        scheme_named("hsah")
    with pytest.raises(StateError, match="A plan has the unknown scheme 'magic'"):
        plan_from_json({"scheme": "magic", "tasks": 1})


def _shares(shapes: Sequence[tuple[int, int]], left: float, right: float) -> float:
    return min(left / rows + right / columns for rows, columns in shapes)


@given(st.integers(1, 40), st.floats(0.1, 1000), st.floats(0.1, 1000))
def test_the_best_shape_is_the_best_of_all(tasks, left, right):
    rows, columns = best_shape(tasks, left, right)
    every = [(r, c) for r in range(1, tasks + 1) for c in range(1, tasks // r + 1)]
    assert (rows, columns) in every
    assert left / rows + right / columns == pytest.approx(_shares(every, left, right))
