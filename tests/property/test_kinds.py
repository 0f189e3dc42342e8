"""Outer, semi and anti joins find what a nested loop finds, batch by batch, whatever the window, tasks, scheme and index."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import share
from tests.property.cases import (
    Case,
    Drawn,
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
)
from weft.spec import INNER, KINDS
from weft.state import MemoryStore
from weft.types import SIDES
from weft_lab.torture.lives import Troubles, live

OTHERS = tuple(kind for kind in KINDS.values() if kind != INNER)
some = share(0.3)


def check(case: Case, data: st.DataObject) -> None:
    """Compare what has left after every batch, and what is left at the end."""
    spec = spec_of(case)
    scheme = data.draw(st.sampled_from(legal_schemes(spec)), "scheme")
    index = data.draw(st.sampled_from(legal_indexes(spec)), "index")
    join = make(case, scheme=scheme, index=index, tasks=data.draw(legal_tasks(scheme), "tasks"))
    found = count(())
    for number, batch in enumerate(case.batches):
        found += count(fed(join, batch))
        assert found == expected_count(case.expected(case.batches[: number + 1]), case.kind), f"after batch {number}"
    found += count(join.finish())
    expected = case.expected()
    assert found == expected_count(expected, case.kind, last=True)
    assert isinstance(join.store, MemoryStore)
    late = {side: sum(metrics["late"][side] for metrics in join.store.metrics.values()) for side in SIDES}
    assert late == expected.late


@some
@given(cases(kinds=OTHERS), st.data())
def test_any_window(case, data):
    check(case, data)


@some
@given(cases(times(), most=8, kinds=OTHERS), st.data())
def test_time_windows(case, data):
    check(case, data)


@some
@given(cases(counts(), most=8, kinds=OTHERS), st.data())
def test_count_windows(case, data):
    check(case, data)


@some
@given(cases(first=bands(), kinds=OTHERS), st.data())
def test_bands(case, data):
    check(case, data)


@some
@given(cases(first=intervals(), kinds=OTHERS), st.data())
def test_intervals(case, data):
    check(case, data)


@share(0.15)
@given(cases(first=comparisons(), most=40, kinds=OTHERS), st.data())
def test_longer_batches(case, data):
    check(case, data)


@some
@given(cases(itself=True, kinds=OTHERS), st.data())
def test_self_join(case, data):
    check(case, data)


@share(0.2)
@given(cases(kinds=OTHERS), st.data())
def test_one_side_is_silent(case, data):
    side = data.draw(st.sampled_from(SIDES), "side")
    check(replace(case, batches=tuple(replace(batch, **{side: ()}) for batch in case.batches)), data)


@share(0.3)
@given(cases(times(), kinds=OTHERS), st.data())
def test_crashes_replays_rescaling_and_plan_changes_over_time(case, data):
    live(case, Drawn(data.draw), Troubles(crash=True, rescale=True, change=True))


@share(0.3)
@given(cases(counts(), kinds=OTHERS), st.data())
def test_crashes_replays_rescaling_and_plan_changes_over_counts(case, data):
    live(case, Drawn(data.draw), Troubles(crash=True, rescale=True, change=True))
