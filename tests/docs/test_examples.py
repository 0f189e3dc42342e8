"""The programs in examples/ run, on the shared session, and find what their text says; a second run tells nothing twice."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_silent_machines(spark, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = runpy.run_path(str(EXAMPLES / "alerting" / "silent.py"))
    for _ in range(2):
        program["main"](tmp_path)
        (line,) = capsys.readouterr().out.splitlines()
        assert line.startswith("machine 3: ")


def test_alarms_of_a_plant(spark, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = runpy.run_path(str(EXAMPLES / "spark_submit" / "alarms.py"))
    words = ["--out", str(tmp_path / "out"), "--state", str(tmp_path / "state")]
    program["main"]([*words, "--tasks", "2"])
    # Each of the 11 readings of the fault meets the 21 readings before the transformer that are within 10 seconds.
    assert capsys.readouterr().out.startswith("231 pairs in ")
    program["main"]([*words, "--tasks", "1"])
    assert capsys.readouterr().out.startswith("231 pairs in ")
