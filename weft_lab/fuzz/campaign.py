"""Runs one target for some time, guided by coverage where atheris is installed, and says what came of it."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from weft_lab.fuzz import Findings, run_plain, target_named

__all__ = ["Outcome", "run_fuzz"]

_RUNS, _COVER = re.compile(r"^#(\d+)\s", re.MULTILINE), re.compile(r"cov: (\d+) ft: (\d+)")


@dataclass(frozen=True)
class Outcome:
    """What a run did; without coverage `edges` and `features` are 0."""

    target: str
    seconds: float
    inputs: int
    edges: int
    features: int
    findings: int
    folder: Path

    def __str__(self) -> str:
        reached = f", {self.edges:,} edges, {self.features:,} features" if self.edges else ", without coverage"
        found = f"{self.findings} findings in {self.folder}" if self.findings else "no findings"
        return f"{self.target}: {self.inputs:,} inputs in {self.seconds:.0f} s{reached}, {found}"


def run_fuzz(
    target: str, seconds: float, *, findings: Path = Path("fuzz-out"), corpus: Path | None = None, seed: int = 0,
    guided: bool | None = None,
) -> Outcome:  # fmt: skip
    """Fuzz a target for some seconds.

    `corpus` keeps the inputs that reached something new, for the next run; `guided` is whether atheris looks for them, by
    default where it is installed (`pip install weft[fuzz]`).
    """
    named, folder = target_named(target), findings / target
    if not (find_spec("atheris") is not None if guided is None else guided):
        started, noted = time.monotonic(), Findings(target, folder)
        tally = run_plain(named, noted, seconds=seconds, seed=seed)
        return Outcome(target, time.monotonic() - started, tally.inputs, 0, 0, len(noted.causes), folder)
    if corpus is not None:
        return _guided(target, seconds, folder, corpus, seed)
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as made:
        return _guided(target, seconds, folder, Path(made), seed)


def _guided(target: str, seconds: float, folder: Path, corpus: Path, seed: int) -> Outcome:
    """Run libFuzzer, and again where an input took the process down, until the time is over."""
    folder.mkdir(parents=True, exist_ok=True)
    started, inputs, edges, features = time.monotonic(), 0, 0, 0
    while (left := seconds - (time.monotonic() - started)) > 1:
        options = [f"-max_total_time={int(left)}", f"-seed={seed + 1}", "-timeout=60", "-rss_limit_mb=4096",
                   f"-artifact_prefix={folder}/{target}-"]  # fmt: skip
        command = [sys.executable, "-m", "weft_lab.fuzz.guided", target, str(corpus), str(folder), *options]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        inputs += max(map(int, _RUNS.findall(done.stderr)), default=0)
        for one, two in _COVER.findall(done.stderr):
            edges, features = max(edges, int(one)), max(features, int(two))
        (folder / "log.txt").write_text(done.stderr[-100_000:], encoding="utf-8")
        seed += 1
        if not inputs:
            raise RuntimeError(f"libFuzzer did not start: {done.stderr[-2000:]}")
    found = sum(1 for path in folder.iterdir() if path.suffix != ".txt")
    return Outcome(target, time.monotonic() - started, inputs, edges, features, found, folder)
