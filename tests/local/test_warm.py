"""Kernels compiled ahead: what runs for it, and what is known of it afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.errors import WeftError
from weft.index import INDEXES
from weft.kernels.compiled import cache_folder, kept_variants
from weft.local import compiled as record
from weft.local.warm import STEPS

ROOT = Path(__file__).parents[2]
FIRST = """
import sys, numpy as np, pyarrow as pa, weft
from weft.kernels.compiled import told_of_compiling
draw, told = np.random.default_rng(1), []
def table():
    return pa.table({"id": np.arange(3000), "x": draw.random(3000), "g": draw.random(3000), "k": draw.integers(0, 99, 3000),
                     "ts": pa.array(np.arange(3000) * 1000, pa.timestamp("us"))})
window = weft.within("10 seconds", on="ts")
with told_of_compiling(told.append):
    for on in ("abs(l.x - r.x) <= 0.0001", "l.x > r.x AND l.g < r.g - 0.99", "l.k = r.k AND l.x < r.x - 0.9"):
        for tasks in (1, 3):
            assert weft.local.join(table(), table(), on=on, window=window, batch=500, tasks=tasks).num_rows
sys.exit(f"compiled {told}" if told else 0)
"""


def python(cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a new process with a cache of its own."""
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env={**os.environ, "NUMBA_CACHE_DIR": str(cache)}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_after_weft_warm_a_new_process_compiles_nothing(tmp_path) -> None:
    cold = python(tmp_path / "cold", "-c", FIRST)
    assert cold.returncode == 1 and "compiled ['" in cold.stderr
    done = python(tmp_path / "warm", "-m", "weft", "warm", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["compiled"] == said["variants"] > 150 and said["seconds"] > 0
    assert [step["name"] for step in said["steps"]] == [step.name for step in STEPS]
    first = python(tmp_path / "warm", "-c", FIRST)
    assert first.returncode == 0, first.stderr
    again = json.loads(python(tmp_path / "warm", "-m", "weft", "warm", "--json").stdout)
    assert (again["compiled"], again["variants"]) == (0, said["variants"])
    ask = "from weft.local.compiled import compiled; print(compiled())"
    assert python(tmp_path / "warm", "-c", ask).stdout.startswith(
        f"compiled: {said['variants']} of {said['variants']}, in "
    )
    for file in list((tmp_path / "warm").rglob("*.nbi"))[:9]:
        file.unlink()
    assert python(tmp_path / "warm", "-c", ask).stdout.startswith("partly compiled: ")


def test_every_index_is_warmed() -> None:
    said = repr(STEPS)
    assert [name for name in INDEXES if name != "runs" and repr(name) not in said] == []
    assert len({step.name for step in STEPS}) == len(STEPS)


def test_a_variant_is_known_by_its_file() -> None:
    weft.local.join(*[_table()] * 2, on="l.x < r.x")
    there = kept_variants()
    assert there and all(Path(file).suffix == ".nbc" for file in there.values())
    assert Path(cache_folder()).is_dir()


def _table() -> Any:
    import pyarrow as pa

    return pa.table({"x": [1, 2, 3]})


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """Return a folder with three variants, which stands for Numba's."""
    kept = {name: tmp_path / f"{number}.nbc" for number, name in enumerate(("near 1", "near 2", "sort 1"))}
    for file in kept.values():
        file.touch()
    monkeypatch.setattr(record, "cache_folder", lambda: str(tmp_path))
    monkeypatch.setattr(record, "kept_variants", lambda: {name: str(file) for name, file in kept.items()})
    return tmp_path


def test_what_is_compiled_is_compared_with_what_was_noted(cache) -> None:
    assert str(record.compiled()) == f"partly compiled: 3 by earlier joins, in {cache}"
    assert not record.compiled().all
    assert str(record.note_compiled()) == str(record.compiled()) == f"compiled: 3 of 3, in {cache}"
    assert record.compiled().all
    (cache / "0.nbc").unlink()
    assert str(record.compiled()) == f"partly compiled: 2 of 3, in {cache}"
    for file in cache.glob("*.nbc"):
        file.unlink()
    assert str(record.compiled()) == f"not compiled, in {cache}"
    assert [path.name for path in cache.iterdir()] == ["weft-warm.json"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"weft": "0.0.1", "variants": ["near 1"]}', '{"weft": 7}'])
def test_a_record_of_another_version_or_a_damaged_one_says_nothing(cache, content) -> None:
    (cache / "weft-warm.json").write_text(content, encoding="utf-8")
    assert record.compiled().wanted is None


def test_a_folder_that_cannot_be_written_is_told(cache, monkeypatch) -> None:
    monkeypatch.setattr(record, "_RECORD", "no/such/folder.json")
    with pytest.raises(
        WeftError, match=r"Nothing can be kept in .*\nNumba keeps machine code there.\nHint: set NUMBA_CACHE_DIR"
    ):
        record.note_compiled()
