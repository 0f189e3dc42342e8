"""What the pages say of a query, from its state path alone: read once, in bounded memory, whatever happens to the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.states import HOSTILE, Ticks, areas
from weft.state import Journal, JournalBatch, open_folder, write_journal
from weft.ui import QueryModel, Watcher
from weft.ui.batches import MEASURES
from weft.ui.history import History


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of two joins that nobody feeds any longer."""
    home = tmp_path_factory.mktemp("states")
    Ticks(home).feed(12)
    areas(home / "more")
    return home


def model_of(path: Path) -> QueryModel:
    made = QueryModel(open_folder(str(path)), "0-key", str(path.parent))
    made.look()
    return made


@pytest.fixture(scope="module")
def ticks(state: Path) -> QueryModel:
    return model_of(state / "ticks")


def test_a_line_says_what_runs_and_how(ticks: QueryModel) -> None:
    newest = ticks.history.newest
    assert newest is not None
    line = ticks.line(newest.at + 1)
    assert (line["query"], line["batch"], line["tasks"], line["scheme"]) == ("ticks", 11, 4, "fastjoin")
    assert line["condition"] == "l.sym = r.sym AND l.px > r.px"
    assert line["late"] == [1, 1]
    assert line["rows_per_s"] > 0 and line["pairs_per_s"] > 0 and line["held"][0] > 0
    assert (line["status"], ticks.line(newest.at + 1000)["status"]) == ("running", "silent")


def test_loads_add_up(ticks: QueryModel) -> None:
    body = ticks.body(0.0)
    assert [one["batch"] for one in body["batches"]] == list(range(12))
    for batch, tasks in zip(body["batches"], body["tasks"], strict=True):
        assert sum(tasks["kept"]) == sum(batch["held"])
        assert sum(tasks["pairs"]) == batch["pairs"]
        assert all(len(tasks[name]) == 4 for name in MEASURES)
    json.dumps(body, allow_nan=False)
    assert [one["batch"] for one in ticks.body(0.0, since=9)["batches"]] == [10, 11]


def test_hot_keys_have_their_values_and_their_homes(ticks: QueryModel) -> None:
    hottest = ticks.keys()[0]
    assert (hottest["label"], hottest["column"]) == (HOSTILE, "sym")
    assert hottest["kept_share"] > 0.3 and hottest["asked_share"] > 0.5
    assert len(hottest["tasks"]) > 1 and hottest["split"]


def test_plans_say_why_and_what_moved(ticks: QueryModel) -> None:
    plans = ticks.plans()
    assert plans[0]["reason"] == "first plan"
    moved = [one for one in plans if one["rows"]]
    assert moved and all(one["seconds"] is not None for one in moved)
    assert any(repr(HOSTILE) in one["reason"] for one in moved), "the reason names the key by its value"


def test_a_plan_is_a_picture_with_the_moved_and_the_split_keys(ticks: QueryModel) -> None:
    picture = ticks.plan()
    assert picture is not None and picture["kind"] == "table"
    (group,) = picture["groups"]
    assert [one["label"] for one in group["split"]] == [HOSTILE]
    assert sum(count for _, _, count in group["flows"]) == group["moved"]
    first = ticks.plan(0)
    assert first is not None and first["groups"][0]["moved"] == 0


def test_areas_are_drawn_to_scale_and_cover_each_other_nowhere(state: Path) -> None:
    model = model_of(state / "more" / "local")
    picture = model.plan()
    assert picture is not None and picture["kind"] == "areas" and picture["axes"] == ["left v", "right v"]
    boxes = [cell["box"] for area in picture["areas"] for cell in area["cells"]]
    assert len(boxes) > 1
    for number, (y, x, high, wide) in enumerate(boxes):
        assert 0 <= y < y + high <= 1.0001 and 0 <= x < x + wide <= 1.0001
        for b, a, tall, broad in boxes[:number]:
            apart = y + high <= b + 1e-4 or b + tall <= y + 1e-4 or x + wide <= a + 1e-4 or a + broad <= x + 1e-4
            assert apart


def test_the_window_is_drawn(ticks: QueryModel) -> None:
    join = ticks.body(0.0)["join"]
    assert (join["drawn"]["kind"], join["drawn"]["before"], join["drawn"]["delay"]) == ("within", 20_000_000, 2_000_000)
    assert join["timed"]


# What is new


def noting(read: list[int], whole: Callable[..., None]) -> Callable[..., None]:
    def reading(number: int, *, newest: bool) -> None:
        read.append(number)
        whole(number, newest=newest)

    return reading


def test_a_look_reads_only_what_came_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    join = Ticks(tmp_path)
    join.feed(6)
    history = History(open_folder(str(tmp_path / "ticks")))
    assert history.look()
    read: list[int] = []
    whole = history._read
    monkeypatch.setattr(history, "_read", noting(read, whole))
    assert not history.look() and not read
    join.feed(1)
    assert history.look() and read == [6]


