"""Slices of time: every pair meets once whatever their length, and they are cut only where they are long and even."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.routing.meeting import SPECS, check_meets_once, rows_of
from weft.errors import SpecError
from weft.planner import choose
from weft.routing import BatchView, MatrixPlan, Plan, SlicePlan, Slices, SplitPlan, TaskStats, plan_from_json
from weft.spec import Within
from weft.types import SIDES, Side, Words

SPEC = SPECS["less, within time"]


@given(data=st.data())
def test_every_pair_meets_once_whatever_the_length(data):
    assert isinstance(SPEC.window, Within)
    reach = SPEC.window.before, SPEC.window.after
    plan = SlicePlan(data.draw(st.integers(1, 7)), 1, 1, *reach, data.draw(st.sampled_from((1, 2, 3, 7, 2**40, 2**62))))
    left, right = data.draw(rows_of(SPEC, "left")), data.draw(rows_of(SPEC, "right"))
    check_meets_once(SPEC, plan, left, right)
    check_meets_once(SPEC, plan.adapt(data.draw(st.integers(1, 7))), left, right)
    assert plan_from_json(json.loads(json.dumps(plan.to_json()))) == plan


def noted(scheme: Slices, plan: Plan, times: Sequence[int], before: list[TaskStats]) -> list[TaskStats]:
    """Return what all tasks note of a batch with these times on the left."""
    words = np.stack([np.zeros(len(times), np.int64), np.array(times, np.int64)])
    u = np.random.default_rng(1).integers(0, 2**32, len(times), dtype=np.uint32)
    none, nobody = np.zeros((2, 0), np.int64), np.zeros(0, np.uint32)
    found = []
    for task, kept in enumerate(plan.store("left", words, u)):
        stored: dict[Side, Words] = {"left": words[:, kept], "right": none}
        view = BatchView(task, plan, stored, stored, {"left": u[kept], "right": nobody}, lambda _: (none, nobody))
        notes = scheme.watch(SPEC, view, before[task].notes if before else {})
        zero: dict[Side, int] = dict.fromkeys(SIDES, 0)
        found.append(TaskStats(zero, zero, zero, {"left": (), "right": ()}, notes))
    return found


def test_long_batches_are_cut_and_short_ones_are_not():
    scheme = Slices()
    plan = scheme.initial(SPEC, 2)
    assert isinstance(plan, SplitPlan) and isinstance(scheme.initial(SPEC, 6), MatrixPlan)
    short = noted(scheme, plan, range(20), [])
    assert scheme.control(SPEC, plan, short) == (plan, "")
    cut, why = scheme.control(SPEC, plan, noted(scheme, plan, range(8000), short))
    assert isinstance(cut, SlicePlan) and why == f"slices of {cut.length:,} of event time"
    assert cut.length == pytest.approx(1000, rel=0.05)  # four rounds of two tasks
    asked = cut.probe("left", np.stack([np.arange(8000)] * 2), np.zeros(8000, np.uint32))
    assert asked.sum() / 8000 < 1.02


def test_slices_stay_until_two_batches_running_are_uneven():
    scheme, plan = Slices(), SlicePlan(2, 1, 1, 3, 3, 1000)
    even = noted(scheme, plan, range(8000), [])
    assert scheme.control(SPEC, plan, even) == (plan, "")
    once = noted(scheme, plan, range(200), even)
    assert scheme.control(SPEC, plan, once) == (plan, "")
    back, why = scheme.control(SPEC, plan, noted(scheme, plan, range(200, 210), once))
    assert isinstance(back, SplitPlan) and "uneven" in why
    longer, why = scheme.control(SPEC, plan, noted(scheme, plan, range(200, 700), once))
    assert isinstance(longer, SlicePlan) and longer.length < 100 and why.startswith("new slices")


def test_times_that_come_in_one_lump_are_not_cut():
    scheme = Slices()
    plan = scheme.initial(SPEC, 2)
    lump = [*range(0, 8000, 80), *[4000] * 900]
    assert scheme.control(SPEC, plan, noted(scheme, plan, lump, [])) == (plan, "")


def test_auto_takes_slices_for_inequalities_within_time():
    assert isinstance(choose(SPEC, 4).scheme, Slices)
    with pytest.raises(SpecError, match="a time window"):
        choose(SPECS["less"], 4, "slices")
