"""The FastJoin figures are made, at a small size, with rows that fit their columns."""

from __future__ import annotations

import math
from importlib import import_module

import pytest

from weft.routing import Biclique, FastJoin
from weft_lab.papers import SYSTEMS
from weft_lab.papers.fastjoin import FIGURES
from weft_lab.papers.figure import Figure
from weft_lab.simulation import measure
from weft_lab.workloads import zipf_group


def test_the_system_is_registered():
    assert import_module(SYSTEMS["fastjoin"]).FIGURES is FIGURES
    counted = ["1a", "1c", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "14b", "auto"]
    assert list(FIGURES) == [*counted, "5s", "9s", "12s"]


@pytest.mark.bench
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_made(name):
    check(name)


@pytest.mark.parametrize("name", ["1a", "14b"])
def test_a_figure_of_counts_holds(name):
    figure = check(name)
    assert figure.holds, figure.verdict


def check(name: str) -> Figure:
    figure = FIGURES[name](0.01)
    assert figure.rows and all(len(row) == len(figure.columns) for row in figure.rows)
    assert figure.claim and figure.verdict and (figure.papers or name == "auto")
    assert all(not (isinstance(cell, float) and math.isnan(cell)) for row in figure.rows for cell in row)
    return figure


@pytest.mark.paper("003-26")
def test_what_tasks_did_adds_up():
    left, right = zipf_group(1, 400, 20, 1, 1)
    one, two = ([table.slice(0, 200), table.slice(200)] for table in (left, right))
    done = measure(one, two, Biclique(), 4)
    assert sum(batch.asked.sum() for batch in done.batches) == 800, "each row asks once"
    assert done.batches[-1].held.sum() == 800, "and is kept once"
    keys = [table.column("key").to_pylist() for table in (left, right)]
    assert done.pairs == sum(keys[1].count(key) for key in keys[0])
    assert done.pairs == measure(one, two, FastJoin(), 4).pairs
