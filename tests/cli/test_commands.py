"""The commands as a user calls them, as far as they need no Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import weft
from tests.observe.folder import QUERY, write_state
from weft.cli import app
from weft.cli.doctor import check_facts, check_java
from weft.cli.output import exit_code, size
from weft.errors import JobError, NoSuchState, SpecError, StateError, StateMismatch
from weft.spark.jobs import cause

PLANT = Path(__file__).parent / "plant.toml"
COMMANDS = [
    "demo",
    "run",
    "explain",
    "doctor",
    "warm",
    "state",
    "state ls",
    "state show",
    "state rm",
]


def call(*words: str | Path) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "110", "TERM": "dumb"})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command) -> None:
    done = call(*command.split(), "--help")
    assert done.exit_code == 0
    assert "Usage" in done.output
    if command != "state":
        assert "Examples" in done.output and f"weft {command}" in done.output and "--json" in done.output


def test_version_and_usage() -> None:
    assert call("--version").output.strip() == f"weft {weft.__version__}"
    assert call("run").exit_code == 2
    assert call("walk").exit_code == 2
    assert call("run", PLANT, "--nonsense").exit_code == 2


def test_python_m_weft_is_the_same() -> None:
    done = subprocess.run([sys.executable, "-m", "weft", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"weft {weft.__version__}"


def test_the_job_file_in_the_help_of_run_is_sound(tmp_path) -> None:
    shown = call("run", "--help").output
    first, last = shown.index("checkpoint ="), shown.index("available_now")
    lines = [line.strip() for line in shown[first:last].splitlines()]
    assert {"[left]", "[join]", "[sink]", "[trigger]"} <= {line.split("#")[0].strip() for line in lines}


@pytest.fixture
def plant(tmp_path, monkeypatch) -> Path:
    """Return a folder, and work in it, where the sources of the plant's job are."""
    for side in ("left", "right"):
        (tmp_path / "data" / side).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sound_job_is_checked_without_spark(plant) -> None:
    done = call("run", PLANT, "--check")
    assert done.exit_code == 0 and "has no mistakes that can be found without Spark" in done.output
    assert json.loads(call("run", PLANT, "--check", "--json").output) == {"job": str(PLANT), "ok": True}


def test_a_bad_job_exits_2_with_all_mistakes_and_no_traceback(plant) -> None:
    bad = plant / "bad.toml"
    bad.write_text(
        PLANT.read_text(encoding="utf-8").replace("l.v1", "l.v9").replace("within", "withn"), encoding="utf-8"
    )
    for command in ("run", "explain"):
        done = call(command, bad)
        assert done.exit_code == 2
        assert "has 2 mistakes" in done.output and "[join].on" in done.output and "line 14" in done.output
        assert "Traceback" not in done.output
    data = json.loads(call("run", bad, "--json").output)
    assert [(m["key"], m["line"]) for m in data["mistakes"]] == [("[join].on", 14), ("[join].window.kind", 15)]
    assert call("run", plant / "none.toml").exit_code == 2


def test_what_this_machine_cannot_do_is_told_before_spark_starts(plant) -> None:
    """Each at its key and line, and nothing is left behind by looking."""
    (plant / "data" / "right").rmdir()
    (plant / "out").write_text("a file", encoding="utf-8")
    (plant / "job.toml").write_text(
        PLANT.read_text(encoding="utf-8").replace('"out/pairs"', '"/proc/pairs"'), encoding="utf-8"
    )
    data = json.loads(call("run", "job.toml", "--check", "--json").output)
    said = {mistake["key"]: (mistake["line"], mistake["what"]) for mistake in data["mistakes"]}
    assert said["[right].path"] == (10, f"There is no {plant}/data/right. {plant}/data has: left.")
    for key, line in (("checkpoint", 1), ("[join].state", 16)):
        assert said[key] == (line, f"It cannot be written: {plant}/out is a file, not a folder.")
    assert said["[sink].path"][0] == 20 and "no file can be created in /proc" in said["[sink].path"][1]
    (plant / "out").unlink()
    (plant / "data" / "right").mkdir()
    assert call("run", PLANT, "--check").exit_code == 0
    assert {path.name for path in plant.iterdir()} == {"data", "job.toml"}


@pytest.mark.parametrize("command", [("run", PLANT), ("run", PLANT, "--check"), ("explain", PLANT), ("doctor",)])
def test_a_master_that_spark_does_not_know(command) -> None:
    done = call(*command, "--master", "lokal[2]", "--json")
    assert done.exit_code == 2
    said = json.loads(done.output)["message"]
    assert "'lokal[2]' is not a master that Spark knows" in said and 'Hint: write --master "local[2]"' in said


def test_exit_codes() -> None:
    kinds = (JobError, SpecError, StateMismatch, NoSuchState, StateError)
    assert [exit_code(kind("x")) for kind in kinds] == [2, 2, 2, 2, 1]


