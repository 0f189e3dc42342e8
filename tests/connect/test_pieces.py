"""Texts taken apart, and Columns written as text: no server is asked."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from tests.connect_session import MODE
from weft.spark.analysis import plan_from_text
from weft.spark.analysis.plans import arrives_anyhow, mixed, values_vary
from weft.spark.connect.pieces import Names, has_query, items_of, piece_of, split_conjuncts

pytest.importorskip("grpc", reason="Spark Connect needs the extra weft[connect]")
NAMES = Names(("l", "r"), ["id", "x", "only", "odd name"], ["id", "x", "y"])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("l.x = r.x", ["l.x = r.x"]),
        ("l.x BETWEEN r.x AND r.y AND l.id > 1", ["l.x BETWEEN r.x AND r.y", "l.id > 1"]),
        ("((l.x = r.x) AND (l.id < r.id AND (l.x > 1 OR r.x > 1)))", ["l.x = r.x", "l.id < r.id", "l.x > 1 OR r.x > 1"]),
        ("l.x = r.x AND l.id = 1 OR r.id = 2", ["l.x = r.x AND l.id = 1 OR r.id = 2"]),
        ("CASE WHEN l.x = 1 AND r.x THEN true END AND r.id", ["CASE WHEN l.x = 1 AND r.x THEN true END", "r.id"]),
        ("l.s = ' AND ' AND exists(l.a, v -> v > 1 AND v < 2)", ["l.s = ' AND '", "exists(l.a, v -> v > 1 AND v < 2)"]),
    ],
)  # fmt: skip
def test_conditions_are_split_where_their_ands_are(text: str, parts: list[str]) -> None:
    assert split_conjuncts(text) == parts


def test_text_stays_as_it_is_unless_a_column_has_no_alias() -> None:
    assert piece_of("l.x  =  r.x", NAMES).text == "l.x  =  r.x"
    assert piece_of("only = r.x", NAMES).text == "l.only = r.x"
    assert piece_of("only = r.x", NAMES).sides == {"l", "r"}
    assert piece_of("exists(l.x, v -> v = r.y)", NAMES).text == "exists(l.x, v -> v = r.y)"
    unknown = piece_of("l.x = some_variable", NAMES)  # only the server knows it: all columns may be needed
    assert unknown.tree is None
    assert len(unknown.columns(NAMES)) == 7
    assert has_query("l.x IN (SELECT 1)") and not has_query("l.selected = r.x")


def test_items_of_a_selection() -> None:
    assert [piece.text for piece, _ in items_of("r.*", NAMES)] == ["r.`id`", "r.`x`", "r.`y`"]
    assert len(items_of("*", NAMES)) == 7
    assert [piece.text for piece, _ in items_of("l.x AS other", NAMES)] == ["l.x AS other"]
    assert [piece.text for piece, _ in items_of("only + 1 AS more", NAMES)] == ["l.only + 1"]


def test_columns_are_written_as_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODE, "1")
    from weft.spark.connect.columns import sql_of

    one, two = F.col("l.x"), F.col("r.x")
    assert sql_of((one > two) & ~(one == 5), {}) == "((l.x > r.x) AND (NOT (l.x = (5))))"
    assert sql_of(F.upper("l.s").like("it's%"), {}) == r"(upper(l.s) LIKE 'it\'s%')"
    assert sql_of(F.when(one.isNull(), F.lit(1.5)).otherwise(two.cast("int")), {}) == (
        "CASE WHEN (l.x IS NULL) THEN CAST('1.5' AS double) ELSE CAST(r.x AS int) END"
    )


def test_plans_are_read_from_what_spark_prints() -> None:
    printed = """== Parsed Logical Plan ==
'Project [*]

== Analyzed Logical Plan ==
id: bigint, ts: timestamp
~Union false, false
:- ~Project [id#9L, ts#10]
:  +- ~EventTimeWatermark 54f2d63c, ts#10: timestamp, 1 minutes
:     +- StreamingRelation FileSource[/in], [id#9L, ts#10], name=<Unassigned>
+- ~Repartition 3, true
   +- ~Project [id#9L, rand(5) AS u#7]
      +- StreamingRelation FileSource[/in], [id#9L, ts#10]

== Optimized Logical Plan ==
nothing
"""
    plan = plan_from_text(printed)
    assert [node.kind for node in plan.nodes()] == [
        "Union", "Project", "EventTimeWatermark", "StreamingRelation", "Repartition", "Project", "StreamingRelation",
    ]  # fmt: skip
    assert all(node.streaming for node in plan.nodes())
    timed, shuffled = plan.below
    assert (mixed(timed), mixed(shuffled)) == ("", None)
    assert (arrives_anyhow(timed, False), arrives_anyhow(shuffled, False)) == (False, True)
    assert (values_vary(timed), values_vary(shuffled)) == (False, True)
