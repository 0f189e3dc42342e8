"""A power cut takes what was not synced: contents of files, and names in folders. What `power` promises, it keeps."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.state.batches import expected, feed, joined, store
from weft.errors import StateError
from weft.state import Care, open_folder
from weft_lab.torture.faults import Crash, Fault, Faults, FaultyFolder


class Disk:
    """Remembers what was synced, and forgets the rest when the power is cut."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.contents: set[int] = set()
        self.names: dict[int, set[tuple[str, int]]] = {}

    def sync(self, handle: int) -> None:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            path = Path(f"/proc/self/fd/{handle}").readlink()
            self.names[found.st_ino] = {(one.name, one.stat().st_ino) for one in path.iterdir()}
        else:
            self.contents.add(found.st_ino)

    def cut(self) -> int:
        """Lose what was not synced; return how many files and folders."""
        return sum(self._lose(child, self.root) for child in list(self.root.iterdir()))

    def _lose(self, path: Path, folder: Path) -> int:
        found = path.stat()
        if (path.name, found.st_ino) not in self.names.get(folder.stat().st_ino, set()):
            for file in sorted(path.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()
            path.rmdir() if path.is_dir() else path.unlink()
            return 1
        if path.is_dir():
            return sum(self._lose(child, path) for child in list(path.iterdir()))
        if found.st_ino not in self.contents:
            path.write_bytes(b"")
            return 1
        return 0


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    root = tmp_path / "disk"
    root.mkdir()
    made = Disk(root)
    monkeypatch.setattr(os, "fsync", made.sync)
    return made


def _join(disk: Disk, durability: str, batch: int = 0, faults: Faults | None = None):
    folder = open_folder(str(disk.root / "deep" / "state"), Care(durability))
    if faults is not None:
        folder = FaultyFolder(folder.system, folder.path, care=folder.care, faults=faults)
    return joined(store(folder), batch, scheme="matrix")


def test_what_is_synced_outlives_a_power_cut(disk: Disk) -> None:
    found = feed(_join(disk, "power"), 4)
    assert disk.cut() == 0
    found += feed(_join(disk, "power", 4), 3)
    assert sorted(found) == expected(7)


@pytest.mark.parametrize("kind", ["crash", "aside", "torn", "after"])
@pytest.mark.parametrize("after", [0, 3, 7, 12])
def test_a_power_cut_in_the_middle_of_a_batch(disk: Disk, kind: Fault, after: int) -> None:
    found, faults = feed(_join(disk, "power"), 3), Faults()
    faults.arm(kind, after)
    with pytest.raises(Crash):
        feed(_join(disk, "power", 3, faults), 1)
    disk.cut()
    found += feed(_join(disk, "power", 3), 3)
    assert sorted(found) == expected(6)


def test_what_is_not_synced_is_lost_and_told_and_never_wrong(disk: Disk) -> None:
    feed(_join(disk, "process"), 4)
    assert disk.cut() > 0
    with pytest.raises(StateError, match="is missing"):
        feed(_join(disk, "process", 4), 1)


def test_a_query_that_turns_to_power_is_safe_from_the_next_batches_on(disk: Disk) -> None:
    """What older batches left unsynced is needed until it expires: the file that is gone is named."""
    feed(_join(disk, "process"), 2)
    feed(_join(disk, "power", 2), 2)
    disk.cut()
    with pytest.raises(StateError, match=r"0/.*(is missing|is damaged)"):
        feed(_join(disk, "power", 4), 1)
