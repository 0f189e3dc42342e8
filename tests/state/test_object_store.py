"""An object store: how many requests an operation costs, what is tried again, what is told at once."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import fs

from tests.s3 import Served
from tests.state.batches import expected, feed, joined, store
from weft.errors import SpecError, StateError
from weft.observe import inspect_query
from weft.state import Care, Folder, open_folder
from weft.state.object_folder import ObjectFolder

BRIEF = Care(patience=3)
DATA = b"weft" * 100


@pytest.fixture
def folder(s3: Served, request: pytest.FixtureRequest) -> Folder:
    """Return a folder of this test's own, warmed up: the first request of a client may be another one."""
    made = open_folder(s3.uri("folder/" + re.sub(r"\W+", "-", request.node.name)), BRIEF)
    assert isinstance(made, ObjectFolder)
    made.write("warm", b"")
    s3.proxy.forget()
    return made


def test_an_object_is_written_by_one_request_and_read_by_one_and_its_size(folder: Folder, s3: Served) -> None:
    folder.write("3.json", DATA)
    assert s3.proxy.kinds() == {"PUT": 1}
    s3.proxy.forget()
    assert folder.read("3.json").to_pybytes() == DATA
    assert s3.proxy.kinds() == {"HEAD": 1, "GET": 1}  # pyarrow asks for the size first, and cannot be told it
    s3.proxy.forget()
    assert folder.find("4.json") is None
    assert s3.proxy.kinds() == {"HEAD": 2}  # Weft 0.1 had it elsewhere
    s3.proxy.forget()
    assert folder.read_part("3.json", 4, 8).to_pybytes() == b"weftweft"
    assert s3.proxy.kinds() == {"HEAD": 1, "GET": 1}


def test_a_large_object_is_written_in_parts_and_seen_as_a_whole(folder: Folder, s3: Served) -> None:
    data = bytes(range(256)) * 50_000
    folder.write("3-0-00000000.pack", data)
    assert s3.proxy.kinds()["PUT"] > 1
    assert folder.read("3-0-00000000.pack").to_pybytes() == data
    assert folder.names() == ["3-0-00000000.pack", "warm"]


def test_objects_of_a_hundred_batches_lie_together_and_are_found_by_their_names(folder: Folder, s3: Served) -> None:
    for batch in (0, 99, 100, 250):
        folder.write(f"{batch}.json", DATA)
    here = f"{folder.path.partition('/')[2]}/"
    keys = [key.removeprefix(here) for key in s3.files() if key.startswith(here)]
    assert keys == ["0-99/0.json", "0-99/99.json", "100-199/100.json", "200-299/250.json", "warm"]
    assert folder.names() == ["0.json", "100.json", "250.json", "99.json", "warm"]
    assert folder.exists("250.json") and not folder.exists("251.json")
    folder.delete("250.json")
    folder.delete("250.json")
    assert not folder.exists("250.json")


def test_a_hundred_batches_go_together(folder: Folder, s3: Served) -> None:
    assert isinstance(folder, ObjectFolder)
    for batch in range(90, 120):
        folder.write(f"{batch}.json", DATA)
    s3.proxy.forget()
    folder.drop(115, {"96.json"})
    assert folder.exists("96.json") and len(folder.names()) == 20 + 2 + 1  # as much else as is needed
    s3.proxy.forget()
    folder.drop(115, ())
    assert s3.proxy.kinds().total() < 10
    assert folder.names() == [*[f"{batch}.json" for batch in range(100, 120)], "warm"]


@pytest.mark.parametrize("fault", ["503", "500", "429", "refuse"])
def test_what_may_pass_is_tried_again(folder: Folder, s3: Served, fault: str) -> None:
    s3.proxy.fault = lambda method, path, number: fault if number <= 3 else ""
    folder.write("3.json", DATA)
    assert folder.read("3.json").to_pybytes() == DATA
    s3.proxy.forget()
    assert folder.names() == ["3.json", "warm"]


def test_an_answer_that_is_cut_is_never_a_part_of_a_file(folder: Folder, s3: Served) -> None:
    folder.write("3.json", DATA * 1000)
    s3.proxy.forget()
    s3.proxy.fault = lambda method, path, number: "cut" if method == "GET" and number <= 2 else ""
    assert folder.read("3.json").to_pybytes() == DATA * 1000
    assert s3.proxy.kinds()["GET"] > 1


@pytest.mark.parametrize("operation", ["read", "written", "deleted"])
def test_a_service_that_stays_away_is_told_with_what_was_tried(folder: Folder, s3: Served, operation: str) -> None:
    folder.write("3.json", DATA)
    s3.proxy.fault = lambda method, path, number: "503"
    calls: dict[str, Callable[[str], object]] = {
        "read": folder.read,
        "written": lambda name: folder.write(name, DATA),
        "deleted": folder.delete,
    }
    with pytest.raises(StateError) as caught:
        calls[operation]("3.json")
    what, there_is, hint = str(caught.value).splitlines()
    assert what.startswith(f"{folder}/0-99/3.json cannot be {operation}: ") and ("503" in what or "SLOW_DOWN" in what)
    assert there_is.startswith("Tried ") and " times in " in there_is
    assert int(there_is.split()[1]) >= 2
    last = {
        "read": "check the disk or service behind the state path and its permissions, then start the query again.",
        "written": "check the disk or service behind the state path, then start the query again: it continues from the last "
        "finished batch.",
        "deleted": "make the state path writable for the driver and every executor, then start the query again.",
    }  # fmt: skip
    assert hint == f"Hint: {last[operation]}"


def test_what_cannot_pass_is_told_at_once(s3: Served) -> None:
    missing = open_folder(s3.uri().replace("@bucket/", "@no-such-bucket/"), Care(patience=600))
    with pytest.raises(StateError, match="NO_SUCH_BUCKET") as caught:
        missing.write("3.json", DATA)
    assert "Tried" not in str(caught.value)
    stranger = open_folder(s3.uri().replace("weft:weftweft@", "weft:wrongwrong@"), Care(patience=600))
    with pytest.raises(StateError, match=r"SIGNATURE_DOES_NOT_MATCH|ACCESS_DENIED|403"):
        stranger.write("3.json", DATA)
    with pytest.raises(SpecError) as told:
        stranger.check_writable()
    assert str(told.value).splitlines()[2] == (
        "Hint: check that the bucket exists and that the credentials of the driver and of every executor may write to it."
    )


def test_a_path_that_can_be_written(folder: Folder) -> None:
    folder.check_writable()
    assert folder.names() == ["warm"]


def test_without_a_server_the_same_code_runs_over_folders(tmp_path: Path) -> None:
    folder = ObjectFolder(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "bucket/state")
    folder.check_writable()
    (folder / "0").write("7.json", DATA)
    assert (folder / "0").read("7.json").to_pybytes() == DATA
    assert (tmp_path / "bucket/state/0/0-99/7.json").read_bytes() == DATA
    assert (folder / "0").names() == ["7.json"]
    assert replace(folder, path="bucket/none").names() == []


def test_state_of_weft_0_1_is_gone_on_with_and_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies one file beside the other, in format 1."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shutil.copytree(Path(__file__).parent / "format-1", tmp_path / "bucket/state/query")
    folder = ObjectFolder(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "bucket/state")
    found = feed(joined(store(folder, 2), 4, scheme="matrix"), 110)
    assert found == expected(114, first=4)
    assert inspect_query(folder / "query").last_good == 113
    left = [file.name for file in (tmp_path / "bucket/state/query/0").iterdir() if file.is_file()]
    assert not left
