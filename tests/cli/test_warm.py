"""`weft warm`, and what doctor and demo make of it, as a user sees them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from weft.cli import app, doctor, warm
from weft.cli.warm import CompiledKernels
from weft.cli.warm_joins import WarmStep


@pytest.fixture
def ran(monkeypatch) -> list[str]:
    """Put two steps, of which one compiles, in the place of the real ones; return what ran."""
    ran: list[str] = []
    kept: dict[str, str] = {"old": ""}

    def compiles() -> None:
        ran.append("one")
        kept["new"] = ""

    monkeypatch.setattr(warm, "STEPS", (WarmStep("one", (compiles,)), WarmStep("two", (lambda: ran.append("two"),))))
    monkeypatch.setattr(warm, "kept_variants", lambda: dict(kept))
    monkeypatch.setattr(warm, "note_compiled", lambda: CompiledKernels(len(kept), len(kept), "/cache"))
    monkeypatch.setattr(warm, "compiled", lambda: CompiledKernels(len(kept), None, "/cache"))
    return ran


def call(*words: str) -> Any:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "110", "TERM": "dumb"})


def test_plain_lines_where_there_is_no_terminal(ran) -> None:
    done = call("warm")
    assert done.exit_code == 0 and ran == ["one", "two"]
    assert "one: 1 compiled, " in done.output and "two: 0 compiled, " in done.output
    assert "Kernels compiled: 2 of 2, in /cache; 1 of them now, in 0 s." in done.output
    assert "Kernels compiled: 2 of 2, in /cache; all of them before." in call("warm").output


def test_json_has_seconds_and_counts(ran) -> None:
    data = json.loads(call("warm", "--json").stdout)
    assert (data["compiled"], data["variants"], data["folder"]) == (1, 2, "/cache")
    assert data["seconds"] >= 0
    assert [(step["name"], step["compiled"]) for step in data["steps"]] == [("one", 1), ("two", 0)]


def test_a_demo_warms_what_it_needs_unless_it_is_warm(ran, monkeypatch) -> None:
    warm.warm_for("two", quiet=True)
    assert ran == ["two"]
    monkeypatch.setattr(warm, "compiled", lambda: CompiledKernels(2, 2, "/cache"))
    warm.warm_for("two", quiet=True)
    assert ran == ["two"]


@pytest.mark.parametrize(
    ("now", "verdict", "found"),
    [
        (CompiledKernels(9, 9, "/c"), "ok", "compiled: 9 of 9, in /c"),
        (CompiledKernels(4, 9, "/c"), "warn", "partly compiled: 4 of 9, in /c"),
        (CompiledKernels(4, None, "/c"), "warn", "partly compiled: 4 by earlier joins, in /c"),
        (CompiledKernels(0, None, "/c"), "warn", "not compiled, in /c"),
    ],
)
def test_doctor_tells_whether_kernels_are_compiled(monkeypatch, now, verdict, found) -> None:
    monkeypatch.setattr("weft.cli.warm.compiled", lambda: now)
    check = doctor.check_kernels()
    assert (check.name, check.verdict, check.found) == ("kernels", verdict, found)
    assert ("run `weft warm`" in check.todo) == (verdict == "warn")


def test_doctor_tells_when_it_cannot_tell(monkeypatch) -> None:
    def fail() -> CompiledKernels:
        raise AttributeError("no _cache")

    monkeypatch.setattr("weft.cli.warm.compiled", fail)
    assert doctor.check_kernels().found == "cannot tell whether they are compiled: no _cache"
