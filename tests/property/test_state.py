"""State on disk: crashes at any file operation, replays, other numbers of tasks, other plans. The pairs stay exact."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import share
from tests.property.cases import Case, Drawn, cases, counts, times
from weft_lab.torture.lives import Troubles, live


def check(case: Case, data: st.DataObject, *, crash: bool = False, rescale: bool = False, change: bool = False) -> None:
    live(case, Drawn(data.draw), Troubles(crash, rescale, change))


@share(0.2)
@given(cases(), st.data())
def test_state_on_disk(case, data):
    check(case, data)


@share(0.2)
@given(cases(times()), st.data())
def test_crash_and_replay_over_time(case, data):
    check(case, data, crash=True)


@share(0.2)
@given(cases(counts()), st.data())
def test_crash_and_replay_over_counts(case, data):
    check(case, data, crash=True)


@share(0.2)
@given(cases(), st.data())
def test_rescaling_on_restart(case, data):
    check(case, data, rescale=True)


@pytest.mark.paper("X02")
@share(0.2)
@given(cases(), st.data())
def test_forced_plan_changes(case, data):
    check(case, data, change=True)


@share(0.2)
@given(cases(), st.data())
def test_all_at_once(case, data):
    check(case, data, crash=True, rescale=True, change=True)


@share(0.15)
@given(cases(itself=True), st.data())
def test_self_join(case, data):
    check(case, data, crash=True, rescale=True, change=True)


@share(0.15)
@given(cases(itself=True, unordered=True), st.data())
def test_unordered_self_join(case, data):
    check(case, data, crash=True, rescale=True, change=True)
