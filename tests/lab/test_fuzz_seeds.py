"""The fuzz targets without atheris: their seeds, every input that once was a finding, and a short run that is always the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.errors import UnknownName
from weft_lab.fuzz import ANSWERED, REFUSED, TARGETS, Findings, Target, Wrong, kept_inputs, run_plain, target_named
from weft_lab.fuzz.campaign import run_fuzz

pytestmark = pytest.mark.filterwarnings("error")
KEPT = [(target, name, data) for target in TARGETS for name, data in kept_inputs(target)]
INPUTS = {"conditions": 150, "jobs": 300, "documents": 150, "state": 60}


@pytest.mark.parametrize("name", TARGETS)
def test_seeds(name: str) -> None:
    target = target_named(name)
    came = {target.run(seed) for seed in target.seeds()}
    assert ANSWERED in came and came <= {ANSWERED, REFUSED}


@pytest.mark.parametrize(
    ("target", "data"), [(one[0], one[2]) for one in KEPT], ids=[f"{one[0]}-{one[1]}" for one in KEPT]
)
def test_what_once_was_a_finding(target: str, data: bytes) -> None:
    assert target_named(target).run(data) in (ANSWERED, REFUSED)


@pytest.mark.parametrize("name", TARGETS)
def test_a_short_run(name: str, tmp_path: Path) -> None:
    findings = Findings(name, tmp_path)
    tally = run_plain(target_named(name), findings, inputs=INPUTS[name], seed=17)
    assert tally.inputs == INPUTS[name] and tally.answered
    assert not findings.causes, [path.read_text() for path in tmp_path.glob("*.txt")]


def test_a_run_is_the_same_again() -> None:
    drawn = []
    for _ in range(2):
        seen: list[bytes] = []
        jobs = target_named("jobs")
        noted = Target("jobs", lambda data, seen=seen: seen.append(data) or REFUSED, jobs.mutate, jobs.seeds)  # type: ignore[misc]
        run_plain(noted, Findings("jobs", Path("nowhere")), inputs=40, seed=3)
        drawn.append(seen)
    assert drawn[0] == drawn[1] and len(set(drawn[0])) > 30


def test_a_finding_is_kept_once_with_its_shortest_input(tmp_path: Path) -> None:
    def run(data: bytes) -> str:
        if b"x" in data:
            raise Wrong("there is an x")
        return ANSWERED

    findings = Findings("letters", tmp_path)
    target = Target("letters", run, lambda data, _draw: data, lambda: [b"axa", b"ax", b"b", b"xyz"])
    tally = run_plain(target, findings, inputs=4)
    assert (tally.answered, tally.findings, sum(findings.causes.values())) == (1, 3, 3)
    (kept,) = (path for path in tmp_path.iterdir() if path.suffix != ".txt")
    assert kept.read_bytes() == b"ax" and "there is an x" in kept.with_name(f"{kept.name}.txt").read_text()


def test_the_command_without_coverage(tmp_path: Path) -> None:
    outcome = run_fuzz("jobs", 0.5, findings=tmp_path, guided=False)
    assert outcome.inputs > 0 and not outcome.findings and "without coverage, no findings" in str(outcome)


def test_an_unknown_target() -> None:
    with pytest.raises(UnknownName, match="'conditions'"):
        target_named("condition")


def test_a_wrong_answer_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each oracle sees a pair that is not there."""
    monkeypatch.setattr("weft_lab.fuzz.conditions._joined", lambda _made, _rows: [])
    monkeypatch.setattr("weft_lab.fuzz.documents.joins", lambda _one, _two: False)
    monkeypatch.setattr("weft_lab.fuzz.streams.Rows.join", lambda *_: (3, []))
    monkeypatch.setattr("weft_lab.fuzz.streams.Stream.folder", lambda _self, other: Path(__file__).parent)
    for name, data in (
        ("conditions", b"l.i = r.i"), ("documents", b'{"a": 1}\n{"a": 1}'), ("state", b"\0"),
    ):  # fmt: skip
        with pytest.raises(Wrong):
            target_named(name).run(data)


def test_duckdb_is_asked_where_it_means_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.setattr("weft_lab.fuzz.conditions._nested_loop", lambda _tree: [])
    with pytest.raises(Wrong, match="than DuckDB"):
        target_named("conditions").run(b"l.i = r.i OR l.s < r.s AND NOT l.b")
