"""The commands of the laboratory, as far as they need no Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

import weft
from weft.cli import app as weft_app
from weft_lab.cli import app
from weft_lab.papers import SYSTEMS

GROUPS = ("bench",)
COMMANDS = [
    *GROUPS,
    *(
        f"bench {name}"
        for name in (
            "kernel",
            "spark",
            "kinds",
            "table",
            "asof",
            "sta",
            "documents",
            "skew",
            "drift",
            "inequality",
            "bands",
            "tasks",
        )
    ),
    "paper",
]


def call(*words: str) -> Any:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "110", "TERM": "dumb"})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    done = call(*command.split(), "--help")
    assert done.exit_code == 0
    assert "Usage" in done.output
    if command not in GROUPS:
        assert "Examples" in done.output and f"weft-lab {command}" in done.output and "--json" in done.output


def test_version_and_usage() -> None:
    assert call("--version").output.strip() == f"weft-lab {weft.__version__}"
    assert call("measure").exit_code == 2
    done = subprocess.run([sys.executable, "-m", "weft_lab", "--help"], capture_output=True, text=True, check=True)
    assert "bench" in done.stdout and "paper" in done.stdout


@pytest.mark.parametrize("command", ["bench", "papers"])
def test_weft_itself_measures_nothing(command: str) -> None:
    assert CliRunner().invoke(weft_app, [command]).exit_code == 2


def test_bench_refuses_nonsense() -> None:
    done = call("bench", "kernel", "--windows", "x")
    assert done.exit_code == 2 and "whole numbers" in done.output


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_figures_of_a_paper_are_listed(system: str) -> None:
    assert json.loads(call("paper", system, "--list", "--json").output)


def test_a_paper_or_figure_that_is_not_there_is_named() -> None:
    unknown = call("paper", "pin")
    assert unknown.exit_code == 2 and "did you mean 'pim'" in unknown.output.replace("\n", " ")
    figure = call("paper", "pim", "--figure", "99")
    assert figure.exit_code == 2 and "no figure named '99'" in figure.output
