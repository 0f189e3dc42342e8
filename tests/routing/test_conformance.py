"""Every registered scheme, driven through real adaptation, lets every pair that can match meet in exactly one task.

A new scheme is tested by being registered, the laboratory's too: its `examples` are what runs here. Nothing is passed over in
silence: a scheme that does not adapt says so (`adapts`), one that misses pairs says so (`exact`), and of all others both is
asserted.
"""

from __future__ import annotations

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.routing import meeting
from tests.routing.driving import Drive, batches_of
from tests.routing.meeting import PRESERVING, check_meets_once, check_whole, rows_of
from weft.engine import next_plan
from weft.errors import SpecError
from weft.routing import PLANS, Scheme, plan_from_json, scheme_named
from weft.types import SIDES
from weft_lab.schemes import SCHEMES

SPECS = meeting.SPECS | PRESERVING
TASKS = 5
STILL = {
    ("readj", "not"), ("range", "interval of the right, right"), ("range", "less, full"),
    *(("ordered", spec) for spec in ("equal, left", "equal, full", "interval of the right, right", "less, semi", "less, full")),
}  # fmt: skip
"""Adaptive schemes, and joins that they serve without adapting: Readj moves keys, and `!=` gives it none; areas, and ranges of an
interval's own side, would store a preserved row on several tasks."""


@cache
def driven(name: str, number: int, spec: str) -> Drive:
    """Drive one example of a scheme through all batches."""
    scheme = SCHEMES[name].examples()[number]
    drive = Drive(SPECS[spec], scheme, max(TASKS, scheme.least_tasks))
    for batch in batches_of(SPECS[spec]):
        drive.batch(batch["left"], batch["right"])
    return drive


def examples_for(name: str, spec: str) -> list[int]:
    return [number for number, scheme in enumerate(SCHEMES[name].examples()) if scheme.serves(SPECS[spec])]


def all_driven(name: str) -> list[Drive]:
    return [driven(name, number, spec) for spec in SPECS for number in examples_for(name, spec)]


SERVED = [(name, spec) for name in SCHEMES for spec in SPECS if examples_for(name, spec)]
REFUSED = [
    (name, spec) for name in SCHEMES for spec in SPECS if len(examples_for(name, spec)) < len(SCHEMES[name].examples())
]


@pytest.mark.paper("X02")
@pytest.mark.paper("001-02")
@pytest.mark.parametrize(("name", "spec"), SERVED)
def test_every_pair_meets_once_under_every_plan_and_across_changes(name, spec):
    for number in examples_for(name, spec):
        drive = driven(name, number, spec)
        drive.check()
        for plan in dict.fromkeys(drive.plans):
            check_meets_once(SPECS[spec], plan, drive.rows["left"], drive.rows["right"], exact=drive.scheme.exact)
            for side in SIDES:
                check_whole(SPECS[spec], plan, side, drive.rows[side])


@pytest.mark.parametrize("name", SCHEMES)
def test_what_adapts_does_and_what_does_not_stays(name):
    for number, scheme in enumerate(SCHEMES[name].examples()):
        served = [spec for spec in SPECS if number in examples_for(name, spec)]
        assert served, f"{scheme} serves none of the joins here"
        for spec in served:
            changes = driven(name, number, spec).changes
            if scheme.adapts and (name, spec) not in STILL:
                assert changes, f"{scheme} never changed its plan for {spec!r}"
            else:
                assert not changes, f"{scheme} is said not to adapt to {spec!r}, and changed its plan {changes} times"
    assert any(scheme.exact for scheme in SCHEMES[name].examples()), f"no example of {name} finds every pair"


@pytest.mark.parametrize(("name", "spec"), REFUSED)
def test_a_scheme_refuses_what_it_does_not_serve(name, spec):
    for number, scheme in enumerate(SCHEMES[name].examples()):
        if number not in examples_for(name, spec):
            with pytest.raises(
                SpecError,
                match=rf"scheme='{name}' (needs .*\nThe condition is test|does not support how=).*\n(It stores .*\n)?Hint: use ",
            ):
                scheme.initial(SPECS[spec], TASKS)


@st.composite
def drives(draw: st.DrawFn, spec: str, name: str) -> Drive:
    """Draw an example and any sequence of batches and restarts with another number of tasks."""
    scheme: Scheme = SCHEMES[name].examples()[draw(st.sampled_from(examples_for(name, spec)))]
    tasks = st.integers(scheme.least_tasks, 7)
    drive = Drive(SPECS[spec], scheme, draw(tasks))
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.integers(0, 3)) == 3:
            drive.restart(draw(tasks))
        drive.batch(draw(rows_of(SPECS[spec], "left")), draw(rows_of(SPECS[spec], "right")))
    return drive


@pytest.mark.parametrize("spec", SPECS)
@at_most(30)
@given(data=st.data())
def test_every_pair_meets_once_whatever_comes(spec, data):
    name = data.draw(st.sampled_from([name for name, served in SERVED if served == spec]), "scheme")
    drive = data.draw(drives(spec, name), "drive")
    drive.check()
    left, right = data.draw(rows_of(SPECS[spec], "left")), data.draw(rows_of(SPECS[spec], "right"))
    check_meets_once(SPECS[spec], drive.following, left, right, exact=drive.scheme.exact)
    check_whole(SPECS[spec], drive.following, "left", left)
    check_whole(SPECS[spec], drive.following, "right", right)


@pytest.mark.parametrize("name", SCHEMES)
def test_a_plan_is_its_json(name):
    for drive in all_driven(name):
        rows = drive.rows["left"]
        for plan in dict.fromkeys(drive.plans):
            again = plan_from_json(json.loads(json.dumps(plan.to_json())))
            assert again == plan and type(again) is type(plan)
            assert (again.store("left", rows.words, rows.u) == plan.store("left", rows.words, rows.u)).all()
            assert (again.probe("left", rows.words, rows.u) == plan.probe("left", rows.words, rows.u)).all()


@pytest.mark.parametrize("name", SCHEMES)
def test_adapting_and_deciding_are_pure(name):
    for drive in all_driven(name):
        plan, scheme = drive.plans[-1], drive.scheme
        before = json.dumps(plan.to_json())
        for tasks in range(scheme.least_tasks, 8):
            assert plan.adapt(tasks) == plan.adapt(tasks)
            assert plan.adapt(tasks).tasks == tasks
            assert plan.adapt(tasks).adapt(tasks) == plan.adapt(tasks)
        decided = next_plan(drive.spec, scheme, plan, drive.stats)
        assert decided == next_plan(drive.spec, scheme, plan, drive.stats)
        assert decided[0].tasks == plan.tasks
        assert json.dumps(plan.to_json()) == before


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_is_made_by_its_name_and_says_what_it_does(name):
    scheme = scheme_named(name)
    assert scheme.name == name and type(scheme) is SCHEMES[name] and SCHEMES[name].__doc__
    for drive in all_driven(name):
        for plan in dict.fromkeys(drive.plans):
            assert plan.describe() and PLANS[plan.scheme] is type(plan)
            assert min(*plan.copies(), *plan.lookups()) >= 1


def test_the_schemes_that_auto_runs_are_among_them():
    assert {"fastjoin", "hash", "matrix", "ordered", "slices"} <= set(SCHEMES)
    assert len(SCHEMES) >= 18


def test_the_schemes_of_the_laboratory_are_among_them():
    laboratory = {name for name, kind in SCHEMES.items() if kind.__module__.startswith("weft_lab.")}
    assert laboratory >= {"chain", "contrand", "dynamic", "pim", "random", "readj", "safit", "square"}
