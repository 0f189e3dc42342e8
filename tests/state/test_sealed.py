from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.errors import StateError
from weft.state import open_folder
from weft.state.sealed import FORMAT, read_sealed, write_sealed

BODY = {"plan": {"scheme": "matrix", "tasks": 3}, "clock": -(2**63), "text": "ü", "list": [1, [2, None]], "share": 0.25}


def test_round_trip(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path))
    write_sealed(folder, "0.json", BODY)
    assert read_sealed(folder, "0.json") == BODY


def test_the_same_body_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path))
    write_sealed(folder, "a.json", BODY)
    write_sealed(folder, "b.json", dict(reversed(BODY.items())))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]  # nothing is left aside


def test_folders_are_made(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path)) / "query" / "plans"
    write_sealed(folder, "0.json", BODY)
    assert read_sealed(folder, "0.json") == BODY


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80])
def test_every_flipped_byte_is_found(flip: int, tmp_path: Path) -> None:
    folder, file = open_folder(str(tmp_path)), tmp_path / "7.json"
    write_sealed(folder, "7.json", BODY)
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
        with pytest.raises(StateError, match=r"7\.json"):
            read_sealed(folder, "7.json")


def test_every_truncation_is_found(tmp_path: Path) -> None:
    folder, file = open_folder(str(tmp_path)), tmp_path / "7.json"
    write_sealed(folder, "7.json", BODY)
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(StateError, match=r"7\.json is damaged"):
            read_sealed(folder, "7.json")


@pytest.mark.parametrize(
    "content",
    [b"hello", b"{}", b"[]", b"3", b'"body"', b"null", json.dumps({"body": {}}).encode(), b"\xff\xfe\x00", b"PAR1"],
)
def test_foreign_content(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "3.json").write_bytes(content)
    with pytest.raises(StateError, match=r"3\.json is damaged: it is not a complete Weft document"):
        read_sealed(open_folder(str(tmp_path)), "3.json")


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"9\.json is missing"):
        read_sealed(open_folder(str(tmp_path)), "9.json")


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "9.json").mkdir()
    with pytest.raises(StateError, match=r"9\.json"):
        read_sealed(open_folder(str(tmp_path)), "9.json")


def test_another_format_says_so(tmp_path: Path) -> None:
    folder, file = open_folder(str(tmp_path)), tmp_path / "1.json"
    write_sealed(folder, "1.json", BODY)
    file.write_text(file.read_text().replace(f'"format":{FORMAT}', f'"format":{FORMAT + 1}'))
    with pytest.raises(StateError, match=rf"1\.json has state format {FORMAT + 1}"):
        read_sealed(folder, "1.json")
