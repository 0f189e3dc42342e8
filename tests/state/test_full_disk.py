"""A disk that is full, or read-only all at once: told with path and bytes, nothing left aside, and the join goes on exactly."""

from __future__ import annotations

import errno
import os
import re
import resource
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from tests.state.batches import expected, feed, joined, store
from weft.errors import SpecError, StateError
from weft.state import Folder, open_folder

AGAIN = "then start the query again: it continues from the last finished batch."


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a disk of its own, of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a disk, and not everywhere")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Fill a disk up to the last page but a few."""
    filler = disk / "filler"
    free = os.statvfs(disk)
    filler.write_bytes(b"x" * ((free.f_bavail - 2) * free.f_frsize))
    yield
    filler.unlink()


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Let a disk turn read-only, as one does that has failed."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


@contextmanager
def small_files(_disk: Path) -> Iterator[None]:
    """Let no file grow beyond a kilobyte."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def left_aside(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(".")]


def checked(text: str, folder: Path, why: str, there_is: str, hint: str) -> None:
    what, facts, last = text.splitlines()
    assert re.fullmatch(rf"{folder}/state/query/\S+ cannot be written: {why}\.", what), what
    assert re.fullmatch(there_is + r" The state of the previous batch is intact\.", facts), facts
    assert last == f"Hint: {hint}{AGAIN}"


TROUBLE: dict[str, tuple[Callable[[Path], Any], str, str, str]] = {
    "full": (
        full, "No space left on device", r"It takes [\d,]+ bytes, and [\d,]+ are free there\.",
        "free some space, or move the state to a larger disk, ",
    ),
    "read-only": (
        read_only, "Read-only file system", r"It takes [\d,]+ bytes, and [\d,]+ are free there\.",
        "make the state path writable for the driver and every executor, ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("trouble", sorted(TROUBLE))
def test_the_join_goes_on_exactly_when_the_disk_does(disk: Path, trouble: str) -> None:
    happens, why, there_is, hint = TROUBLE[trouble]
    found = feed(joined(store(disk / "state")), 4)
    with happens(disk), pytest.raises(StateError) as caught:
        feed(joined(store(disk / "state"), 4), 1)
    checked(str(caught.value), disk, why, there_is, hint)
    assert not left_aside(disk)
    assert store(disk / "state").next_batch() == 4
    found += feed(joined(store(disk / "state"), 4), 4)
    assert sorted(found) == expected(8)


def test_a_file_that_may_not_grow_is_told_and_leaves_nothing_aside(tmp_path: Path) -> None:
    found = feed(joined(store(tmp_path / "state")), 4)
    with small_files(tmp_path), pytest.raises(StateError) as caught:
        feed(joined(store(tmp_path / "state"), 4), 1)
    checked(str(caught.value), tmp_path, "File too large", *TROUBLE["full"][2:])
    needed = int(re.findall(r"takes ([\d,]+) bytes", str(caught.value))[0].replace(",", ""))
    assert needed > 1024
    assert not left_aside(tmp_path)
    found += feed(joined(store(tmp_path / "state"), 4), 4)
    assert sorted(found) == expected(8)


def test_the_size_that_is_told_is_that_of_the_file(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path / "state"))
    for write in (
        lambda: folder.write("a", b"x" * 5000),
        lambda: folder.write_through("a", lambda s: s.write(b"x" * 5000)),
    ):
        with small_files(tmp_path), pytest.raises(StateError, match="It takes 5,000 bytes, and "):
            write()
        assert not list((tmp_path / "state").iterdir())


class Far(fs.FileSystemHandler):  # type: ignore[misc]
    """A file system elsewhere, whose disk can be full."""

    def __init__(self, path: Path) -> None:
        self.inner, self.error = fs.SubTreeFileSystem(str(path), fs.LocalFileSystem()), 0

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        stream = self.inner.open_output_stream(path)
        if self.error:
            raise OSError(self.error, "no")
        return stream

    def delete_file(self, path: str) -> None:
        if self.error == errno.EROFS:
            raise OSError(self.error, "no")
        self.inner.delete_file(path)

    def get_type_name(self) -> str:
        return "far"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        return self.inner.get_file_info(paths)

    def get_file_info_selector(self, selector: fs.FileSelector) -> Any:
        return self.inner.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self.inner.create_dir(path, recursive=recursive)

    def move(self, one: str, two: str) -> None:
        self.inner.move(one, two)

    def delete_dir(self, path: str) -> None:
        self.inner.delete_dir(path)

    def open_input_file(self, path: str) -> Any:
        return self.inner.open_input_file(path)

    def open_input_stream(self, path: str) -> Any:
        return self.inner.open_input_stream(path)

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError

    def copy_file(self, one: str, two: str) -> None:
        raise NotImplementedError

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError


def test_a_full_disk_elsewhere_is_told_with_the_bytes_that_are_known(tmp_path: Path) -> None:
    far = Far(tmp_path)
    folder = Folder(fs.PyFileSystem(far), "bucket")
    folder.write("old", b"old")
    far.error = errno.ENOSPC
    with pytest.raises(StateError) as caught:
        folder.write("new", b"x" * 1234)
    assert str(caught.value).splitlines() == [
        "bucket/new cannot be written: No space left on device.",
        "It takes 1,234 bytes. The state of the previous batch is intact.",
        f"Hint: free some space, or move the state to a larger disk, {AGAIN}",
    ]
    assert folder.names() == ["old"]
    far.error = errno.EROFS
    with pytest.raises(StateError) as caught:
        folder.delete("old")
    assert str(caught.value).splitlines() == [
        "bucket/old cannot be deleted: Read-only file system.",
        "No version that can still be read needs it.",
        "Hint: make the state path writable for the driver and every executor, then start the query again.",
    ]


def test_a_state_path_that_is_full_from_the_start_is_refused(disk: Path) -> None:
    (disk / "state").mkdir()
    with full(disk):
        (disk / "more").write_bytes(b"x" * os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize)
        with pytest.raises(
            SpecError, match=f"The state path {disk}/state cannot be written: .*No space left on device"
        ):
            open_folder(str(disk / "state")).check_writable()
    assert not left_aside(disk)


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_state_is_for_nobody_but_its_owner(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        feed(joined(store(tmp_path / "deep" / "state")), 3)
    finally:
        os.umask(before)
    found = list((tmp_path / "deep").rglob("*"))
    assert {path.suffix for path in found if path.is_file()} == {".arrow", ".json"}
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in [tmp_path / "deep", *found]}
    assert modes == {(True, 0o700), (False, 0o600)}


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o750)
    feed(joined(store(tmp_path / "state")), 1)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "state" / "query").stat().st_mode) == 0o700
