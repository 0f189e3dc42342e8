"""As-of joins find what a nested loop finds, at once and batch by batch, whatever the tasks, the slices and the plan."""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import share
from tests.property.cases import Drawn
from weft.local import AsofJoin, asof_join
from weft.routing import AsofPlan, AsofScheme
from weft.spec import INNER, KINDS
from weft.spec.asof import DIRECTIONS
from weft.state import MemoryStore, Pinned, StateStore, open_folder
from weft.types import SIDES
from weft_lab.oracle import AsofResult, Batch, Row, asof_joined
from weft_lab.torture.faults import Crash, Fault, Faults, FaultyFolder
from weft_lab.torture.forced import force_plan

SCHEMA = pa.schema({
    "id": pa.int64(), "t": pa.int64(), "f": pa.float64(), "k": pa.int32(), "s": pa.string(), "v": pa.int64(), "w": pa.float64(),
})  # fmt: skip
SELECT = ["l.id AS x", "r.id AS y"]
FLOATS = (0.0, 1.0, 1.5, 2.5, -0.0, 3.0, math.nan, math.inf, -math.inf, None)


@dataclass(frozen=True)
class Further:
    """A further condition: its SQL, and what it means."""

    sql: str
    both: Callable[[Row, Row], bool] | None = None
    left_only: Callable[[Row], bool] | None = None
    right_only: Callable[[Row], bool] | None = None


def _known(test: Callable[..., bool]) -> Callable[..., bool]:
    return lambda *values: None not in values and test(*values)


