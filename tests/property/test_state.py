"""State on disk: crashes at any write or any pair, replays, other numbers of tasks, other plans. The pairs stay exact."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import share
from tests.plans import force_plan
from tests.property.cases import (
    Case,
    cases,
    count,
    counts,
    expected_count,
    fed,
    legal_indexes,
    legal_schemes,
    legal_tasks,
    make,
    spec_of,
    times,
)  # fmt: skip
from weft.local import Join
from weft.routing import MatrixPlan, Plan, RangePlan, scheme_named
from weft.spec import JoinSpec
from weft.state import Folder, StateStore, open_folder
from weft.types import SIDES


class Crash(Exception):
    """The machine went away."""


@dataclass
class Fuse:
    """How many more writes succeed."""

    left: int | None = None


@dataclass(frozen=True)
class Failing(Folder):
    """A folder whose writes stop working when the fuse has burnt down."""

    fuse: Fuse = field(default_factory=Fuse)

    def __truediv__(self, name: str) -> Failing:
        return Failing(self.system, f"{self.path}/{name}", self.fuse)

    def write(self, name: str, data: pa.Buffer | bytes) -> None:
        if self.fuse.left is not None:
            if self.fuse.left == 0:
                raise Crash
            self.fuse.left -= 1
        super().write(name, data)


class Bench:
    """Runs a case over one state folder; every `start` is a new process as far as Weft can tell."""

    def __init__(self, case: Case, folder: str, index: str) -> None:
        self.case, self.index, self.spec = case, index, spec_of(case)
        self.folder = open_folder(folder)
        self.fuse = Fuse()
        self.lates: dict[tuple[int, int], dict[str, int]] = {}

    def start(self, batch: int, scheme: object, tasks: int) -> Join:
        place = Failing(self.folder.system, self.folder.path, self.fuse)
        store = StateStore(place, "q", make(self.case).spec.fingerprint(), retain=2)
        join = make(self.case, scheme=scheme, index=self.index, tasks=tasks, state=store)
        join.run.batch = batch
        return join

    def late(self, tasks: dict[int, int]) -> dict[str, int]:
        """Add up what the manifests of all batches say."""
        total: dict[str, int] = dict.fromkeys(SIDES, 0)
        for batch, number in tasks.items():
            for task in range(number):
                stats = self.lates[batch, task]
                for side in SIDES:
                    total[side] += stats[side]
        return total

    def note(self, join: Join, batch: int, tasks: int) -> None:
        """Read the late rows of a finished batch, before it is collected."""
        for task in range(tasks):
            manifest = join.store.manifest(task, batch)
            assert manifest is not None
            self.lates[batch, task] = manifest.stats["late"]


def plans(spec: JoinSpec, tasks: int) -> st.SearchStrategy[Plan]:
    """Draw a plan that serves a join, whether or not a scheme would have chosen it now."""
    kinds = [
        st.just(scheme_named("broadcast").initial(spec, tasks)),
        st.just(scheme_named("split").initial(spec, tasks)),
    ]
    shapes = [(rows, columns) for rows in range(1, tasks + 1) for columns in range(1, tasks // rows + 1)]
    kinds.append(st.sampled_from(shapes).map(lambda shape: MatrixPlan(tasks, *shape)))
    if spec.access.equal is not None:
        kinds.append(st.just(scheme_named("hash").initial(spec, tasks)))
    if spec.access.within is not None:
        words = st.one_of(st.integers(-2, 8), st.integers(-(2**63), 2**63 - 1))
        bounds = st.lists(words, max_size=tasks - 1, unique=True).map(lambda cuts: tuple(sorted(cuts)))
        kinds.append(bounds.map(lambda cuts: RangePlan.over(spec.access, tasks, cuts)))
    return st.one_of(kinds)


def digests(folder: Folder, batch: int) -> dict[str, str]:
    """Return a digest of every file that a batch wrote; metrics hold wall-clock times."""
    root = Path(folder.path)
    files = [
        *root.glob(f"q/[0-9]*/{batch}.json"),
        *root.glob(f"q/[0-9]*/{batch}-*.arrow"),
        *root.glob(f"q/plans/{batch + 1}.json"),
    ]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def check(case: Case, data: st.DataObject, *, crash: bool = False, rescale: bool = False, change: bool = False) -> None:
    with TemporaryDirectory() as folder:
        bench = Bench(case, folder, data.draw(st.sampled_from(legal_indexes(spec_of(case))), "index"))
        scheme = data.draw(st.sampled_from(legal_schemes(bench.spec)), "scheme")
        tasks = data.draw(legal_tasks(scheme), "tasks")
        join = bench.start(0, scheme, tasks)
        found: Counter[tuple[int, int]] = Counter()
        numbers = {}
        for number, batch in enumerate(case.batches):
            if rescale and data.draw(st.booleans(), "rescale"):
                tasks = data.draw(legal_tasks(scheme), "tasks")
                join = bench.start(number, scheme, tasks)
            if change and number and data.draw(st.booleans(), "change plan"):
                force_plan(join.store, number, data.draw(plans(bench.spec, tasks), "plan"))
            if crash:
                for _ in range(data.draw(st.integers(0, 2), "crashes")):
                    if data.draw(st.booleans(), "at a write"):
                        bench.fuse.left = data.draw(st.integers(0, 12), "writes")
                        try:
                            count(fed(join, batch))
                        except Crash:
                            pass
                        bench.fuse.left = None
                    else:
                        count(islice(fed(join, batch), data.draw(st.integers(0, 6), "chunks")))
                    if rescale and data.draw(st.booleans(), "rescale after the crash"):
                        tasks = data.draw(legal_tasks(scheme), "tasks")
                    join = bench.start(number, scheme, tasks)
            found += count(fed(join, batch))
            numbers[number] = tasks
            bench.note(join, number, tasks)
            if crash and data.draw(st.booleans(), "replay"):  # the sink had it, Spark's commit was lost
                before = digests(bench.folder, number)
                join = bench.start(number, scheme, tasks)
                count(fed(join, batch))
                assert digests(bench.folder, number) == before
        expected = case.expected()
        assert found == expected_count(expected)
        assert bench.late(numbers) == expected.late


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
