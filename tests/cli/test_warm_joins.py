"""Kernels compiled ahead: what runs for it, and what is known of it afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.cli import warm as record
from weft.cli.warm_joins import STEPS
from weft.errors import WeftError
from weft.index import INDEXES
from weft.kernels.jit import KERNELS, cache_folder, kept_variants

ROOT = Path(__file__).parents[2]
MISSING = ("words", "two_inequalities")
"""Modules of kernels that the joins of FIRST need."""
FIRST = """
import sys, numpy as np, pyarrow as pa, weft
from weft.kernels.jit import told_of_compiling
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


def python(cache: Path | None, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a new process, with a cache of its own if there is one."""
    env = {**os.environ, **({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})}
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=env, text=True, capture_output=True, check=False)


def warmed(cache: Path | None) -> dict[str, Any]:
    """Run `weft warm` in a new process; return what it says."""
    done = python(cache, "-m", "weft", "warm", "--json")
    assert done.returncode == 0, done.stderr
    said = dict(json.loads(done.stdout))
    assert [step["name"] for step in said["steps"]] == [step.name for step in STEPS]
    assert said["variants"] > 150 and said["seconds"] > 0
    return said


def kept_in(cache: Path) -> dict[str, str]:
    """Return the variants that a new process finds in a cache."""
    ask = "import json; from weft.kernels.jit import kept_variants; print(json.dumps(kept_variants()))"
    return dict(json.loads(python(cache, "-c", ask).stdout))


def check_nothing_is_left(cache: Path, variants: int) -> None:
    """Check that a new process compiles nothing and knows that it is so; and that it would know if it were not."""
    first = python(cache, "-c", FIRST)
    assert first.returncode == 0, first.stderr
    ask = "from weft.cli.warm import compiled; print(compiled())"
    assert python(cache, "-c", ask).stdout.startswith(f"compiled: {variants} of {variants}, in ")
    for file in list(cache.rglob("*.nbi"))[:9]:
        file.unlink()
    assert python(cache, "-c", ask).stdout.startswith("partly compiled: ")


@pytest.mark.slow
@pytest.mark.timeout(900)  # the cache of all tests may be empty
def test_weft_warm_compiles_what_is_missing_and_a_new_process_nothing(tmp_path) -> None:
    """Of a copy of the cache that all tests share, without some modules; the long test below begins with nothing."""
    if not record.compiled().all:  # `make test` has just compiled them
        warmed(None)
    shared = cache_folder()
    assert shared is not None
    for name in ("cold", "warm"):  # other tests may be compiling into the shared one
        shutil.copytree(shared, tmp_path / name / "weft" / shared.name, ignore=shutil.ignore_patterns("*.tmp.*", ".*"))
    kept = kept_in(tmp_path / "warm")
    for name in ("cold", "warm"):
        for module in MISSING:
            shutil.rmtree(tmp_path / name / "weft" / shared.name / module)
    missing = [variant for variant, file in kept.items() if Path(file).parent.name in MISSING]
    cold = python(tmp_path / "cold", "-c", FIRST)
    assert cold.returncode == 1 and "compiled ['" in cold.stderr
    said = warmed(tmp_path / "warm")
    assert 0 < said["compiled"] <= len(missing)
    assert said["variants"] == len(kept) - len(missing) + said["compiled"]
    check_nothing_is_left(tmp_path / "warm", said["variants"])


@pytest.mark.long
@pytest.mark.timeout(900)
def test_weft_warm_compiles_all_that_a_new_process_needs(tmp_path) -> None:
    cold = python(tmp_path / "cold", "-c", FIRST)
    assert cold.returncode == 1 and "compiled ['" in cold.stderr
    said = warmed(tmp_path / "warm")
    assert said["compiled"] == said["variants"]
    again = warmed(tmp_path / "warm")
    assert (again["compiled"], again["variants"]) == (0, said["variants"])
    check_nothing_is_left(tmp_path / "warm", said["variants"])


def test_every_index_is_warmed() -> None:
    said = repr(STEPS)
    assert [name for name in INDEXES if name != "runs" and repr(name) not in said] == []
    assert len({step.name for step in STEPS}) == len(STEPS)


def test_a_variant_is_known_by_its_file() -> None:
    weft.local.join(*[_table()] * 2, on="l.x < r.x")
    there = kept_variants()
    assert there and all(Path(file).suffix == ".nbc" for file in there.values())


def test_kernels_of_the_laboratory_are_not_counted() -> None:
    import_module("weft_lab.kernels.tree_load")
    assert any(made.py_func.__module__.startswith("weft_lab.") for made in KERNELS)
    assert not any("weft_lab" in variant for variant in kept_variants())


def test_the_cache_has_a_folder() -> None:
    folder = cache_folder()
    assert folder is not None and folder.is_dir()


def _table() -> Any:
    import pyarrow as pa

    return pa.table({"x": [1, 2, 3]})


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """Return a folder with three variants, which stands for Numba's."""
    kept = {name: tmp_path / f"{number}.nbc" for number, name in enumerate(("near 1", "near 2", "sort 1"))}
    for file in kept.values():
        file.touch()
    monkeypatch.setattr(record, "cache_folder", lambda: tmp_path)
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
        WeftError, match=r"Nothing can be cached in .*\nCompiled kernels are cached there.\nHint: set NUMBA_CACHE_DIR"
    ):
        record.note_compiled()