FURTHER = (
    Further("l.v >= r.v", lambda a, b: _known(lambda x, y: x >= y)(a["v"], b["v"])),
    Further("l.v + r.v > 3", lambda a, b: _known(lambda x, y: x + y > 3)(a["v"], b["v"])),
    Further("abs(l.v - r.v) <= 1", lambda a, b: _known(lambda x, y: abs(x - y) <= 1)(a["v"], b["v"])),
    Further("l.s < r.s", lambda a, b: _known(lambda x, y: x < y)(a["s"], b["s"])),
    Further("r.v > 1", None, None, lambda b: _known(lambda x: x > 1)(b["v"])),
    Further(
        "l.v <> r.v AND l.v > 0", lambda a, b: _known(lambda x, y: x != y)(a["v"], b["v"]),
        lambda a: _known(lambda x: x > 0)(a["v"]),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """An as-of join and its input."""

    options: dict[str, Any]
    further: Further | None = None
    batches: tuple[Batch, ...] = ()
    delays: tuple[int, int] | None = None

    def expected(self) -> AsofResult:
        asked = {
            name: self.options[name]
            for name in ("on", "direction", "tolerance", "strict", "ties")
            if name in self.options
        }
        further = self.further or Further("")
        return asof_joined(
            self.batches, by=self.options.get("by", ()), delays=self.delays, left_only=further.left_only,
            right_only=further.right_only, residual=further.both, kind=INNER if self.options["how"] == "inner" else KINDS["left"],
            **asked,
        )  # fmt: skip

    def join(self, **more: Any) -> AsofJoin:
        left, right = (None, None) if self.delays is None else self.delays
        return AsofJoin(SCHEMA, SCHEMA, select=SELECT, left_delay=left, right_delay=right, **self.options, **more)


def rows() -> st.SearchStrategy[dict[str, Any]]:
    small = st.sampled_from((0, 1, 2, 3, None))
    return st.fixed_dictionaries({
        "t": st.sampled_from((*range(9), None)), "f": st.sampled_from(FLOATS), "k": st.sampled_from((0, 0, 1, None)),
        "s": st.sampled_from(("a", "b", "longer text", None)), "v": small, "w": st.sampled_from(FLOATS),
    })  # fmt: skip


@st.composite
def batches(draw: st.DrawFn, most: int = 4, size: int = 5) -> tuple[Batch, ...]:
    """Draw batches of map partitions; rows are numbered through, and times mostly go on."""
    found, number = [], 0
    for batch in range(draw(st.integers(1, most))):
        sides = []
        for _ in SIDES:
            parts = []
            for _ in range(draw(st.integers(0, 2))):
                part = [dict(row) for row in draw(st.lists(rows(), max_size=size))]
                for row in part:
                    row["id"], number = number, number + 1
                    row["t"] = None if row["t"] is None else row["t"] + 3 * batch
                parts.append(part)
            sides.append(parts)
        found.append(Batch(sides[0], sides[1]))
    return tuple(found)


@st.composite
def options(draw: st.DrawFn, on: str = "t") -> dict[str, Any]:
    return {
        "on": on, "by": draw(st.sampled_from(((), ("k",), ("s",), ("k", "s")))), "direction": draw(st.sampled_from(DIRECTIONS)),
        "tolerance": draw(st.sampled_from((None, 0, 1, 2, 5))), "strict": draw(st.booleans()),
        "how": draw(st.sampled_from(("left", "inner"))), "ties": draw(st.sampled_from((None, None, "v", "w"))),
    }  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, *, on: str = "t", streams: bool = False, most: int = 4, size: int = 5) -> Case:
    asked = draw(options(on))
    further = draw(st.sampled_from((None, None, *FURTHER)))
    delays = (draw(st.integers(0, 4)), draw(st.integers(0, 4))) if streams else None
    if further is not None:
        asked["where"] = further.sql
    return Case(asked, further, draw(batches(most, size)), delays)


def table(part: Iterable[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in part], SCHEMA)


def whole(case: Case) -> tuple[pa.Table, pa.Table]:
    left, right = ([row for b in case.batches for part in getattr(b, side) for row in part] for side in SIDES)
    return table(left), table(right)


def ids(found: Iterable[tuple[Row, Row | None]]) -> Counter[tuple[Any, Any]]:
    return Counter((one["id"], None if two is None else two["id"]) for one, two in found)


def count(tables: Iterable[pa.Table]) -> Counter[tuple[Any, Any]]:
    return Counter(pair for t in tables for pair in zip(t["x"].to_pylist(), t["y"].to_pylist(), strict=True))


def fed(join: AsofJoin, batch: Batch) -> Counter[tuple[Any, Any]]:
    return count(join.feed([table(part) for part in batch.left], [table(part) for part in batch.right]))


@given(cases())
def test_whole_tables(case):
    left, right = whole(case)
    found = asof_join(left, right, select=SELECT, **case.options)
    assert count([found]) == ids(case.expected().left_by())
    order = [pair[0] for pair in case.expected().left_by()]
    assert found["x"].to_pylist() == [row["id"] for row in order], "left rows keep their order"


@given(cases(on="f"))
def test_doubles_as_order(case):
    left, right = whole(case)
    assert count([asof_join(left, right, select=SELECT, **case.options)]) == ids(case.expected().left_by())


@share(0.5)
@given(cases(on="f"), st.integers(1, 3))
def test_doubles_in_batches_without_a_clock(case, tasks):
    join = case.join(tasks=tasks, scheme=AsofScheme(enough=0, hot=0.1, rounds=1))
    found = sum((fed(join, batch) for batch in case.batches), Counter())
    assert found + count(join.finish()) == ids(case.expected().left_by())


def check(case: Case, join: AsofJoin, between: Callable[[int], None] = lambda _: None) -> None:
    """Compare what has left after every batch, and what is left at the end."""
    expected, found = case.expected(), Counter[tuple[Any, Any]]()
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


def plans(join: AsofJoin, draw: st.DataObject) -> AsofPlan:
    """Draw any plan: keys cut or not, slices of any length."""
    first = join.scheme.initial(join.spec, join.job.tasks)
    assert isinstance(first, AsofPlan) and join.spec.asof is not None
    if join.spec.asof.chooses and join.spec.asof.tolerance is None:  # such a plan cannot cut
        return first
    length = draw.draw(st.sampled_from((0, 1, 2, 3, 7)), "length")
    keys: list[int] = []
    if length and first.left:
        keys = draw.draw(st.lists(st.sampled_from(_keys(join)), max_size=3, unique=True), "hot")
    return replace(first, length=length if not first.left or keys else 0, hot=tuple(sorted(keys)))


def _keys(join: AsofJoin) -> list[int]:
    """Return the routing keys of rows of every group."""
    every = table([
        {"id": 0, "t": 0, "k": k, "s": s, "v": 2} for k in (0, 1) for s in ("a", "b", "longer text")
    ])  # fmt: skip
    made, _ = join.sources["right"].prepare(every)
    router = join.run.joiner.router(
        "right", join.sources["right"].inputs, Pinned(join.scheme.initial(join.spec, 1)), 0, 0
    )
    block, _ = router._block(made)
    plan = join.scheme.initial(join.spec, 1)
    assert isinstance(plan, AsofPlan)
    return sorted({int(word) for word in plan.key("right", block.words)}) or [0]


@given(cases(streams=True, most=6, size=6), st.integers(2, 4), st.data())
def test_plans_are_forced(case, tasks, data):
    join = case.join(tasks=tasks)

    def change(number: int) -> None:
        if data.draw(st.booleans(), "change"):
            force_plan(join.store, number, plans(join, data))

    check(case, join, change)


@share(0.3)
@given(cases(streams=True, most=5), st.data())
def test_restarts_with_another_number_of_tasks(case, data):
    """A new process for every batch, on the state in a folder; some batches are joined twice."""
    expected, found = case.expected(), Counter[tuple[Any, Any]]()
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


def digests(folder: str, batch: int) -> dict[str, str]:
    """Return a digest of what a batch has written; metrics hold wall-clock times."""
    files = [file for name in (f"q/[0-9]*/{batch}.json", f"q/[0-9]*/{batch}-*.arrow", f"q/plans/{batch + 1}.json")
             for file in Path(folder).glob(name)]  # fmt: skip
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@share(0.3)
@given(cases(streams=True), st.data())
def test_crashes_and_replays(case, data):
    """A batch dies in the middle, is begun anew, and comes to the same bytes when it is joined once more."""
    draw, faults, found = Drawn(data.draw), Faults(), Counter[tuple[Any, Any]]()
    expected, fingerprint = case.expected(), case.join().spec.fingerprint()
    with TemporaryDirectory() as folder:
        place = open_folder(folder)
        tasks = draw.integer(1, 3)

        def start(number: int) -> AsofJoin:
            store = StateStore(FaultyFolder(place.system, place.path, faults), "q", fingerprint, retain=2)
            join = case.join(state=store, tasks=tasks, scheme=AsofScheme(enough=0, hot=0.1, rounds=1))
            join.run.batch = number
            return join

        for number, batch in enumerate(case.batches):
            for _ in range(draw.integer(0, 2)):
                kinds: tuple[Fault, ...] = ("crash", "aside", "torn", "after")
                faults.arm(draw.pick(kinds), draw.integer(0, 40))
                with contextlib.suppress(Crash):
                    fed(start(number), batch)
                faults.disarm()
            left = fed(start(number), batch)
            before = digests(folder, number)
            assert fed(start(number), batch) == left
            assert digests(folder, number) == before
            found += left
            assert found == ids(expected.left_by(number)), f"after batch {number}"
