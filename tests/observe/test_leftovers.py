"""State that may go: what is stale, what stays, and what is never touched."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs

from tests.observe.leftover_states import ONE, TWO, age, spark_checkpoint, stored
from weft.errors import NoSuchState, StateError
from weft.index import Run
from weft.observe import asked_for, remove_query, stale_queries
from weft.observe.leftovers import look_at
from weft.state import Folder, TablePin, TableShelf, open_folder
from weft.types import Block

TEN = timedelta(minutes=10)


def judged(path: Path, idle: timedelta = TEN) -> tuple[dict[str, str], dict[str, str]]:
    """Return why queries go and why they stay."""
    go, stay = stale_queries(open_folder(str(path)), idle, datetime.now(timezone.utc))
    return {one.query: one.why for one in go}, {one.query: one.why for one in stay}


def test_a_query_without_a_checkpoint_is_stale(tmp_path) -> None:
    state = tmp_path / "state"
    there, gone = spark_checkpoint(tmp_path / "there", ONE), tmp_path / "gone"
    stored(state, ONE, checkpoint=f"file:{there}")
    stored(state, TWO, checkpoint=str(gone))
    assert judged(state) == ({TWO: "checkpoint gone"}, {ONE: "checkpoint there"})
    shutil.rmtree(there)
    assert judged(state) == ({ONE: "checkpoint gone", TWO: "checkpoint gone"}, {})
    spark_checkpoint(gone, TWO)
    assert judged(state) == ({ONE: "checkpoint gone"}, {TWO: "checkpoint there"})


def test_a_checkpoint_that_nobody_noted_is_unknown(tmp_path) -> None:
    stored(tmp_path)
    query = stored(tmp_path, TWO, checkpoint="/x")
    (query / "checkpoint.json").write_text("{", encoding="utf-8")
    age(query, 7200)
    assert judged(tmp_path) == ({ONE: "checkpoint unknown", TWO: "checkpoint unknown"}, {})


def test_all_joins_of_a_query_are_one(tmp_path) -> None:
    """As long as one of them knows a checkpoint that is there, none of them goes."""
    stored(tmp_path, ONE, "join-1", "orders", checkpoint=f"{tmp_path}/none")
    go, _ = stale_queries(open_folder(str(tmp_path)), TEN, datetime.now(timezone.utc))
    (one,) = go
    assert one.folders == (ONE, f"{ONE}.join-1", f"{ONE}.orders")
    assert one.joins == ("l.x <= r.x",) * 3
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (one.files, one.bytes) == (len(files), sum(path.stat().st_size for path in files))
    spark_checkpoint(tmp_path / "there", ONE)
    stored(tmp_path / "other", ONE, checkpoint=f"{tmp_path}/there")
    shutil.copy(tmp_path / "other" / ONE / "checkpoint.json", tmp_path / f"{ONE}.orders")
    assert judged(tmp_path)[1] == {ONE: "checkpoint there"}


def test_what_was_written_lately_stays(tmp_path) -> None:
    stored(tmp_path, seconds=60)
    assert judged(tmp_path) == ({}, {ONE: "may be running"})
    assert judged(tmp_path, timedelta(seconds=30))[0] == {ONE: "checkpoint unknown"}
    assert judged(tmp_path, timedelta())[0] == {ONE: "checkpoint unknown"}


def test_state_of_the_local_runtime_has_no_checkpoint_and_stays(tmp_path) -> None:
    stored(tmp_path, "local")
    assert judged(tmp_path) == ({}, {"local": "not a Spark query"})
    assert asked_for(open_folder(str(tmp_path)), "local").why == "asked for"


def test_what_is_no_query_is_never_touched(tmp_path) -> None:
    """Folders of others, even with a spec.json; files; links to a query, and links inside one."""
    state, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    stored(state)
    far = stored(elsewhere, TWO)
    (state / "project").mkdir()
    (state / "project" / "spec.json").write_text('{"openapi": "3.1"}', encoding="utf-8")
    (state / "notes.txt").write_text("mine", encoding="utf-8")
    (state / TWO).symlink_to(far, target_is_directory=True)
    (state / "aaaaaaaa-aaaa-bbbb-cccc-000000000000").mkdir()
    (state / ".hidden").mkdir()
    go, stay = stale_queries(open_folder(str(state)), TEN, datetime.now(timezone.utc))
    assert [one.query for one in go] == [ONE] and not stay
    for start in ("project", TWO, "aaaa", ".hidden", ""):
        with pytest.raises(NoSuchState, match="No query under"):
            asked_for(open_folder(str(state)), start)
    remove_query(open_folder(str(state)), go[0])
    left = {"project", "notes.txt", TWO, "aaaaaaaa-aaaa-bbbb-cccc-000000000000", ".hidden"}
    assert {path.name for path in state.iterdir()} == left
    assert (far / "spec.json").exists()


@pytest.mark.parametrize("strange", ["notes.txt", "0/notes.txt", "backup/0.json", "link", "0/link"])
def test_a_query_that_holds_what_weft_did_not_write_stays(tmp_path, strange) -> None:
    state, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    query = stored(state)
    elsewhere.mkdir()
    (elsewhere / "5.json").write_text("mine", encoding="utf-8")
    if strange.endswith("link"):
        (query / strange).symlink_to(elsewhere, target_is_directory=True)
    else:
        (query / strange).parent.mkdir(exist_ok=True)
        (query / strange).write_text("mine", encoding="utf-8")
    age(query, 7200)
    assert judged(state) == ({}, {ONE: "contains files that Weft did not write"})
    name = strange.partition("/")[0] if strange.startswith("backup") else strange
    with pytest.raises(StateError, match=rf"{ONE} contains files that Weft did not write: {ONE}/{name}\."):
        asked_for(open_folder(str(state)), ONE[:4])


def test_what_a_killed_task_left_aside_goes_with_the_rest(tmp_path) -> None:
    query = stored(tmp_path)
    (query / "0" / ".3.json.77-abc12345").write_text("", encoding="utf-8")
    (query / ".spec.json.77-abc12345").write_text("", encoding="utf-8")
    remove_query(open_folder(str(tmp_path)), asked_for(open_folder(str(tmp_path)), "0c5a"))
    assert not query.exists()


def test_a_query_is_named_by_the_start_of_its_id(tmp_path) -> None:
    stored(tmp_path, ONE, "join-1")
    stored(tmp_path, ONE.replace("0c5a", "0c5b"))
    state = open_folder(str(tmp_path))
    assert asked_for(state, "0c5a").folders == (ONE, f"{ONE}.join-1")
    with pytest.raises(NoSuchState, match="2 queries start with '0c5'") as error:
        asked_for(state, "0c5")
    assert f"There are: {ONE}, " in str(error.value) and "to identify one" in str(error.value)
    with pytest.raises(NoSuchState, match="is the state of a query itself: weft state rm "):
        asked_for(state / ONE, ONE)


def test_a_query_that_has_changed_since_it_was_listed_is_not_removed(tmp_path) -> None:
    query = stored(tmp_path)
    state = open_folder(str(tmp_path))
    listed = asked_for(state, ONE)
    (query / "0" / "9.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StateError, match="has changed since it was listed"):
        remove_query(state, listed)
    assert (query / "spec.json").exists()
    listed = asked_for(state, ONE)
    remove_query(state, listed)
    with pytest.raises(StateError, match="has changed since it was listed"):
        remove_query(state, listed)


def test_an_interrupted_removal_can_be_asked_for_again(tmp_path, monkeypatch) -> None:
    query = stored(tmp_path, "local")
    state = open_folder(str(tmp_path))
    calls: list[str] = []
    delete = Folder.delete_all

    def failing(folder: Folder) -> None:
        calls.append(folder.path)
        if len(calls) == 3:
            raise OSError("disk is away")
        delete(folder)

    monkeypatch.setattr(Folder, "delete_all", failing)
    with pytest.raises(StateError, match="local cannot be removed: disk is away"):
        remove_query(state, asked_for(state, "local"))
    assert not (query / "0").exists() and (query / "spec.json").exists()
    remove_query(state, asked_for(state, "local"))
    assert not query.exists()


def test_a_file_system_that_is_not_local(tmp_path) -> None:
    """A checkpoint on some machine's own disk may be on another one's."""
    stored(tmp_path, ONE, checkpoint=f"{tmp_path}/none")
    stored(tmp_path, TWO)
    far = Folder(fs.SubTreeFileSystem(str(tmp_path.parent), fs.LocalFileSystem()), tmp_path.name)
    go, stay = stale_queries(far, TEN, datetime.now(timezone.utc))
    assert [one.query for one in go] == [TWO]
    assert "may be on another machine, so it counts as present" in stay[0].note
    remove_query(far, go[0])
    assert [path.name for path in tmp_path.iterdir()] == [ONE]


@pytest.mark.parametrize("path", ["s3a://bucket/c", "dbfs:/c", "abfss://c@x/y", "hdfs:/c", "checkpoint", "weird://x"])
def test_a_checkpoint_that_cannot_be_looked_at_counts_as_there(path) -> None:
    seen = look_at(path, ONE, beside=True)
    assert not seen.gone
    assert seen.note == f"its checkpoint {path} cannot be checked from here, so it counts as present"


def test_the_checkpoint_of_another_query_is_none(tmp_path) -> None:
    spark_checkpoint(tmp_path, TWO)
    for path in (str(tmp_path), f"file:{tmp_path}", f"file://{tmp_path}"):
        assert look_at(path, TWO, beside=True).gone is False
        seen = look_at(path, ONE, beside=True)
        assert (seen.gone, seen.note) == (True, "its checkpoint folder now belongs to another query")
    for content in ("", "{", "{}", '{"id": 7}', "[]"):
        (tmp_path / "metadata").write_text(content, encoding="utf-8")
        assert not look_at(str(tmp_path), ONE, beside=True).gone


def test_the_tables_of_a_query_go_with_it(tmp_path) -> None:
    """Versions that another query's batches name stay, and so do queries that nobody named and that have only tables."""
    state = tmp_path / "state"
    stored(state)
    shelf, schema = TableShelf(str(state)), pa.schema({"r0": pa.int64()})
    block = Block(np.zeros((1, 3), np.int64), np.zeros(3, np.uint32), pa.table({"r0": [1, 2, 3]}, schema=schema))
    mine, shared, theirs = (
        TablePin(
            shelf.write(start, "0-0-0123abcd.arrow", Run.of(block, np.arange(3))), f"run of {start}", "join", "spec"
        )
        for start in ("mine", "shared", "theirs")
    )
    shelf.pinned(ONE, 0, mine)
    shelf.pinned(f"{ONE}.names", 0, shared)
    shelf.pinned(TWO, 0, theirs)
    shelf.pinned(TWO, 1, shared)
    assert judged(state) == ({ONE: "checkpoint unknown"}, {TWO: "only tables"})
    folder = open_folder(str(state))
    remove_query(folder, asked_for(folder, ONE))
    assert sorted(path.name for path in (state / "tables").iterdir()) == [TWO, "shared", "theirs"]
    remove_query(folder, asked_for(folder, TWO))
    assert not list((state / "tables").iterdir())
