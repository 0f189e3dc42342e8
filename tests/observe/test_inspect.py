"""A query's state as people see it; whatever is damaged is named, and nothing is raised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observe.folder import QUERY, write_state
from weft.errors import StateError
from weft.observe import disk_use, find_query, inspect_query, list_queries, read_batch
from weft.state import open_folder


@pytest.fixture
def query(tmp_path) -> Path:
    return write_state(tmp_path)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    aside = file.with_name(".aside")
    aside.write_bytes(content)
    aside.rename(file)


def newest_segment(query: Path, batch: int) -> Path:
    return next(file for file in sorted(query.glob(f"*/{batch}-*.arrow")))


def test_a_healthy_query(query) -> None:
    view = inspect_query(str(query))
    assert (view.query, view.batch, view.last_batch, view.last_good) == (QUERY, 3, 3, 3)
    assert not view.damage and not view.foreign and not view.unfinished
    assert "x <= " in view.condition and "20 seconds" in view.window
    assert view.plan["scheme"] == "matrix" and "first plan" in view.reason
    assert [task.task for task in view.tasks] == [0, 1]
    assert all(task.versions == (0, 1, 2, 3) and task.bytes > 0 for task in view.tasks)
    assert view.clock is not None and view.clock.count == {"left": 40, "right": 40}
    assert view.clock.newest["left"] == "1970-01-01 00:00:39.000"
    assert view.clock.watermark == "1970-01-01 00:00:34.000"
    assert json.loads(json.dumps(view.to_dict()))["last_good"] == 3


def test_an_older_batch(query) -> None:
    view = inspect_query(str(query), 1)
    assert (view.batch, view.last_good) == (1, 3)
    assert view.clock is not None and view.clock.count == {"left": 20, "right": 20}
    with pytest.raises(StateError, match=r"Batch 9 is not kept.*\n.*0 to 3"):
        inspect_query(str(query), 9)


def test_late_rows_are_counted_per_side(tmp_path) -> None:
    view = inspect_query(str(write_state(tmp_path, late=3)))
    assert view.late_kept == {"left": 6, "right": 0}
    assert sum(task.late["left"] for task in view.tasks) == 3


def harm_missing_manifest(query: Path) -> Path:
    file = query / "1" / "3.json"
    file.unlink()
    return file


def harm_torn_manifest(query: Path) -> Path:
    file = query / "0" / "3.json"
    file.write_bytes(file.read_bytes()[:40])
    return file


def harm_empty_manifest(query: Path) -> Path:
    file = query / "0" / "3.json"
    file.write_bytes(b"")
    return file


def harm_foreign_manifest(query: Path) -> Path:
    file = query / "1" / "3.json"
    file.write_bytes((query / "0" / "3.json").read_bytes())
    return file


def harm_missing_plan(query: Path) -> Path:
    file = query / "plans" / "4.json"
    file.unlink()
    return file


def harm_flipped_segment(query: Path) -> Path:
    file = newest_segment(query, 3)
    flip(file)
    return file


def harm_short_segment(query: Path) -> Path:
    file = newest_segment(query, 3)
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[:-8])
    return file


def harm_missing_segment(query: Path) -> Path:
    file = newest_segment(query, 3)
    file.unlink()
    return file


def harm_folder_for_segment(query: Path) -> Path:
    file = newest_segment(query, 3)
    file.unlink()
    file.mkdir()
    return file


HARMS = {name.removeprefix("harm_"): harm for name, harm in globals().items() if name.startswith("harm_")}


@pytest.mark.parametrize("name", HARMS)
def test_damage_is_named_and_the_last_good_batch_found(query, name) -> None:
    file = HARMS[name](query)
    view = inspect_query(str(query))
    assert (view.last_batch, view.last_good) == (3, 2), view.damage
    assert [damage.file for damage in view.damage] == [str(file)]
    assert view.damage[0].batch == 3 and view.damage[0].why
    assert view.batch == 2


def test_without_verify_only_sizes_are_compared(query) -> None:
    flip(newest_segment(query, 3))
    assert inspect_query(str(query), verify=False).last_good == 3
    assert inspect_query(str(query), verify=True).last_good == 2


def test_a_lost_spec_and_foreign_files_are_reported(query) -> None:
    (query / "spec.json").write_text("{}", encoding="utf-8")
    (query / "notes.txt").touch()
    (query / "0" / ".3.json.77-abc").touch()
    view = inspect_query(str(query))
    assert view.last_good == 3 and view.condition == ""
    assert [damage.file for damage in view.damage] == [str(query / "spec.json")]
    assert set(view.foreign) == {"notes.txt", "0/.3.json.77-abc"}


def test_a_batch_that_is_running_is_no_damage(query) -> None:
    (query / "1" / "3.json").unlink()
    (query / "1" / "3.metrics.json").unlink()
    (query / "0" / "3.metrics.json").unlink()
    view = inspect_query(str(query))
    assert not view.damage and view.last_good == 2
    assert view.unfinished == "batch 3: task 1 has not finished it"


def test_nothing_readable_at_all(query) -> None:
    for file in query.glob("*/*.json"):
        file.write_text("nonsense", encoding="utf-8")
    view = inspect_query(str(query))
    assert view.last_good is None and view.damage and not view.tasks


def test_queries_are_listed_and_found(tmp_path) -> None:
    write_state(tmp_path)
    write_state(tmp_path, 2, query="9f-other", tasks=1)
    (tmp_path / "unrelated").mkdir()
    lines = {line.query: line for line in list_queries(str(tmp_path))}
    assert sorted(lines) == [QUERY, "9f-other"]
    assert (lines[QUERY].batch, lines[QUERY].tasks, lines["9f-other"].batch) == (3, 2, 1)
    assert lines[QUERY].rows > 0 and lines[QUERY].bytes > 0 and "x <= " in lines[QUERY].condition
    assert find_query(f"{tmp_path}/0c5a").path.endswith(QUERY)
    with pytest.raises(StateError, match="2 queries under"):
        find_query(str(tmp_path))
    with pytest.raises(StateError, match="No state of a query"):
        find_query(f"{tmp_path}/nothing")
    with pytest.raises(StateError, match="There is no"):
        list_queries(f"{tmp_path}/nowhere")


def test_a_list_survives_damage(query, tmp_path) -> None:
    (query / "spec.json").unlink()
    (query / "0" / "3.json").write_text("", encoding="utf-8")
    (line,) = list_queries(str(tmp_path))
    assert line.batch == 2 and "spec.json" in line.trouble


def test_metrics_of_a_batch(query) -> None:
    folder = open_folder(str(query))
    metrics = read_batch(folder, 2)
    assert metrics is not None
    assert (metrics.tasks, metrics.arrived) == (2, {"left": 10, "right": 10})
    assert metrics.pairs > 0 and 1.0 <= metrics.imbalance <= 2.0
    assert read_batch(folder, 99) is None
    (query / "0" / "2.metrics.json").write_text("torn", encoding="utf-8")
    left = read_batch(folder, 2)
    assert left is not None and left.tasks == 1
    assert disk_use(folder)[1] > 0


def test_plain_files_beside_queries_are_passed_over(tmp_path) -> None:
    (tmp_path / "job.toml").write_text("")
    (tmp_path / "sink").mkdir()
    (tmp_path / "sink" / "0").write_text("")  # where a query has the folder of task 0
    assert list_queries(str(tmp_path)) == []
    with pytest.raises(StateError, match="No state of a query"):
        find_query(str(tmp_path / "nowhere"))
