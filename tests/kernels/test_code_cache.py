"""Compiled kernels are found by every copy of the same source, and by no other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.kernels import jit

COMPILES = """
from weft.kernels import checksum
from weft.kernels.jit import told_of_compiling
told = []
with told_of_compiling(told.append):
    checksum(memoryview(bytearray(64)))
print(len(told))
"""


def compiled_in(folder: Path, cache: Path) -> int:
    """Return how many kernels a new process compiles with the source in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILES], cwd=folder, text=True, capture_output=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(folder)},
    )  # fmt: skip
    return int(done.stdout)


def test_a_copy_of_the_source_compiles_nothing_and_a_changed_one_everything(tmp_path) -> None:
    source, cache = Path(weft.__file__).parent, tmp_path / "cache"
    for copy in ("one", "two"):
        shutil.copytree(source, tmp_path / copy / "weft", ignore=shutil.ignore_patterns("__pycache__"))
    assert compiled_in(tmp_path / "one", cache) > 0
    os.utime(tmp_path / "two" / "weft" / "kernels" / "checksum.py", (1, 1))  # times say nothing
    assert compiled_in(tmp_path / "two", cache) == 0
    with (tmp_path / "two" / "weft" / "kernels" / "sort.py").open("a") as file:
        file.write("# changed\n")  # another file than the kernel's own: it may hold what the kernel calls
    assert compiled_in(tmp_path / "two", cache) > 0
    assert len(list((cache / "weft").iterdir())) == 2


@pytest.fixture
def nowhere(tmp_path, monkeypatch) -> Path:
    """Return a folder that cannot be made, as the only place there is."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    return tmp_path


def test_without_a_folder_kernels_are_compiled_and_not_kept(nowhere) -> None:
    assert jit.cache_folder.__wrapped__() is None
    assert compiled_in(Path(weft.__file__).parents[1], nowhere / "file") > 0


def test_machine_code_of_old_sources_goes(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for number in range(12):
        folder = tmp_path / "weft" / f"{number:020x}"
        folder.mkdir(parents=True)
        os.utime(folder, (number, number))
    found = jit.cache_folder.__wrapped__()
    assert found is not None
    left = sorted(path.name for path in (tmp_path / "weft").iterdir())
    assert left == sorted([found.name, *(f"{number:020x}" for number in range(5, 12))])