def test_what_is_collected_stays_known(tmp_path: Path) -> None:
    join = Ticks(tmp_path, retain=2)
    join.feed(3)
    model = model_of(tmp_path / "ticks")
    for _ in range(4):
        join.feed(1)
        model.look()
    assert not (tmp_path / "ticks" / "0" / "1.json").exists()
    assert sorted(model.history.batches) == list(range(7))
    assert [one["batch"] for one in model.body(0.0)["tasks"]] == list(range(7))
    assert not model.history.trouble


def test_batches_that_were_rolled_back_go(tmp_path: Path) -> None:
    Ticks(tmp_path).feed(5)
    model = model_of(tmp_path / "ticks")
    for task in range(4):
        (tmp_path / "ticks" / str(task) / "4.json").unlink()
    model.history._looked = -1e9
    assert model.look()
    assert max(model.history.batches) == 3


@pytest.mark.parametrize("file", ["plans/2.json", "0/2.metrics.json", "spec.json", "journal.json"])
def test_damage_is_told_and_the_rest_is_shown(tmp_path: Path, file: str) -> None:
    Ticks(tmp_path).feed(4)
    (tmp_path / "ticks" / file).write_bytes(b'{"format":2,"checksum":"no","body":{}}')
    model = model_of(tmp_path / "ticks")
    line, body = model.line(0.0), model.body(0.0)
    assert body["batches"] and line["batch"] == 3
    assert any(file in one for one in line["trouble"]) or file in ("0/2.metrics.json", "journal.json")


def test_the_journal_tells_of_what_is_not_kept_any_longer(tmp_path: Path) -> None:
    Ticks(tmp_path, retain=2).feed(12)
    where = open_folder(str(tmp_path / "ticks"))
    model = model_of(tmp_path / "ticks")
    assert min(model.history.batches) > 7, "the plan of batch 7 is not kept any longer"
    journal = Journal(name="ticks", trigger=1000, explain=(("join", "l.sym = r.sym"), ("state", "bounded")))
    for number in range(12):
        event = (7, "fastjoin x 4 -> fastjoin x 4", "because", 70, 0.2) if number == 7 else None
        journal = journal.having(JournalBatch(number, 1000 * number, 2500, 2000, 5, 6, 7, 8, 9, 0, 1), event)
    write_journal(where, journal)
    assert model.look()
    body = model.body(0.0)
    assert [row[0] for row in body["life"]] == list(range(12))
    first = body["plans"][0]
    assert (first["batch"], first["reason"], first["rows"]) == (7, "because", 70)
    drawn = model.plan(7)
    assert drawn is not None and drawn["groups"][0]["split"]
    newest = model.history.newest
    assert newest is not None
    line = model.line(newest.at)
    assert (line["name"], line["condition"], line["behind"]) == ("ticks", "l.sym = r.sym", True)
    write_journal(where, Journal(error="StateError: gone", ended=round(newest.at * 1000) + 5))
    model.look()
    assert (model.line(newest.at)["status"], model.line(newest.at)["message"]) == ("failed", "StateError: gone")


def test_of_ten_thousand_batches_a_part_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ticks(tmp_path).feed(2)
    query = tmp_path / "ticks"
    whole = [(query / str(task) / "1.metrics.json").read_bytes() for task in range(4)]
    for batch in range(2, 10_000):
        (query / "0" / f"{batch}.json").touch()
    for batch in range(9_000, 10_000):
        for task, content in enumerate(whole):
            (query / str(task) / f"{batch}.metrics.json").write_bytes(content)
    history = History(open_folder(str(query)))
    read: list[int] = []
    look = history._read
    monkeypatch.setattr(history, "_read", noting(read, look))
    history.look()
    while history.pending:
        history.look()
    assert len(read) < 1_000 and len(history.batches) <= 1_200
    assert history.newest is not None and history.newest.number == 9_999
    read.clear()
    assert not history.look() and not read


# Many queries


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Watcher]:
    made = Watcher([str(tmp_path / "state")])
    yield made
    made.stop()


def test_queries_are_found_as_they_begin_and_forgotten_when_they_are_removed(tmp_path: Path, watcher: Watcher) -> None:
    assert not watcher.look() and not watcher.lines()["queries"]
    Ticks(tmp_path / "state").feed(2)
    assert watcher.look()
    (line,) = watcher.lines()["queries"]
    assert line["batch"] == 1
    areas(tmp_path / "state", batches=1)
    watcher.look()
    assert len(watcher.lines()["queries"]) == 2
    for path in sorted((tmp_path / "state" / "ticks").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (tmp_path / "state" / "ticks").rmdir()
    assert watcher.look()
    assert [one["query"] for one in watcher.lines()["queries"]] == ["local"]


def test_versions_grow_only_with_what_is_new(tmp_path: Path, watcher: Watcher) -> None:
    join = Ticks(tmp_path / "state")
    join.feed(1)
    watcher.look()
    before = watcher.version
    watcher.look()
    assert watcher.version == before
    join.feed(1)
    watcher.look()
    assert watcher.version > before


def test_a_path_may_name_one_query_by_the_start_of_its_id(state: Path) -> None:
    watcher = Watcher([str(state / "tic")])
    watcher.look_at_all()
    found: list[dict[str, Any]] = watcher.lines()["queries"]
    assert [one["query"] for one in found] == ["ticks"]
