"""The local runtime finds what a nested loop finds, whatever the join, the batches, the tasks, the scheme and the index."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.examples import share
from tests.property.cases import (
    Case,
    bands,
    cases,
    comparisons,
    count,
    counts,
    expected_count,
    fed,
    intervals,
    legal_indexes,
    legal_schemes,
    legal_tasks,
    make,
    spec_of,
    times,
)  # fmt: skip
from weft.state import MemoryStore
from weft.types import SIDES
from weft_lab.oracle import Batch

some = share(0.35)


def check(case: Case, data: st.DataObject) -> None:
    spec = spec_of(case)
    scheme = data.draw(st.sampled_from(legal_schemes(spec)), "scheme")
    index = data.draw(st.sampled_from(legal_indexes(spec)), "index")
    tasks = data.draw(legal_tasks(scheme), "tasks")
    join = make(case, scheme=scheme, index=index, tasks=tasks)
    found: Counter[tuple[int, int]] = Counter()
    for batch in case.batches:
        found += count(fed(join, batch))
    expected = case.expected()
    assert found == expected_count(expected)
    assert isinstance(join.store, MemoryStore)
    late = {side: sum(metrics["late"][side] for metrics in join.store.metrics.values()) for side in SIDES}
    assert late == expected.late


@pytest.mark.paper("X02")
@some
@given(cases(), st.data())
def test_any_join(case, data):
    check(case, data)


@pytest.mark.paper("X04")
@some
@given(cases(st.just(weft.unbounded())), st.data())
def test_full_history(case, data):
    check(case, data)


@pytest.mark.paper("X03")
@some
@given(cases(times(), most=8), st.data())
def test_time_windows(case, data):
    check(case, data)


@pytest.mark.paper("000-01")
@some
@given(cases(counts(), most=8), st.data())
def test_count_windows(case, data):
    check(case, data)


@some
@given(cases(first=bands()), st.data())
def test_bands(case, data):
    check(case, data)


@some
@given(cases(first=intervals()), st.data())
def test_intervals(case, data):
    check(case, data)


@share(0.15)
@given(cases(first=comparisons(), most=40), st.data())
def test_longer_batches(case, data):
    check(case, data)


@some
@given(cases(itself=True), st.data())
def test_self_join(case, data):
    check(case, data)


@some
@given(cases(itself=True, unordered=True), st.data())
def test_unordered_self_join(case, data):
    check(case, data)


@some
@given(cases(), st.data())
def test_one_row_at_a_time(case, data):
    """Batches of one row of one side each: every pair crosses batches."""
    single = []
    for batch in case.batches:
        single += [Batch(right=[[row]]) for part in batch.right for row in part]
        single += [Batch(left=[[row]]) for part in batch.left for row in part]
    check(Case(case.predicates, case.window, tuple(single[:24])), data)
