"""The local runtime finds what a nested loop finds while matrices scale out and in and change their shape."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    make,
    spec_of,
    times,
)  # fmt: skip
from weft.routing import Adsp, AreaPlan, Ordered, Scheme, ordering
from weft_lab.oracle import Batch
from weft_lab.schemes import Dynamic, Readj, Square

SCHEMES: list[Scheme] = [
    Adsp(patience=1), Adsp(memory=4, patience=1, size=4), Adsp(memory=7, patience=2, size=8, pairing="optimal"),
    Square(memory=5, patience=1), Dynamic(memory=4), Dynamic(), Readj(sigma=0.01, imbalance=1.0, patience=1),
]  # fmt: skip
EAGER = Ordered(imbalance=1.0, enough=0, patience=1, size=8)


def check(case: Case, data: st.DataObject) -> int:
    schemes = [*SCHEMES, EAGER] if ordering(spec_of(case)) is not None else SCHEMES
    scheme = data.draw(st.sampled_from(schemes), "scheme")
    tasks = data.draw(st.integers(1, 9), "tasks")
    join = make(case, scheme=scheme, tasks=tasks)
    found: Counter[tuple[int, int]] = Counter()
    epoch = 0
    for number, batch in enumerate(case.batches):
        found += count(fed(join, batch))
        plan = join.store.read_pinned(number).plan
        epoch = plan.epoch if isinstance(plan, AreaPlan) else epoch
        if isinstance(plan, AreaPlan):
            assert len(plan.active) == len(set(plan.active)) and max(plan.active) < tasks
    assert found == expected_count(case.expected())
    return epoch


@pytest.mark.paper("001-31", "001-42", "X02")
@share(0.2)
@given(cases(most=8), st.data())
def test_any_join(case, data):
    check(case, data)


@share(0.15)
@given(cases(times(), first=bands(), most=8), st.data())
def test_bands_in_time_windows(case, data):
    check(case, data)


@share(0.2)
@given(cases(counts(), first=comparisons(), most=8), st.data())
def test_count_windows(case, data):
    check(case, data)


@share(0.2)
@given(cases(itself=True), st.data())
def test_self_join(case, data):
    check(case, data)


@share(0.2)
@given(cases(itself=True, unordered=True), st.data())
def test_unordered_self_join(case, data):
    check(case, data)


@share(0.15)
@given(cases(first=comparisons(), most=5), st.integers(2, 4), st.data())
def test_plans_change_on_the_way(case, times_over, data):
    """The same batches over and over: enough of them for several decisions."""
    number = 10_000
    batches = list(case.batches)
    for turn in range(1, times_over):
        for batch in case.batches:
            again = Batch(*(
                [[{**row, "id": row["id"] + turn * number} for row in part] for part in parts]
                for parts in (batch.left, batch.right)
            ))  # fmt: skip
            batches.append(again)
    check(Case(case.predicates, case.window, tuple(batches)), data)
