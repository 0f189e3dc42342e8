"""How many requests a batch costs on an object store: counted before the server, as a driver and its executors make them."""

from __future__ import annotations

import tempfile
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.s3 import Served
from tests.state.batches import expected, feed, joined, store
from weft.local import Join
from weft.observe import inspect_query
from weft.state import Folder, Holder, StateStore, contents, open_folder

TASKS = 4


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test a machine of its own."""
    here = tmp_path / "machine"
    here.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    return here


@pytest.fixture(params=["inlined", "packs"])
def folder(request: pytest.FixtureRequest, s3: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    if request.param == "packs":
        monkeypatch.setattr(contents, "INLINE", 0)
    return open_folder(s3.uri(tmp_path.name))


class Query:
    """A query as Spark runs it: one run, whose batches are attempts of their own."""

    def __init__(self, folder: Folder, batch: int = 0, retain: int = 10, **more: Any) -> None:
        self.run, self.state = str(uuid.uuid4()), store(folder, retain)
        self.join: Join = joined(self.state, batch, **{"tasks": TASKS, **more})

    def batches(self, count: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for _ in range(count):
            self.state.claim(Holder(self.run, "join", f"{self.run} {self.join.run.batch}"), lead=True)
            found += feed(self.join, 1)
        return sorted(found)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("batches", [10, pytest.param(200, marks=pytest.mark.long)])
def test_a_batch_costs_four_requests_a_task_and_ten_more(folder: Folder, s3: Served, batches: int) -> None:
    query = Query(folder)
    found = query.batches(5)
    s3.proxy.forget()
    for count in (5, batches):  # however many versions there are, and with all that is collected
        found += query.batches(count)
        kinds, per_batch = s3.proxy.kinds(), s3.proxy.kinds().total() / count
        assert per_batch <= 4 * TASKS + 10, kinds
        assert kinds["PUT"] / count <= (2 if contents.INLINE else 3) * TASKS + 1.5, kinds
        s3.proxy.forget()
    last = 9 + batches
    assert sorted(found) == expected(last + 1)
    state = folder / "query"
    files = [key for key in s3.files() if key.startswith(f"{folder.path.partition('/')[2]}/")]
    assert len(files) < 160 * 3 * TASKS + 160  # the last hundred batches, and those since the last collection
    view = inspect_query(state)
    assert view.last_good == last and not view.damage and not view.foreign
    assert min(view.tasks[0].versions) == last - 10


def test_a_task_that_comes_to_another_machine_reads_what_it_needs(
    folder: Folder, s3: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, found = Query(folder), list[tuple[int, int]]()
    seen: Counter[str] = Counter()
    for number in range(8):
        machine = tmp_path / f"machine-{number}"
        machine.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(machine))
        s3.proxy.forget()
        found += query.batches(1)
        seen = s3.proxy.kinds()
    assert sorted(found) == expected(8)
    # Of each task its manifest and its packs, of which there are few, and each after its size was asked.
    assert seen["GET"] <= TASKS * (2 if contents.INLINE else 10) + 3 and seen["LIST"] <= TASKS + 1


def test_no_copies_where_none_are_wanted(s3: Served, tmp_path: Path, cache: Path) -> None:
    from weft.state import Care

    query = Query(open_folder(s3.uri(tmp_path.name), Care(cache=0)))
    assert query.batches(4) == expected(4)
    assert not list(cache.iterdir())


def test_copies_take_no_more_than_they_may(s3: Served, tmp_path: Path, cache: Path, monkeypatch) -> None:
    from weft.state import Care

    monkeypatch.setattr(contents, "INLINE", 0)
    query = Query(open_folder(s3.uri(tmp_path.name), Care(cache=20_000)))
    assert query.batches(8) == expected(8)
    assert sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()) <= 20_000


def test_runs_restarts_and_replays(folder: Folder) -> None:
    first = Query(folder)
    found = first.batches(6)
    again = Query(folder, 5)
    assert again.batches(1) == expected(6, first=5)
    found += again.batches(4)
    found += Query(folder, 10, tasks=2).batches(3)
    found += Query(folder, 13, tasks=5, scheme="range").batches(4)
    assert sorted(found) == expected(17)
    with pytest.raises(Exception, match="Another run of this query has taken over"):
        first.batches(1)


def test_a_replay_writes_the_same_bytes(folder: Folder, s3: Served) -> None:
    def content() -> dict[str, bytes]:
        root = s3.root / "bucket"
        here = f"{folder.path.partition('/')[2]}/"
        return {key: (root / key).read_bytes() for key in s3.files() if key.startswith(here) and "/told/" not in key}

    feed(joined(store(folder)), 6)
    before = content()
    feed(joined(store(folder), 5), 1)
    assert content() == before and len(before) > 12


def test_reports_are_read_whatever_attempt_wrote_them(folder: Folder) -> None:
    query = Query(folder)
    query.batches(3)
    Query(folder, 2).batches(1)
    reports = [query.state.read_metrics(task, 2) for task in range(TASKS)]
    assert sum(one["pairs"] for one in reports if one is not None) == len(expected(3, first=2))
    assert query.state.read_metrics(TASKS, 2) is None


@pytest.mark.parametrize("late", [0, 1])
def test_tasks_that_were_sent_different_rows_part(folder: Folder, late: int) -> None:
    state, run = StateStore(folder, "q", "f"), str(uuid.uuid4())
    state.claim(Holder(run, "a", f"{run} 1"), lead=True)
    state.finish(1 - late, 5, {}, 3, "one")
    state.finish(2, 5, {}, 3, "one")
    with pytest.raises(Exception, match=r"Tasks \d and \d of batch 5 received different rows"):
        state.finish(late, 5, {}, 3, "two")
    state.claim(Holder(run, "a", f"{run} 2"), lead=True)
    for task in range(3):
        state.finish(task, 5, {}, 3, "three")


def test_a_store_that_fails_again_and_again_changes_no_pair(folder: Folder, s3: Served) -> None:
    kinds = ("503", "", "cut", "", "refuse", "", "500", "", "")
    s3.proxy.fault = lambda method, path, number: kinds[number % len(kinds)]
    query = Query(folder)
    found = query.batches(5)
    assert found == expected(5)
    s3.proxy.fault = None
    assert inspect_query(folder / "query").last_good == 4
