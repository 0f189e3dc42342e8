"""The A-DSP figures hold, also when they are small: they count tuples and tasks, not seconds."""

from __future__ import annotations

import pytest

from weft_lab.papers.adsp import FIGURES
from weft_lab.papers.adsp.models import BicliqueLoad, IdealLoad
from weft_lab.papers.adsp.runs import query_named, run, stream


@pytest.mark.paper("001-48", "001-49")
@pytest.mark.parametrize("name", ["10a", "12a", "13b", "17c"])
def test_a_figure_holds_and_states_its_claim(name):
    figure = FIGURES[name](0.1)
    assert figure.id == name and figure.claim and figure.verdict and "001-48" in figure.papers
    assert all(len(row) == len(figure.columns) for row in figure.rows)
    assert figure.holds and figure.to_json()["holds"], figure.verdict


def test_every_figure_of_the_paper_is_there():
    assert {name[:2] for name in FIGURES} == {"10", "11", "12", "13", "14", "15", "16", "17"}


@pytest.mark.paper("001-50")
def test_tasks_of_a_full_band_are_as_in_the_paper():
    """§5.3 names 13, 16, 64, 12 and 6 tasks; volumes here are such that Square needs its 16."""
    tasks = {s: run(s, "B_MR", 1.0, 400, 24, 3.6, 2).final_tasks for s in ("A-DSP", "Square", "Dynamic", "Bi6", "Bi")}
    assert tasks["Square"] == 16 and tasks["Dynamic"] == 64 and tasks["Bi6"] == 12
    assert 13 <= tasks["A-DSP"] < 16
    assert tasks["Bi"] <= 6


@pytest.mark.paper("001-43")
def test_the_biclique_model_asks_all_of_the_other_side():
    query = query_named("B_MR")
    load = BicliqueLoad(1, 1_000, query.reach)
    for left, right in stream(query, [(500, 300)] * 6, 0.0):
        seen = load.step(left, right)
    lefts = int(load.tasks[0].sum())
    assert set(seen.asked[:lefts]) == {300} and set(seen.asked[lefts:]) == {500}
    assert abs(int(seen.held.sum()) - 6 * 800) < 20
    assert seen.held.max() <= 0.8 * 1_000


@pytest.mark.paper("001-43", "001-50")
def test_ideal_is_square_with_all_it_wants():
    query = query_named("B_MR")
    load = IdealLoad(1_000, window=2)
    for left, right in stream(query, [(500, 500)] * 6, 0.0):
        seen = load.step(left, right)
    assert seen.active == 9 and seen.held.max() <= 1_000 and not seen.moved
