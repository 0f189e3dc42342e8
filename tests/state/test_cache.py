"""Copies of remote segments lie in a folder of ours alone: what another user put in its place is never followed."""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
from pathlib import Path

import pytest
from pyarrow import fs

from tests.state.batches import expected, feed, joined, store
from weft.errors import StateError
from weft.state import Folder

HINT = "remove it, or give the workers a temporary folder of their own: TMPDIR=/var/tmp/me."


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where this test's cache will be."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp" / f"weft-cache-{os.geteuid()}"


@pytest.fixture
def remote(tmp_path: Path) -> Folder:
    (tmp_path / "far").mkdir()
    return Folder(fs.SubTreeFileSystem(str(tmp_path / "far"), fs.LocalFileSystem()), "bucket/state")


def refused(remote: Folder, cache: Path, why: str) -> None:
    with pytest.raises(StateError) as caught:
        feed(joined(store(remote), scheme="matrix"), 3)
    what, there_is, hint = str(caught.value).splitlines()
    assert re.fullmatch(f"{re.escape(str(cache))} is not private: {why}.", what), what
    assert there_is == "Weft caches remote segments there, and other users could read or replace them."
    assert hint == f"Hint: {HINT}"


def old(path: Path, content: str = "precious") -> Path:
    """Make a file that was last read long ago."""
    path.write_text(content)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    return path


def test_a_planted_link_is_not_followed(remote: Folder, cache: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    mine = [old(home / "table.arrow"), old(home / f"{'a' * 16}-12.arrow")]
    cache.symlink_to(home)
    refused(remote, cache, "it is a link")
    assert sorted(home.iterdir()) == sorted(mine)


def test_a_file_in_its_place_is_refused(remote: Folder, cache: Path) -> None:
    cache.write_text("hello")
    refused(remote, cache, "it cannot be opened, Not a directory")
    assert cache.read_text() == "hello"


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o1777, 0o750])
def test_a_folder_that_others_may_enter_is_refused(remote: Folder, cache: Path, mode: int) -> None:
    cache.mkdir()
    cache.chmod(mode)
    refused(remote, cache, f"its mode is {mode:04o}, not 0700")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(remote: Folder, cache: Path) -> None:
    cache.mkdir(mode=0o700)
    os.chown(cache, 12345, -1)
    refused(remote, cache, "it belongs to user 12345")


def test_only_files_of_our_own_making_are_deleted(remote: Folder, cache: Path, tmp_path: Path) -> None:
    cache.mkdir(mode=0o700)
    target = old(tmp_path / "target")
    link, other, stale = cache / f"{'b' * 16}-9.arrow", old(cache / "table.arrow"), old(cache / f"{'c' * 16}-8.arrow")
    aside = old(cache / f"{'d' * 16}-8.arrow.77-0123abcd")
    link.symlink_to(target)
    os.utime(link, (1_000_000_000, 1_000_000_000), follow_symlinks=False)
    found = feed(joined(store(remote), scheme="matrix"), 3)
    assert sorted(found) == expected(3)
    assert other.read_text() == target.read_text() == "precious"
    assert link.is_symlink()
    assert not stale.exists()
    assert not aside.exists()


def test_a_link_in_the_place_of_a_copy_is_replaced_and_its_target_left_alone(
    remote: Folder, cache: Path, tmp_path: Path
) -> None:
    found = feed(joined(store(remote), scheme="matrix"), 4)
    target = old(tmp_path / "target")
    copies = list(cache.glob("*.arrow"))
    assert copies
    for copy in copies:
        copy.unlink()
        copy.symlink_to(target)
    found += feed(joined(store(remote), 4, scheme="matrix"), 2)
    assert sorted(found) == expected(6)
    assert target.read_text() == "precious"


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_nobody_else_can_read_the_copies(remote: Folder, cache: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        feed(joined(store(remote), scheme="matrix"), 3)
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert {stat.S_IMODE(copy.stat().st_mode) for copy in cache.iterdir()} == {0o600}


def test_a_full_disk_costs_the_copy_and_not_the_join(remote: Folder, cache: Path, monkeypatch) -> None:
    def full(*args: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    assert sorted(feed(joined(store(remote), scheme="matrix"), 4)) == expected(4)
    assert not list(cache.iterdir())
