"""As-of joins find what a nested loop finds, at once and batch by batch, whatever the tasks, the slices and the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import share
from tests.property.cases import Drawn
from weft.local import AsofJoin, asof_join
from weft.routing import AsofScheme
from weft.state import MemoryStore, StateStore
from weft.types import SIDES
from weft_lab.oracle import Batch
from weft_lab.torture.asof_cases import SELECT, AsofCase, an_asof_case, an_asof_plan, ids, table
from weft_lab.torture.cases import Ids, count
from weft_lab.torture.forced import force_plan
from weft_lab.torture.lives import Troubles, live


@st.composite
def cases(draw: st.DrawFn, *, on: str = "t", streams: bool = False, most: int = 4, size: int = 5) -> AsofCase:
    """Draw an as-of join and its input."""
    return an_asof_case(Drawn(draw), on=on, streams=streams, most=most, size=size)


def whole(case: AsofCase) -> tuple[pa.Table, pa.Table]:
    left, right = ([row for b in case.batches for part in getattr(b, side) for row in part] for side in SIDES)
    return table(left), table(right)


def fed(join: AsofJoin, batch: Batch) -> Counter[Ids]:
    return count(join.feed([table(part) for part in batch.left], [table(part) for part in batch.right]))


@given(cases())
def test_whole_tables(case):
    left, right = whole(case)
    found = asof_join(left, right, select=SELECT, **case.asked)
    assert count([found]) == ids(case.expected().left_by())
    order = [pair[0] for pair in case.expected().left_by()]
    assert found["x"].to_pylist() == [row["id"] for row in order], "left rows keep their order"


@given(cases(on="f"))
def test_doubles_as_order(case):
    left, right = whole(case)
    assert count([asof_join(left, right, select=SELECT, **case.asked)]) == ids(case.expected().left_by())


@share(0.5)
@given(cases(on="f"), st.integers(1, 3))
def test_doubles_in_batches_without_a_clock(case, tasks):
    join = case.join(tasks=tasks, scheme=AsofScheme(enough=0, hot=0.1, rounds=1))
    found = sum((fed(join, batch) for batch in case.batches), Counter())
    assert found + count(join.finish()) == ids(case.expected().left_by())


def check(case: AsofCase, join: AsofJoin, between: Callable[[int], None] = lambda _: None) -> None:
    """Compare what has left after every batch, and what is left at the end."""
    expected, found = case.expected(), Counter[Ids]()
    for number, batch in enumerate(case.batches):
        if number:
            between(number)
        found += fed(join, batch)
        assert found == ids(expected.left_by(number)), f"after batch {number}"
    found += count(join.finish())
    assert found == ids(expected.left_by())
    assert isinstance(join.store, MemoryStore)
    late = {side: sum(metrics["late"][side] for metrics in join.store.metrics.values()) for side in SIDES}
    assert late == expected.late


@given(cases(streams=True), st.integers(1, 4))
def test_streams(case, tasks):
    check(case, case.join(tasks=tasks))


@share(0.5)
@given(cases(streams=True, most=7, size=8), st.integers(1, 4))
def test_keys_are_cut_while_it_runs(case, tasks):
    check(case, case.join(tasks=tasks, scheme=AsofScheme(enough=0, hot=0.1, rounds=1)))


@share(0.5)
@given(cases(streams=True), st.integers(1, 3), st.sampled_from(SIDES))
def test_one_side_is_silent(case, tasks, side):
    case = replace(case, batches=tuple(replace(batch, **{side: ()}) for batch in case.batches))
    check(case, case.join(tasks=tasks))


@share(0.3)
@given(cases(streams=True), st.integers(1, 3))
def test_every_row_of_later_batches_is_late(case, tasks):
    ahead = {"id": -1, "t": 1000, "f": 0.0, "k": 0, "s": "a", "v": 2, "w": 0.0}
    case = replace(case, batches=(Batch([[ahead]], [[{**ahead, "id": -2}]]), *case.batches))
    check(case, case.join(tasks=tasks))


@given(cases(streams=True, most=6, size=6), st.integers(2, 4), st.data())
def test_plans_are_forced(case, tasks, data):
    join = case.join(tasks=tasks)

    def change(number: int) -> None:
        if data.draw(st.booleans(), "change"):
            force_plan(join.store, number, an_asof_plan(Drawn(data.draw), join))

    check(case, join, change)


@share(0.3)
@given(cases(streams=True, most=5), st.data())
def test_restarts_with_another_number_of_tasks(case, data):
    """A new process for every batch, on the state in a folder; some batches are joined twice."""
    expected, found = case.expected(), Counter[Ids]()
    with TemporaryDirectory() as folder:
        join = case.join()
        fingerprint = join.spec.fingerprint()
        for number, batch in enumerate(case.batches):
            scheme = AsofScheme(enough=0, hot=0.1, rounds=1)
            tasks = data.draw(st.integers(1, 3), "tasks")
            again = data.draw(st.booleans(), "again")
            for _ in range(1 + again):
                join = case.join(state=StateStore(folder, "q", fingerprint), tasks=tasks, scheme=scheme)
                join.run.batch = number
                left = fed(join, batch)
            found += left
            assert found == ids(expected.left_by(number)), f"after batch {number}"
        found += count(join.finish())
        assert list(Path(folder).iterdir())
    assert found == ids(expected.left_by())


@share(0.3)
@given(cases(streams=True), st.data(), st.booleans(), st.booleans())
def test_crashes_and_replays(case, data, rescale, change):
    """Batches die at any file operation, begin anew, and come to the same bytes when they are joined once more."""
    live(case, Drawn(data.draw), Troubles(crash=True, rescale=rescale, change=change))
