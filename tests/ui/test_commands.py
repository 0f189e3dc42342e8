"""`weft ui` and `weft state plot` as commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.ui.states import Ticks
from weft.cli.app import app


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("state")
    Ticks(home).feed(3)
    return home


def test_a_life_is_written_into_one_file(state: Path, tmp_path: Path) -> None:
    file = tmp_path / "life.html"
    done = CliRunner().invoke(app, ["state", "plot", str(state), "--out", str(file), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["queries"] == ["ticks"]
    page = file.read_text(encoding="utf-8")
    assert (
        'id="weft-data"' in page
        and "<script src" not in page
        and "http" not in page.partition("</head>")[0].replace("http-equiv", "")
    )


def test_what_cannot_be_plotted_or_shown_is_told(state: Path, tmp_path: Path) -> None:
    nothing = CliRunner().invoke(app, ["state", "plot", str(tmp_path), "--out", str(tmp_path / "x.html")])
    assert nothing.exit_code == 2 and "No query has state" in nothing.output
    unwritten = CliRunner().invoke(app, ["state", "plot", str(state), "--out", str(tmp_path / "no" / "x.html")])
    assert unwritten.exit_code == 2 and "cannot be written" in unwritten.output
    public = CliRunner().invoke(app, ["ui", str(state), "--host", "0.0.0.0"])
    assert public.exit_code == 2 and "there is no token" in public.output


def test_the_pages_are_served_until_somebody_stops_them(state: Path) -> None:
    command = [sys.executable, "-m", "weft", "ui", str(state), "--port", "0", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as running:
        assert running.stdout is not None
        url = json.loads(running.stdout.readline())["url"]
        with urllib.request.urlopen(f"{url}api/queries", timeout=30) as answer:
            assert "queries" in json.load(answer)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 0
