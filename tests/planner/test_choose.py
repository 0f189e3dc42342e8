"""The plan is tested, not only the rows: which scheme and index, and how `explain` says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import weft
from weft.errors import SpecError, UnknownName
from weft.spec import Window

SCHEMA = pa.schema({"id": pa.int64(), "x": pa.float64(), "y": pa.float64(), "s": pa.string(), "ts": pa.timestamp("us")})

CASES: dict[str, tuple[str, Window, str, str]] = {
    "equality": ("l.id = r.id", weft.within("1 minute", on="ts", delay="10 seconds"), "fastjoin", "runs"),
    "band": ("abs(l.x - r.x) <= 0.5", weft.within("1 minute", on="ts"), "ordered", "runs"),
    "interval": ("l.x BETWEEN r.x AND r.y", weft.unbounded(), "ordered", "runs"),
    "inequality": ("l.x > r.x", weft.last(1000, order="ts"), "ordered", "runs"),
    "two inequalities": (
        "l.x > r.x AND l.y < r.y",
        weft.tumbling("5 minutes", on="ts", delay="1 minute"),
        "ordered",
        "runs",
    ),
    "not equal": ("l.id != r.id", weft.unbounded(), "matrix", "scan"),
    "residual": ("l.s LIKE r.s", weft.tumbling_rows(100), "matrix", "scan"),
}


@pytest.mark.parametrize("name", CASES)
def test_auto_chooses(name: str, golden: Callable[[str, str], None]) -> None:
    on, window, scheme, index = CASES[name]
    explanation = weft.local.explain(SCHEMA, SCHEMA, on=on, window=window, tasks=4)
    parts = explanation.to_dict()
    assert parts["scheme"].startswith(f"{scheme} over 4 tasks")
    assert parts["index"].startswith(f"{index}:")
    golden(f"explain-{name.replace(' ', '-')}.txt", str(explanation) + "\n")


def test_kinds_say_which_rows_leave_and_when(golden: Callable[[str, str], None]) -> None:
    within = weft.within(before="1 minute", after="10 seconds", on="ts", delay="5 seconds")
    asked: dict[str, tuple[str, Window]] = {
        "left": ("abs(l.x - r.x) <= 0.5 AND l.y > 0", within),
        "full": ("l.x < r.x", within),
        "left_semi": ("l.id = r.id", weft.last(1000)),
        "left_anti": ("l.id = r.id AND l.s LIKE r.s", weft.tumbling("5 minutes", on="ts", delay="0 seconds")),
    }
    for how, (on, window) in asked.items():
        text = str(weft.local.explain(SCHEMA, SCHEMA, on=on, how=how, window=window, tasks=4))
        golden(f"explain-how-{how}.txt", text + "\n")


def test_one_task_needs_no_ranges() -> None:
    parts = weft.local.explain(SCHEMA, SCHEMA, on="abs(l.x - r.x) <= 0.5").to_dict()
    assert parts["scheme"] == "matrix over 1 task: one task needs no routing"


def test_one_task_has_no_skew_to_even_out() -> None:
    parts = weft.local.explain(SCHEMA, SCHEMA, on="l.id = r.id").to_dict()
    assert parts["scheme"] == "hash over 1 task: equal keys meet on one task, and every row is stored once"


def test_an_equality_costs_what_a_hash_costs_until_skew_is_measured() -> None:
    parts = weft.local.explain(SCHEMA, SCHEMA, on="l.id = r.id", tasks=4).to_dict()
    assert parts["scheme"].endswith("moves or splits keys only if measured skew requires it")
    assert parts["stored"] == parts["probes"] == "each left row 1 x, each right row 1 x"


@pytest.mark.parametrize(
    ("scheme", "plan"),
    [
        ("biclique", "a biclique, 3 subgroups for left rows and 2 for right rows"),
        ("contrand", "a biclique, 1 subgroups for left rows and 1 for right rows"),
        ("random", "a biclique, 1 subgroups for left rows and 1 for right rows"),
        ("fastjoin", "a biclique with hash in each group, plus a table of moved and split keys"),
    ],
)
def test_bicliques_are_explained(scheme: str, plan: str) -> None:
    parts = weft.local.explain(SCHEMA, SCHEMA, on="l.id = r.id", tasks=5, scheme=scheme).to_dict()
    assert parts["plan"] == plan


def test_html_escapes_what_users_wrote() -> None:
    page = weft.local.explain(SCHEMA, SCHEMA, on="l.x < r.x")._repr_html_()
    assert "l.x &lt; r.x" in page
    assert page.startswith("<table>")


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"scheme": "matrx"}, UnknownName, "did you mean 'matrix'"),
        ({"index": "b-tree"}, UnknownName, "Known: auto, boxes, bplustree, chained"),
        ({"scheme": "hash"}, SpecError, "needs an equality"),
        ({"index": "hash"}, SpecError, "needs an equality"),
        ({"scheme": weft.schemes.Matrix(rows=3, columns=2), "tasks": 4}, SpecError, "needs 6 tasks"),
        ({"tasks": 0}, SpecError, "at least 1"),
        ({"scheme": 7}, UnknownName, "no scheme named 7"),
    ],
)
def test_what_cannot_serve_is_refused(arguments: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        weft.local.explain(SCHEMA, SCHEMA, on="l.x < r.x", **arguments)
    assert says in str(caught.value)
    assert "Hint:" in str(caught.value)


def test_range_needs_something_to_cut() -> None:
    window: Window = weft.unbounded()
    with pytest.raises(SpecError, match="needs a band or an inequality"):
        weft.local.explain(SCHEMA, SCHEMA, on="l.id != r.id", window=window, scheme="range", tasks=2)


@pytest.mark.paper("001-29")
def test_areas_are_drawn() -> None:
    table = pa.schema({"x": pa.int64()})
    told = weft.local.explain(table, table, on="abs(l.x - r.x) <= 3", scheme=weft.schemes.Adsp(), tasks=6)
    assert "matrix:" in str(told) and "tasks in use" in str(told)
    assert "<svg" in told._repr_html_()


@pytest.mark.paper("002-07", "002-12")
def test_the_cost_model_chooses_the_merge_ratio_of_a_tree() -> None:
    """What is chosen is what the join takes, and what explain shows."""
    wide: dict[str, Any] = {"on": "abs(l.x - r.x) <= 0.5", "window": weft.last(1 << 20)}
    join = weft.local.Join(SCHEMA, SCHEMA, index="pim-tree", **wide)
    assert join.job.index == "pim-tree(merge_ratio=0.0625)"
    parts = weft.local.explain(SCHEMA, SCHEMA, index="pim-tree", **wide).to_dict()
    assert parts["index"].endswith("as requested; merge ratio 1/16, the cheapest by the cost model")
    assert "ns per tuple" in parts["predicted"] and "with 1,048,576 rows per side" in parts["predicted"]
    asked = weft.local.explain(SCHEMA, SCHEMA, index="pim-tree(merge_ratio=1)", **wide).to_dict()
    assert asked["index"] == "pim-tree(merge_ratio=1): as requested"
    assert "predicted" not in weft.local.explain(SCHEMA, SCHEMA, **wide).to_dict()
    timed = weft.local.explain(
        SCHEMA, SCHEMA, on="l.id = r.id", window=weft.within("1 minute", on="ts"), index="im-tree"
    )
    assert "a guess" in timed.to_dict()["predicted"]
    with pytest.raises(SpecError, match="no setting 'length'"):
        weft.local.explain(SCHEMA, SCHEMA, index="pim-tree(length=2)", **wide)
