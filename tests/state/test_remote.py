"""File systems that are not local: files travel whole, segments are kept on this machine's disk."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from pyarrow import fs

from tests.state.batches import expected, feed, joined, store
from weft.errors import StateError
from weft.observe import inspect_query
from weft.state import Folder, Segment, collect, contents, open_folder
from weft.state.object_folder import ObjectFolder
from weft.types import SIDES


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test its own cache."""
    here = tmp_path / "tmp"
    here.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    return here


@pytest.fixture(params=["subtree", "mock", "objects", "inlined", "s3"])
def remote(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Return a file system with renames, one with objects (small ones inlined, or all in packs), or a server of S3."""
    if request.param == "mock":
        return Folder(fs._MockFileSystem(), "bucket/state")
    if request.param in ("objects", "s3"):
        monkeypatch.setattr(contents, "INLINE", 0)
    if request.param == "s3":
        return open_folder(request.getfixturevalue("s3").uri(tmp_path.name))
    (tmp_path / "far").mkdir()
    far = fs.SubTreeFileSystem(str(tmp_path / "far"), fs.LocalFileSystem())
    return (Folder if request.param == "subtree" else ObjectFolder)(far, "bucket/state")


def _cached(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.arrow"))


def test_batches_and_restarts(remote: Folder, cache: Path) -> None:
    assert not remote.local
    remote.check_writable()
    found = feed(joined(store(remote, retain=2), scheme="range", tasks=3), 8)
    found += feed(joined(store(remote, retain=2), 8, scheme="range", tasks=2), 8)
    assert sorted(found) == expected(16)
    assert _cached(cache) or remote.packed
    view = inspect_query(remote / "query")
    assert view.last_good == view.last_batch == 15
    assert not view.damage


def _one_segment(remote: Folder, batch: int) -> Segment:
    """Return a segment of task 1 whose content task 0, which runs first, does not fetch for itself."""
    one, two = (store(remote).manifest(task, batch) for task in (0, 1))
    assert one is not None and two is not None
    fetched = {entry.checksum for side in SIDES for entry in one.segments[side]}
    return next(e for side in SIDES for e in two.segments[side] if e.checksum not in fetched)


def _last_without(remote: Folder, name: str, batches: int) -> int | None:
    """Return the last batch whose state does not need the file."""
    for batch in reversed(range(batches)):
        manifest = store(remote).manifest(1, batch)
        assert manifest is not None
        if name not in {f"1/{entry.file}" for side in SIDES for entry in manifest.segments[side]} | {f"1/{batch}.json"}:
            return batch
    return None


def _path(remote: Folder, name: str) -> str:
    folder, _, last = name.partition("/")
    return (remote / "query" / folder).where(last)


def _overwrite(remote: Folder, name: str, data: bytes) -> None:
    with remote.system.open_output_stream(_path(remote, name)) as file:
        file.write(data)


def _read(remote: Folder, name: str) -> bytes:
    with remote.system.open_input_file(_path(remote, name)) as file:
        return bytes(file.read())


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "missing", "foreign"])
@pytest.mark.parametrize("what", ["segment", "manifest", "plan"])
def test_harm(what: str, harm: str, remote: Folder, cache: Path) -> None:
    feed(joined(store(remote), scheme="matrix"), 3)
    if what == "segment" and remote.packed and contents.INLINE:
        pytest.skip("its segments are in its manifest")
    one = _one_segment(remote, 2)
    name = {"segment": f"1/{one.file}", "manifest": "1/2.json", "plan": "plans/3.json"}[what]
    last_good = _last_without(remote, name, 3) if what != "plan" else 1
    data = bytearray(_read(remote, name))
    data[one.at + one.bytes // 2 if what == "segment" else len(data) // 2] ^= 1
    harmed = {"flip": bytes(data), "cut": bytes(data[:-9]), "empty": b"", "foreign": b"hello"}
    if harm == "missing":
        remote.system.delete_file(_path(remote, name))
    else:
        _overwrite(remote, name, harmed[harm])
    for copy in _cached(cache):  # the next batch runs on another machine
        copy.unlink()
    with pytest.raises(StateError) as caught:
        feed(joined(store(remote), 3, scheme="matrix"), 1)
    assert _path(remote, name) in str(caught.value)
    assert inspect_query(remote / "query").last_good == last_good


def test_a_damaged_copy_on_this_machine_is_fetched_again(remote: Folder, cache: Path) -> None:
    found = feed(joined(store(remote), scheme="matrix"), 4)
    for copy in _cached(cache):
        content = bytearray(copy.read_bytes())
        content[len(content) // 2] ^= 1
        copy.unlink()
        copy.write_bytes(content)
    found += feed(joined(store(remote), 4, scheme="matrix"), 2)
    assert sorted(found) == expected(6)


def test_a_copy_that_was_cut_short_is_fetched_again(remote: Folder, cache: Path) -> None:
    found = feed(joined(store(remote), scheme="matrix"), 4)
    for copy in _cached(cache):
        content = copy.read_bytes()
        copy.unlink()
        copy.write_bytes(content[: len(content) // 2])
    found += feed(joined(store(remote), 4, scheme="matrix"), 2)
    assert sorted(found) == expected(6)


def test_former_tasks_are_collected(remote: Folder) -> None:
    feed(joined(store(remote, 2), tasks=4), 3)
    batches = 6 if not remote.packed else collect._SELDOM + 1 - 3  # there, once in many batches
    feed(joined(store(remote, 2), 3, tasks=2), batches)
    assert [name for name in (remote / "query").names() if name.isdigit()] == ["0", "1"]
    held = store(remote, 2).manifest(0, 2 + batches)
    assert held is not None
    assert all(held.segments[side] for side in SIDES)


def test_copies_that_nobody_reads_are_deleted(remote: Folder, cache: Path) -> None:
    join = joined(store(remote), scheme="matrix")
    feed(join, 3)
    stale = _cached(cache)
    assert stale or contents.INLINE
    for copy in stale:
        os.utime(copy, (1_000_000_000, copy.stat().st_mtime))
    feed(join, 3)
    assert not [copy for copy in stale if copy.exists() and copy.stat().st_atime < 1_500_000_000]
