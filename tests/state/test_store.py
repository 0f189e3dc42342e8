"""The store over many batches: what is kept, what is collected, what another number of tasks finds."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import weft
from tests.state.batches import ON, WINDOW, expected, feed, joined, rows, store
from weft.errors import SpecError, StateMismatch
from weft.observe import inspect_query, read_batch
from weft.routing import HashPlan, MatrixPlan, RangePlan
from weft.state import Manifest, MemoryStore, Pinned, StateStore, open_folder, read_sealed
from weft.types import SIDES

BATCHES = 20


def test_a_change_to_an_inner_join_is_named(tmp_path: Path) -> None:
    table = pa.table({"k": [1], "t": [1]})
    asked: dict[str, Any] = {"on": "l.k = r.k", "window": weft.within(1, on="t", delay=0), "state": str(tmp_path)}
    list(weft.local.Join(table.schema, table.schema, how="left", **asked).feed(table, table))
    with pytest.raises(StateMismatch, match=r"What changed: how: was 'left', is 'inner'\."):
        weft.local.Join(table.schema, table.schema, **asked)


def test_plans_round_trip(tmp_path: Path) -> None:
    state = StateStore(str(tmp_path), "query", "print")
    plans = [MatrixPlan(6, 2, 3), HashPlan(3, 1, 2), RangePlan(3, (-5, 2**62), (0, 4, 1, 0, 0))]
    for batch, plan in enumerate(plans):
        state.pin(batch, Pinned(plan, history=f"after {batch}"), f"reason {batch}")
    assert [state.read_pinned(batch).plan for batch in range(len(plans))] == plans
    assert read_sealed(state.folder / "plans", "1.json")["reason"] == "reason 1"


def test_manifests_round_trip(tmp_path: Path) -> None:
    state = store(tmp_path)
    feed(joined(state), 3)
    for task in (0, 1):
        found = state.manifest(task, 2)
        assert found is not None
        assert Manifest.of_json(found.to_json()) == found
        assert (found.task, found.batch, found.fingerprint) == (task, 2, state.fingerprint)
        assert found.clock["newest"] == {side: max(rows(side, 2)["ts"].to_pylist()) for side in SIDES}
    assert state.manifest(2, 2) is None
    assert state.manifest(0, 3) is None


def test_late_rows_are_in_the_manifest(tmp_path: Path) -> None:
    state = store(tmp_path)
    join = joined(state)
    feed(join, 3)
    list(join.feed(rows("left", 0), rows("right", 1)))  # batch 3 brings rows from long ago
    mark = min(max(rows(side, 2)["ts"].to_pylist()) for side in SIDES) - 5
    late = {"left": 40, "right": sum(ts < mark for ts in rows("right", 1)["ts"].to_pylist())}
    manifests = [state.manifest(task, 3) for task in (0, 1)]
    assert {side: sum(m.stats["late"][side] for m in manifests if m is not None) for side in SIDES} == late
    metrics = [state.read_metrics(task, 3) for task in (0, 1)]
    assert {side: sum(m["late"][side] for m in metrics if m is not None) for side in SIDES} == late


@pytest.mark.parametrize("scheme", ["matrix", "range", "broadcast", "split"])
@pytest.mark.parametrize("retain", [2, 5, 100])
def test_kept_versions_are_whole_and_nothing_else_is_kept(scheme: str, retain: int, tmp_path: Path) -> None:
    state = store(tmp_path, retain)
    join = joined(state, scheme=scheme, tasks=3)
    assert feed(join, BATCHES) == expected(BATCHES)
    last = BATCHES - 1
    kept = set(range(max(0, last - retain), BATCHES))
    for task in range(3):
        names = (state.folder / str(task)).names()
        assert {int(name[:-5]) for name in names if name[:-5].isdigit()} == kept
        assert {int(name.split(".")[0]) for name in names if name.endswith(".metrics.json")} == kept
        needed = set()
        for batch in kept:
            manifest = state.manifest(task, batch)
            assert manifest is not None
            state.load(manifest, state.read_pinned(batch).plan, join.job.payload)
            needed |= {entry.name for side in SIDES for entry in manifest.segments[side]}
        assert {name for name in names if name.endswith(".arrow")} == needed
    plans = {int(name[:-5]) for name in (state.folder / "plans").names()}
    assert plans == kept | {BATCHES}


@pytest.mark.parametrize("scheme", ["matrix", "range", "split"])
@pytest.mark.parametrize("tasks", [(2, 5), (5, 2), (4, 1), (1, 3)])
def test_another_number_of_tasks(scheme: str, tasks: tuple[int, int], tmp_path: Path) -> None:
    found = feed(joined(store(tmp_path), scheme=scheme, tasks=tasks[0]), 6)
    found += feed(joined(store(tmp_path), 6, scheme=scheme, tasks=tasks[1]), 5)
    assert sorted(found) == expected(11)


def test_a_replayed_batch_with_another_number_of_tasks(tmp_path: Path) -> None:
    """Batch 5 died after all its tasks had saved; it runs again, first with fewer tasks, then with more."""
    found = feed(joined(store(tmp_path), tasks=3), 5)
    once = feed(joined(store(tmp_path), 5, tasks=3), 1)
    for tasks in (2, 4):
        again = feed(joined(store(tmp_path), 5, tasks=tasks), 1)
        assert again == once
    found += again
    found += feed(joined(store(tmp_path), 6, tasks=4), 4)
    assert sorted(found) == expected(10)


def test_folders_of_former_tasks_are_collected_when_no_kept_version_needs_them(tmp_path: Path) -> None:
    retain = 3
    feed(joined(store(tmp_path, retain), tasks=4), 4)
    join = joined(store(tmp_path, retain), 4, tasks=2)
    for batch in range(4, 12):
        feed(join, 1)
        there = {name for name in store(tmp_path).folder.names() if name.isdigit()}
        if batch - 3 <= retain:  # batch 3 is still among the kept versions
            assert there == {"0", "1", "2", "3"}
    assert there == {"0", "1"}


def test_tasks_that_come_back_find_no_stale_state(tmp_path: Path) -> None:
    retain = 3
    found: list[tuple[int, int]] = []
    batch = 0
    for tasks, count in ((4, 4), (2, 2), (4, 3), (1, 2), (3, 12)):
        found += feed(joined(store(tmp_path, retain), batch, tasks=tasks), count)
        batch += count
    assert sorted(found) == expected(batch)
    view = inspect_query(str(tmp_path / "query"))
    assert view.last_good == view.last_batch == batch - 1
    assert not view.damage


def test_scheme_and_index_may_change_on_restart(tmp_path: Path) -> None:
    found: list[tuple[int, int]] = []
    for batch, (scheme, index) in enumerate(
        [("matrix", "runs"), ("range", "runs"), ("split", "scan"), ("broadcast", "runs")]
    ):
        found += feed(joined(store(tmp_path), batch * 4, scheme=scheme, index=index, tasks=3), 4)
    assert sorted(found) == expected(16)


def test_two_queries_over_one_path(tmp_path: Path) -> None:
    """Each has its folder; one may be collected, damaged or deleted without the other noticing."""
    other = "l.x = r.x"
    one, two = joined(store(tmp_path, 2, query="one")), joined(store(tmp_path, 2, other, "two"), on=other)
    found: list[tuple[int, int]] = []
    for _ in range(8):
        found += feed(one, 1)
        feed(two, 1)
    assert sorted(found) == expected(8)
    for file in (tmp_path / "two").rglob("*.arrow"):
        file.unlink()
    assert feed(one, 2) == expected(10, first=8)


@pytest.mark.parametrize("scheme", ["matrix", "range", "split", "broadcast"])
def test_memory_store_answers_alike(scheme: str, tmp_path: Path) -> None:
    fingerprint = joined(None).spec.fingerprint()
    disk, memory = store(tmp_path), MemoryStore(fingerprint)
    joins = [joined(state, scheme=scheme, tasks=3) for state in (disk, memory)]
    for batch in range(10):
        one, two = (feed(join, 1) for join in joins)
        assert one == two
        one_pinned, two_pinned = disk.read_pinned(batch + 1), memory.read_pinned(batch + 1)
        assert (one_pinned.plan, one_pinned.clock) == (two_pinned.plan, two_pinned.clock)
        for task in range(3):
            a, b = disk.manifest(task, batch), memory.manifest(task, batch)
            assert a is not None and b is not None
            assert (a.plan, a.before, a.clock) == (b.to_json()["plan"] | a.plan, b.before, b.clock)
            assert a.stats["held"] == b.stats["held"]
            assert a.stats["arrived"] == b.stats["arrived"]
            metrics = [state.read_metrics(task, batch) for state in (disk, memory)]
            assert metrics[0] is not None and metrics[1] is not None
            assert metrics[0]["pairs"] == metrics[1]["pairs"]
            assert metrics[0]["migrated"] == metrics[1]["migrated"]


def test_memory_store_forgets_old_states() -> None:
    memory = MemoryStore(joined(None).spec.fingerprint())
    feed(joined(memory), 10)
    assert {batch for _, batch in memory.states} == {8, 9}
    assert memory.manifest(0, 3) is None
    assert memory.read_metrics(5, 5) is None


def test_count_windows_and_self_joins_go_on_after_a_restart(tmp_path: Path) -> None:
    from weft.local import Join, self_join

    table = rows("left", 0)
    options = {"on": "a.x < b.x", "window": weft.last(15, order="ts"), "tasks": 3, "select": ["a.id AS i", "b.id AS j"]}
    everything = [rows("left", batch) for batch in range(6)]
    found: list[tuple[int, int]] = []
    for batch, part in enumerate(everything):
        made = Join(table.schema, table.schema, state=str(tmp_path), aliases=("a", "b"), **options)  # type: ignore[arg-type]
        made.run.batch = batch
        found += [(row["i"], row["j"]) for chunk in made.feed(part) for row in chunk.to_pylist()]
    import pyarrow as pa

    whole = self_join(pa.concat_tables(everything), batch=40, **options)  # type: ignore[arg-type]
    assert sorted(found) == sorted((row["i"], row["j"]) for row in whole.to_pylist())


def test_paths(tmp_path: Path) -> None:
    for where in (str(tmp_path), tmp_path.as_uri(), f"file:{tmp_path}", f"{tmp_path.as_uri()}/"):
        assert open_folder(where).path == str(tmp_path)
        assert open_folder(where).local
    with pytest.raises(SpecError, match="nosuch"):
        open_folder("nosuch://x/y")


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SpecError, match="cannot be written"):
        open_folder(str(tmp_path / "file" / "state")).check_writable()
    assert (ON, WINDOW.delays.left) == ("abs(l.x - r.x) <= 3", 5)


def test_strays_are_swept(tmp_path: Path) -> None:
    """Left by killed tasks and by a restart that keeps fewer versions: all gone a few batches later."""
    feed(joined(store(tmp_path, 100)), 15)
    query = tmp_path / "query"
    for name in ("0/.3-0.arrow.99-0a1b2c3d", "1/.4.json.99-0a1b2c3d", "0/2-7.arrow", "plans/.5.json.9-00000000"):
        (query / name).write_bytes(b"half")
    (query / "0" / "README").write_text("not ours")
    found = feed(joined(store(tmp_path, 3), 15), 8)
    assert found == expected(23, first=15)
    left = {path.relative_to(query).as_posix() for path in query.rglob("*") if path.is_file()}
    numbers = {int(name.split("/")[1].split(".")[0]) for name in left if name.endswith(".json") and "/" in name}
    assert min(numbers) >= 20 - 3
    assert not [name for name in left if "/." in name or name == "0/2-7.arrow"]
    assert "0/README" in left
    view = inspect_query(str(query))
    assert view.last_good == 22
    assert not view.damage


def test_a_damaged_old_version_does_not_stop_the_sweep_or_the_join(tmp_path: Path) -> None:
    join = joined(store(tmp_path, 4))
    found = feed(join, 19)
    (tmp_path / "query" / "0" / "17.json").write_bytes(b"torn")
    found += feed(join, 6)
    assert sorted(found) == expected(25)


@pytest.mark.parametrize(("before", "after"), [("runs", "scan"), ("scan", "runs"), ("hash", "runs"), ("runs", "hash")])
def test_another_index_lays_the_state_out_anew(before: str, after: str, tmp_path: Path) -> None:
    on = "l.x = r.x AND l.id <> r.id"
    whole = feed(joined(None, on=on, index=before, scheme="matrix"), 8)
    found = feed(joined(store(tmp_path, on=on), on=on, index=before, scheme="matrix"), 4)
    found += feed(joined(store(tmp_path, on=on), 4, on=on, index=after, scheme="matrix"), 4)
    assert sorted(found) == whole
    metrics = store(tmp_path, on=on).read_metrics(0, 4)
    assert metrics is not None and metrics["migrated"].endswith(f"index {before} -> {after}")


@pytest.mark.parametrize("tasks", [(6, 3), (3, 6), (5, 2)])
def test_a_batch_that_two_attempts_began_is_not_finished(tasks: tuple[int, int], tmp_path: Path) -> None:
    """The first attempt dies in its last task; the second, with another number of tasks, in its first."""
    first, second = tasks
    feed(joined(store(tmp_path), scheme="matrix", tasks=first), 1)
    for number, last in ((first, first - 2), (second, 0)):
        attempt = joined(store(tmp_path), 1, scheme="matrix", tasks=number).feed(rows("left", 1), rows("right", 1))
        next(attempt)
        while number == first and not (store(tmp_path).folder / str(last)).exists("1.json"):
            next(attempt)
        assert isinstance(attempt, Generator)
        attempt.close()
    assert store(tmp_path).next_batch() == 1
    join = joined(store(tmp_path), 1, scheme="matrix", tasks=second)
    assert feed(join, 2) == expected(3, first=1)
    report = read_batch(store(tmp_path).folder, 1)
    assert report is not None and report.tasks == second and report.arrived == {"left": 40, "right": 40}
    assert report.migration is not None and report.migration.reason == f"restarted with {second} tasks"
    assert len(inspect_query(str(store(tmp_path).folder)).tasks) == second


def test_a_path_that_no_file_system_has_is_refused_in_words() -> None:
    with pytest.raises(SpecError) as caught:
        open_folder("out/\0state")
    what, _, hint = str(caught.value).splitlines()
    assert what == r"The state path 'out/\x00state' cannot be opened: it contains a NUL character."
    assert hint == "Hint: write state='file:///var/weft'."
    assert open_folder("~nobody-of-that-name/x").path.endswith("/~nobody-of-that-name/x")