def test_state_ls(tmp_path) -> None:
    write_state(tmp_path)
    done = call("state", "ls", tmp_path)
    assert done.exit_code == 0 and QUERY in done.output and "matrix" in done.output
    (line,) = json.loads(call("state", "ls", tmp_path, "--json").output)
    assert (line["query"], line["batch"], line["tasks"]) == (QUERY, 3, 2)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "No query has state" in call("state", "ls", empty).output
    missing = call("state", "ls", tmp_path / "nowhere")
    assert missing.exit_code == 2 and "There is no" in missing.output and "Traceback" not in missing.output


def test_state_ls_tells_what_is_wrong_and_fails(tmp_path) -> None:
    query = write_state(tmp_path)
    file = tmp_path / "job.toml"
    file.write_text("")
    done = call("state", "ls", file)
    assert done.exit_code == 2
    assert "is a file" in done.output
    (query / "spec.json").write_text("{")
    done = call("state", "ls", tmp_path)
    assert done.exit_code == 1
    assert "spec.json" in done.output
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "It is empty." in call("state", "show", empty).output
    assert "There is no such folder." in call("state", "show", tmp_path / "nowhere").output


def test_the_error_of_a_task_ends_where_its_words_end() -> None:
    told = "weft.errors.StateError: 0/1-0.arrow is missing.\nIt was written.\nHint: restore it."
    for behind in (" SQLSTATE: 38000\n=== Streaming Query ===", "\n\nDriver stacktrace:", "\n\tat org.apache.spark"):
        error = cause(f"[STREAM_FAILED] ...\n{told}{behind}\nCurrent Committed Offsets: {{}}")
        assert isinstance(error, StateError)
        assert str(error) == told.removeprefix("weft.errors.StateError: ")


def test_state_show(tmp_path) -> None:
    query = write_state(tmp_path)
    done = call("state", "show", tmp_path / "0c5a")
    assert done.exit_code == 0
    for said in (
        "batch 3, the latest",
        "matrix, 1 x 2, 2 tasks: first plan",
        "1970-01-01 00:00:34",
        "0 to 3",
    ):
        assert said in done.output
    assert json.loads(call("state", "show", tmp_path, "--json").output)["last_good"] == 3
    assert "after batch 1" in call("state", "show", tmp_path, "--batch", "1").output
    assert call("state", "show", tmp_path, "--batch", "17").exit_code == 2
    assert call("state", "show", tmp_path / "nowhere").exit_code == 2
    data = json.loads(call("state", "show", tmp_path, "--json").output)
    assert (data["self_join"], data["unordered"]) == (False, False)
    assert data["late"] == data["late_kept"] == {"left": 0, "right": 0} and data["late_batches"] == []
    (query / "plans" / "4.json").unlink()
    harmed = call("state", "show", tmp_path)
    assert harmed.exit_code == 1
    assert "batch 2, of 3" in harmed.output and f"{query}/plans/4.json: it is missing" in harmed.output
    data = json.loads(call("state", "show", tmp_path, "--json").output)
    assert data["damage"] == [{"file": f"{query}/plans/4.json", "why": "it is missing", "batch": 3}]


@pytest.mark.parametrize(
    "content", ["no command", "#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n", "#!/bin/sh\nexit 1\n"]
)
def test_doctor_sees_a_java_that_will_not_do(tmp_path, monkeypatch, content) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(content, encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check = check_java()
    assert check.verdict == "fail" and "JAVA_HOME" in check.found and "17" in check.todo


def test_doctor_judges_facts() -> None:
    versions = {
        "pyspark": "4.0.1",
        "pyarrow": "26.0.0",
        "numpy": "2.0.0",
        "numba": None,
        "sqlglot": "30.1",
        "pandas": "3.0.0",
    }
    facts = {
        "host": "h", "python": "3.9.1", "executable": "py", "versions": versions, "cores": 8, "memory": 3 << 30,
        "cache": {"folder": "/x", "writable": False}, "disk": 1 << 30, "state": "/x cannot be written", "kernel": "",
    }  # fmt: skip
    verdicts = {check.name: check.verdict for check in check_facts(facts, "executor h")}
    failing = {name for name, verdict in verdicts.items() if verdict == "fail"}
    assert failing == {"Python", "pyspark", "numba", "pandas", "state path"}
    assert {name for name, verdict in verdicts.items() if verdict == "warn"} == {"kernel cache", "memory", "disk"}
    assert all(check.todo for check in check_facts(facts, "h") if check.verdict != "ok")


def test_demo_does_not_empty_a_folder_of_others(tmp_path) -> None:
    (tmp_path / "thesis.tex").touch()
    done = call("demo", "--out", tmp_path)
    assert (
        done.exit_code == 2 and "no demo wrote" in " ".join(done.output.split()) and (tmp_path / "thesis.tex").exists()
    )


def test_sizes_are_readable() -> None:
    assert [size(n) for n in (5, 1500, 2_500_000, 3.2e12)] == ["5 B", "1.5 kB", "2.5 MB", "3.2 TB"]
