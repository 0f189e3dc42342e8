"""Drawings of the tuple matrix say what the plan does."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from weft.errors import SpecError
from weft.planner import draw, draw_svg
from weft.routing import AreaPlan, HashPlan
from weft.routing.adsp import EVERY, Varietal, lay
from weft.types import WORD_MAX, WORD_MIN

PLAN = AreaPlan(
    12,
    (
        lay(Varietal(1, 2), (WORD_MIN, 4), (WORD_MIN, 6), (0, 1)),
        lay(Varietal(3, 2, 2, "column", 0.2), (5, WORD_MAX), (3, 9), tuple(range(2, 10))),
        lay(Varietal(1, 1), (7, WORD_MAX), (10, WORD_MAX), (10,)),
    ),
    (0, 0),
)


@pytest.mark.paper("001-01")
def test_the_text_shows_areas_tasks_and_copies():
    lines = draw(PLAN).splitlines()
    assert lines[:3] == ["AA..", ".BB.", ".BBC"]
    assert lines[3] == "A  up to 4 x up to 6: 1 x 2 on tasks 0 1; a left row 2 x, a right row 1 x"
    assert lines[4].startswith(
        "B  from 5 x 3..9: 3 x 2 and 2 in a shorter column on tasks 2 3 4 5 6 7 8 9; a left row 3 x"
    )
    assert lines[-1] == "11 of 12 tasks in use"


def test_what_tasks_hold_is_added():
    text = draw(PLAN, {task: 10 * task for task in range(12)})
    assert "on tasks 0 (0) 1 (10);" in text
    assert text.endswith("11 of 12 tasks in use, 0 to 100 tuples each, 550 with copies")


def test_the_svg_has_every_task():
    tree = ET.fromstring(draw_svg(PLAN, {3: 17}))
    titles = [one.text or "" for one in tree.iter("{http://www.w3.org/2000/svg}title")]
    assert {title.split(",")[0] for title in titles if title.startswith("task")} == {f"task {n}" for n in range(11)}
    assert "task 3, 17 tuples" in titles
    for one in tree.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(one.get("width", 0)) > 0 and float(one.get("height", 0)) > 0


def test_other_plans_have_no_areas():
    with pytest.raises(SpecError, match="has no areas to draw"):
        draw(HashPlan(3))
    assert draw(AreaPlan(2, (lay(Varietal(1, 1), EVERY, EVERY, (0,)),))).startswith(
        "A\nA  all keys x all keys: 1 x 1 on task 0;"
    )
