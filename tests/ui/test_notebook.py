"""Notebooks: executed with a kernel, they show state, migrations, explanations, and a query that updates in place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.ui.states import HOSTILE, Ticks
from weft.observe import Migration, inspect_query
from weft.observe.markup import html_table

nbformat = pytest.importorskip("nbformat")

CELLS = [
    """
import sys; sys.path.insert(0, {root!r})
from pathlib import Path
import weft
from weft.observe import inspect_query, ui, watch
inspect_query({state!r})
""",
    "inspect_query({state!r}).migrations[-1][1]",
    "weft.local.explain(*[__import__('tests.ui.states').ui.states.TICKS] * 2, on='l.sym = r.sym', window=weft.last(5))",
    "pages = ui({state!r}); pages",
    "from urllib.request import urlopen; print(urlopen(pages.url).status); pages.stop()",
    """
import json
class Batch:
    def __init__(self, number):
        self.json = json.dumps(dict(batchId=number, numInputRows=3000, durationMs=dict(addBatch=1, triggerExecution=500)))
class Query:
    id, name, isActive, recentProgress = "ticks", "<i>ticks</i>", True, []
    def step(self):
        self.recentProgress.append(Batch(len(self.recentProgress)))
        self.isActive = len(self.recentProgress) < 3
query = Query()
from weft.observe import notebook
notebook._states = lambda query: [{state!r} + "/ticks"]
notebook.time.sleep = lambda seconds: query.step()
watch(query)
""",
]


def test_a_notebook_runs_and_shows(tmp_path: Path) -> None:
    from nbclient import NotebookClient

    Ticks(tmp_path / "state").feed(9)
    root = str(Path(__file__).parents[2])
    cells = [nbformat.v4.new_code_cell(cell.format(root=root, state=str(tmp_path / "state")).strip()) for cell in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()

    def shown(number: int) -> str:
        outputs: list[Any] = notebook.cells[number].outputs
        return "".join(one.get("data", {}).get("text/html", "") + one.get("text", "") for one in outputs)

    assert "State of ticks" in shown(0) and "Migrations" in shown(0)
    assert "rows moved" in shown(1)
    assert "scheme" in shown(2)
    assert 'href="http://127.0.0.1:' in shown(3) and shown(4).startswith("200")
    displays = [one for one in notebook.cells[5].outputs if one.output_type == "display_data"]
    assert len(displays) == 1, "one table, updated in place"
    assert "&lt;i&gt;ticks&lt;/i&gt;, stopped" in shown(5) and "<i>" not in shown(5)
    assert shown(5).count("<tr>") == 4


def test_hostile_texts_stay_text() -> None:
    table = html_table([HOSTILE], [[HOSTILE, 1_000]], HOSTILE)
    assert HOSTILE not in table and "1,000" in table
    assert HOSTILE not in Migration(HOSTILE, HOSTILE)._repr_html_()


def test_damage_is_shown(tmp_path: Path) -> None:
    Ticks(tmp_path).feed(2)
    (tmp_path / "ticks" / "1" / "1.json").write_text("{}")
    assert "Damaged" in inspect_query(str(tmp_path / "ticks"))._repr_html_()
