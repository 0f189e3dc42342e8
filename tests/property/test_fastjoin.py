"""Equi joins stay exact whatever FastJoin does: forced tables and splits at any batch, control that acts all the time."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.examples import share
from tests.property.cases import Case, Predicate, cases, count, expected_count, fed, legal_indexes, make, spec_of
from tests.routing.fastjoin_plans import fastjoin_plans
from weft.routing import FastJoin, Plan
from weft_lab.oracle import Compare
from weft_lab.schemes import SaFit
from weft_lab.torture.forced import force_plan

KEYS = (0, 1, 2, 3, 4, 5)


def equal() -> st.SearchStrategy[Predicate]:
    """Draw an equality of small integers: few keys, many pairs, so that tables and splits are hit."""
    return st.sampled_from([Predicate(f"{{0}}.{a} = {{1}}.{b}", (Compare(a, "=", b),)) for a in "ij" for b in "ij"])


def check(case: Case, data: st.DataObject, scheme: FastJoin, *, forced: bool) -> None:
    tasks = data.draw(st.integers(1, 7), "tasks")
    index = data.draw(st.sampled_from(legal_indexes(spec_of(case))), "index")
    join = make(case, scheme=scheme, index=index, tasks=tasks)
    found: Counter[tuple[int, int]] = Counter()
    for number, batch in enumerate(case.batches):
        if forced and number and data.draw(st.booleans(), "change plan"):
            plan: Plan = data.draw(fastjoin_plans(join.spec, tasks, KEYS), "plan")
            force_plan(join.store, number, plan)
        found += count(fed(join, batch))
    assert found == expected_count(case.expected())


@pytest.mark.paper("003-18")
@pytest.mark.paper("003-19")
@pytest.mark.paper("003-21")
@share(1.0)
@given(cases(first=equal()), st.data())
def test_forced_plans(case, data):
    check(case, data, FastJoin(), forced=True)


@pytest.mark.paper("003-20")
@share(0.4)
@given(cases(first=equal(), most=12), st.data())
def test_eager_control(case, data):
    """Every batch of LI over 1 moves keys, with three keys noted per task: heavy hitters, not exact counts."""
    scheme = data.draw(st.sampled_from((FastJoin, SaFit)))(
        threshold=1.0, noise=0.0, gain=0.0, enough=0.0, keys=data.draw(st.sampled_from((1, 3, 64))),
        split_hot=data.draw(st.booleans()), biclique=data.draw(st.booleans()),
        phi=data.draw(st.sampled_from(("halved", "arrivals"))),
        load=data.draw(st.sampled_from(("product", "work"))),
    )  # fmt: skip
    check(case, data, scheme, forced=data.draw(st.booleans()))


@share(0.3)
@given(cases(st.just(weft.unbounded()), first=equal(), itself=True), st.data())
def test_self_joins(case, data):
    check(case, data, FastJoin(threshold=1.0, noise=0.0, gain=0.0, enough=0.0, split_hot=True), forced=True)
