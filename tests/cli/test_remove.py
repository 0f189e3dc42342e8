"""`weft state rm` as a user calls it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.observe.leftover_states import ONE, TWO, spark_checkpoint, stored
from weft.cli import app
from weft.cli import state as commands


def call(*words: object, answer: str | None = None) -> Any:
    words = ("state", "rm", *words)
    return CliRunner().invoke(app, [str(word) for word in words], input=answer, env={"COLUMNS": "110", "TERM": "dumb"})


@pytest.fixture
def state(tmp_path):
    """Return a state path with a stale query of two joins, one with a checkpoint, one that may be running."""
    path = tmp_path / "state"
    stored(path, ONE, "join-1", checkpoint=f"{tmp_path}/gone")
    stored(path, TWO, checkpoint=str(spark_checkpoint(tmp_path / "there", TWO)))
    stored(path, TWO.replace("7d", "8e"), seconds=60)
    return path


def left(state) -> set[str]:
    return {path.name[:2] for path in state.iterdir()}


def test_a_dry_run_lists_and_removes_nothing(state) -> None:
    done = call(state, "--stale", "--dry-run")
    assert done.exit_code == 0
    for said in (
        f"{ONE}  checkpoint gone  ", "l.x <= r.x  (join-1)", "UTC, 2 hours ago", f"checkpoint {state.parent}/gone",
        "may be running: checkpoint unknown, but it wrote recently", "Skipped: 1 with a checkpoint.",
        "Would be removed: 1 query, ", "Nothing was removed.",
    ):  # fmt: skip
        assert said in done.output
    assert left(state) == {"0c", "7d", "8e"}


def test_it_asks_on_a_terminal(state, monkeypatch) -> None:
    monkeypatch.setattr(commands, "_terminal", lambda: True)
    done = call(state, "--stale", answer="n\n")
    assert done.exit_code == 1
    assert "Remove 1 query, " in done.output and "Nothing was removed." in done.output
    assert left(state) == {"0c", "7d", "8e"}
    done = call(state, "--stale", answer="y\n")
    assert done.exit_code == 0
    assert "Removed: 1 query, " in done.output
    assert left(state) == {"7d", "8e"}
    assert "is stale" in call(state, "--stale").output


def test_it_refuses_where_nobody_can_say_yes(state) -> None:
    for extra, why in (((), "There is no terminal to ask on."), (("--json",), "--json does not ask.")):
        done = call(state, "--stale", *extra)
        assert done.exit_code == 2
        said = " ".join(done.output.split())
        assert "it was not confirmed" in said and why in said and "add --yes to remove it" in said
    assert left(state) == {"0c", "7d", "8e"}


def test_one_query_by_the_start_of_its_id(state) -> None:
    done = call(state, "7d1f", "--yes")
    assert done.exit_code == 0
    assert "asked for" in done.output and "its checkpoint exists, and cannot be used afterwards" in done.output
    assert left(state) == {"0c", "8e"}
    done = call(state, "7d1f", "--yes")
    assert done.exit_code == 2 and "No query under" in done.output


def test_idle_minutes(state) -> None:
    assert call(state, "--stale", "--idle", "0", "--yes").exit_code == 0
    assert left(state) == {"7d"}


def test_json(state) -> None:
    data = json.loads(call(state, "--stale", "--dry-run", "--json").output)
    assert data["dry_run"] is True
    (one,) = data["queries"]
    assert (one["query"], one["why"], one["removed"]) == (ONE, "checkpoint gone", False)
    assert one["folders"] == [ONE, f"{ONE}.join-1"] and one["written"].endswith("+00:00") and one["bytes"] > 0
    assert {entry["why"] for entry in data["left"]} == {"checkpoint there", "may be running"}
    data = json.loads(call(state, "--stale", "--yes", "--json").output)
    assert [entry["removed"] for entry in data["queries"]] == [True]
    assert json.loads(call(state, "--stale", "--json").output)["queries"] == []


def test_what_fails_is_told(state, monkeypatch) -> None:
    from weft.state import Folder

    def refuse(folder: Folder) -> None:
        raise OSError("read-only")

    monkeypatch.setattr(Folder, "delete_all", refuse)
    done = call(state, "--stale", "--yes")
    assert done.exit_code == 1
    assert "cannot be removed: read-only" in " ".join(done.output.split()) and "Removed: 0 queries" in done.output
    data = json.loads(call(state, "--stale", "--yes", "--json").output)
    assert data["queries"][0]["removed"] is False and "read-only" in data["queries"][0]["error"]


def test_what_should_go_must_be_said(state) -> None:
    for words, said in (((), "No query was named."), ((ONE, "--stale"), "Both a query and --stale")):
        done = call(state, *words)
        assert done.exit_code == 2 and said in done.output
        assert "--stale." in " ".join(done.output.split())
    done = call(state.parent / "nowhere", "--stale")
    assert done.exit_code == 2 and "There is no" in done.output
