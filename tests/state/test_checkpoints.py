"""Where the checkpoint of a query is, written beside its state."""

from __future__ import annotations

import pytest

from weft.state import known_checkpoint, note_checkpoint, open_folder, write_sealed


def test_what_is_noted_is_known(tmp_path) -> None:
    folder = open_folder(str(tmp_path / "query"))
    assert known_checkpoint(folder) is None
    note_checkpoint(folder, "file:/var/one")
    assert known_checkpoint(folder) == "file:/var/one"
    note_checkpoint(folder, "file:/var/two")
    assert known_checkpoint(folder) == "file:/var/two"


def test_what_is_known_is_not_written_again(tmp_path) -> None:
    folder = open_folder(str(tmp_path))
    note_checkpoint(folder, "file:/var/one")
    before = (tmp_path / "checkpoint.json").stat()
    note_checkpoint(folder, "file:/var/one")
    after = (tmp_path / "checkpoint.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("content", ["", "{", '{"format":1,"checksum":"0","body":{"path":"/x"}}', "[]"])
def test_a_damaged_note_says_nothing_and_is_written_anew(tmp_path, content) -> None:
    (tmp_path / "checkpoint.json").write_text(content, encoding="utf-8")
    folder = open_folder(str(tmp_path))
    assert known_checkpoint(folder) is None
    note_checkpoint(folder, "/x")
    assert known_checkpoint(folder) == "/x"


@pytest.mark.parametrize("body", [{}, {"path": 7}, {"path": ""}, {"path": None}])
def test_a_note_without_a_path_says_nothing(tmp_path, body) -> None:
    folder = open_folder(str(tmp_path))
    write_sealed(folder, "checkpoint.json", body)
    assert known_checkpoint(folder) is None
