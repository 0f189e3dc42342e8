"""What tasks note: exact while keys are few, bounded beyond, aware of the window, handed over by migrations."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.routing.specs import EQUAL, LAST, TUMBLING, TWO_TUMBLING, WITHIN
from weft.routing import BatchView, FastJoin, FastJoinPlan, HashPlan, Notes
from weft.routing.fastjoin import (
    LONGEST,
    SAMPLE,
    SUBWINDOWS,
    KeyCounts,
    count_keys,
    kept_counts,
    phi_counts,
    watch_keys,
)
from weft.spec import JoinSpec
from weft.types import SIDES, WORD_MAX, WORD_MIN, Side, Words

WORD = st.sampled_from((WORD_MIN, -1, 0, 1, 2, 3, 4, 5, 6, 7, WORD_MAX))
NONE = np.zeros((1, 0), np.int64)


@given(st.lists(WORD, max_size=30))
def test_a_batch_is_counted_exactly(words):
    keys, counts = count_keys(np.array(words, np.int64))
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == Counter(words)
    assert (np.diff(keys.astype(object)) > 0).all()


@given(st.lists(st.lists(WORD, max_size=20), max_size=6), st.integers(1, 12))
def test_counts_are_exact_below_the_bound_and_close_above_it(batches, bound):
    total, true = KeyCounts.none(), Counter[int]()
    for batch in batches:
        total = (total + KeyCounts.of(np.array(batch, np.int64), bound)).bounded(bound)
        total = KeyCounts.of_json(json.loads(json.dumps(total.to_json())))
        true.update(batch)
        assert len(total.keys) <= bound
        assert total.total == true.total()
    for key, count in zip(total.keys.tolist(), total.counts.tolist(), strict=True):
        assert true[key] <= count <= true[key] + total.floor
    assert total.sure(total.keys).tolist() == [max(c - total.floor, 0) for c in total.counts.tolist()]
    assert all(true[key] <= total.floor for key in true if key not in total.keys)
    if len(true) <= bound:
        assert total.floor == 0 and set(total.keys.tolist()) == set(true)


def test_keys_of_even_frequency_are_not_worth_noting():
    words = np.random.default_rng(1).integers(0, 2**62, 100_000)
    assert len(json.dumps(KeyCounts.of(words, 256).to_json())) < 100
    words[::50] = 7
    listed = KeyCounts.of(words, 256)
    assert listed.keys.tolist() == [7] and listed.counts.tolist() == [pytest.approx(2000, rel=0.2)]


def test_few_keys_are_counted_exactly_however_many_rows():
    words = np.random.default_rng(1).integers(0, 100, 3 * SAMPLE)
    counted = KeyCounts.of(words, 128)
    assert counted.floor == 0 and counted.counts.tolist() == np.bincount(words).tolist()


def view(plan: FastJoinPlan, task: int, stored: dict, probed: dict, held: dict | None = None) -> BatchView:
    empty = {side: np.zeros((next(iter({**stored, **probed}.values())).shape[0], 0), np.int64) for side in SIDES}
    full = {**empty, **(held or stored)}
    return BatchView(
        task, plan, {**empty, **stored}, {**empty, **probed}, {side: np.zeros(0, np.uint32) for side in SIDES},
        lambda side: (full[side], np.zeros(full[side].shape[1], np.uint32)),
    )  # fmt: skip


def words(*columns: list[int]) -> Words:
    return np.array(columns, np.int64)


def shown(counts: KeyCounts) -> dict[int, float]:
    return dict(zip(counts.keys.tolist(), counts.counts.tolist(), strict=True))


@pytest.mark.paper("003-03")
@pytest.mark.paper("003-34")
def test_a_task_notes_what_it_keeps_and_what_arrives():
    scheme, plan = FastJoin(), FastJoinPlan(4)
    first = scheme.watch(EQUAL, view(plan, 0, {"left": words([1, 1, 2])}, {"right": words([1, 5, 5, 5])}), {})
    assert shown(kept_counts(first, "left")) == {1: 2, 2: 1}
    assert shown(phi_counts(first, "left")) == {1: 1, 5: 3}
    assert kept_counts(first, "right").total == 0, "a task of the left group keeps no right rows"
    second = scheme.watch(EQUAL, view(plan, 0, {"left": words([2])}, {"right": words([5])}), first)
    assert shown(kept_counts(second, "left")) == {1: 2, 2: 2}
    assert shown(phi_counts(second, "left")) == {1: 0.5, 5: 2.5}, "halved with every batch"
    last = FastJoin(phi="arrivals").watch(EQUAL, view(plan, 0, {"left": words([2])}, {"right": words([5])}), first)
    assert shown(phi_counts(last, "left")) == {5: 1}, "the last batch alone"
    assert json.loads(json.dumps(second)) == second


@pytest.mark.paper("003-20")
def test_behind_a_migration_everything_held_is_counted_anew():
    scheme, plan = FastJoin(), FastJoinPlan(4)
    old = scheme.watch(EQUAL, view(plan, 0, {"left": words([1, 1, 2])}, {"right": words([1])}), {})
    moved = FastJoinPlan(4, moved=(((9, 0),), ()), version=1)
    held = {"left": words([2, 9, 9, 9])}
    notes = scheme.watch(EQUAL, view(moved, 0, {"left": words([9])}, {"right": words([9, 9])}, held), old)
    assert shown(kept_counts(notes, "left")) == {2: 1, 9: 3}
    assert shown(phi_counts(notes, "left")) == {9: 2}
    assert notes["version"] == 1


@pytest.mark.paper("003-23")
@pytest.mark.parametrize("spec", [WITHIN, LAST, TUMBLING], ids=["within", "last", "tumbling"])
def test_rows_that_left_the_window_leave_the_counts(spec):
    """One row a side and time step: what is noted never falls short of the window, and exceeds it by its parts at most."""
    plan, notes = FastJoinPlan(2, shared=True), Notes()
    span = 10 if spec is TUMBLING else 40
    for batch in range(40):
        now = np.arange(batch * 5, batch * 5 + 5)
        parts = {side: _rows(spec, side, now) for side in SIDES}
        notes = watch_keys(spec, view(plan, 0, parts, parts), notes, bound=64, halve=True)
        assert len(notes["kept"]["left"]) <= SUBWINDOWS + 1
        kept = kept_counts(notes, "left").total
        live = (batch * 5 + 5) % 10 or 10 if spec is TUMBLING else min(batch * 5 + 5, span)
        assert live <= kept <= live + span / SUBWINDOWS + 5, (batch, kept, live)


def _rows(spec: JoinSpec, side: Side, now: Words) -> Words:
    made = np.zeros((spec.side(side).columns, len(now)), np.int64)
    column = spec.expiry(side)
    made[column] = now
    made[0] = now % 3
    return made


@pytest.mark.paper("003-23")
def test_recounting_leaves_out_what_is_out_of_the_window():
    plan = FastJoinPlan(2, shared=True, version=3)
    held = {side: _rows(WITHIN, side, np.arange(0, 100)) for side in SIDES}
    fresh = {side: _rows(WITHIN, side, np.arange(95, 100)) for side in SIDES}
    notes = watch_keys(WITHIN, view(plan, 0, fresh, fresh, held), {}, bound=64, halve=True)
    assert kept_counts(notes, "left").total == 41, "times 59 to 99"
    assert len(notes["kept"]["left"]) == SUBWINDOWS + 1


def test_a_long_batch_is_not_taken_for_kept_because_a_task_sees_the_other_side_late():
    plan = FastJoinPlan(2, shared=True)
    new = {"left": _rows(WITHIN, "left", np.arange(0, 10_000)), "right": _rows(WITHIN, "right", np.arange(0, 9_900))}
    notes = watch_keys(WITHIN, view(plan, 0, new, new), {}, bound=64, halve=True)
    assert kept_counts(notes, "left").total == 100 + 41, "what the newest right row can still meet, and what came since"


def test_a_side_that_runs_ahead_keeps_a_vector_of_bounded_length():
    plan, notes = FastJoinPlan(2, shared=True), Notes()
    for batch in range(40):
        ahead = {"left": _rows(WITHIN, "left", np.arange(batch * 50, batch * 50 + 50))}
        notes = watch_keys(WITHIN, view(plan, 0, ahead, ahead), notes, bound=64, halve=True)
        assert len(notes["kept"]["left"]) <= LONGEST
    assert kept_counts(notes, "left").total == 2000, "nothing is out of the window while the right side has not come"


def test_keys_stay_the_same_from_window_to_window():
    plan = FastJoin().initial(TWO_TUMBLING, 4)
    assert isinstance(plan, FastJoinPlan) and len(plan.left) == 2
    early, late = _rows(TWO_TUMBLING, "left", np.array([3])), _rows(TWO_TUMBLING, "left", np.array([33]))
    late[TWO_TUMBLING.left.bucket] = 3
    assert plan.key("left", early).tolist() == plan.key("left", late).tolist()


def test_one_task_and_other_plans_note_nothing():
    assert watch_keys(EQUAL, view(FastJoinPlan(1), 0, {"left": NONE}, {"right": NONE}), {}, bound=8, halve=True) == {}
    other = view(FastJoinPlan(4), 0, {"left": NONE}, {"right": NONE})
    hashed = BatchView(0, HashPlan(4), other.stored, other.probed, other.draws, other.held)
    assert FastJoin().watch(EQUAL, hashed, {}) == {}
