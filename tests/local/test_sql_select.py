"""What leaves the join: names, suffixes, expressions, and errors before the first row."""

from __future__ import annotations

import pyarrow as pa
import pytest

from weft.errors import SpecError, UnknownColumn
from weft.local.expr import Projection

LEFT = pa.table({"id": [1, 2], "v": [1.5, None], "tags": [["a"], []]})
RIGHT = pa.table({"ID": [7, 8], "w": ["x", "y"]})


def project(select: list[str] | None, left: pa.Table = LEFT, right: pa.Table = RIGHT) -> pa.Table:
    """Return the output of pairs: row i of `left` with row i of `right`."""
    return Projection.of(select, "_right", left.schema, right.schema).apply(left, right)


@pytest.mark.parametrize(
    ("select", "names"),
    [
        (None, ["id", "v", "tags", "ID_right", "w"]),
        (["*"], ["id", "v", "tags", "ID_right", "w"]),
        (["r.*"], ["ID", "w"]),
        (["l.*", "r.*"], ["id", "v", "tags", "ID_right", "w"]),
        (["l.id AS lid", "r.*"], ["lid", "ID", "w"]),
        (["w", "L.V"], ["w", "v"]),
        (["l.id + r.id AS sum", "upper(r.w) up"], ["sum", "up"]),
        (["l.id, r.w"], ["id", "w"]),
        (["l.id + 1"], ["l.id + 1"]),
    ],
)
def test_names(select: list[str] | None, names: list[str]) -> None:
    table = project(select)
    assert table.column_names == names
    assert table.schema == Projection.of(select, "_right", LEFT.schema, RIGHT.schema).schema
    assert len(table) == 2


def test_values() -> None:
    table = project(["l.id + r.id AS sum", "tags", "1 AS one"])
    assert table.to_pydict() == {"sum": [8, 10], "tags": [["a"], []], "one": [1, 1]}


def test_columns_keep_their_own_type() -> None:
    left = pa.table({"a": pa.array(["x"]).dictionary_encode(), "t": pa.array([1], pa.timestamp("ns", "Asia/Tokyo"))})
    table = project(["l.a", "l.t"], left, RIGHT.slice(0, 1))
    assert table.schema.types == left.schema.types


def test_a_projection_is_made_once_and_applied_to_every_batch() -> None:
    projection = Projection.of(["a.id AS x", "b.id AS y"], "_right", LEFT.schema, LEFT.schema, ("a", "b"))
    assert projection.apply(LEFT, LEFT).to_pydict() == {"x": [1, 2], "y": [1, 2]}
    assert projection.apply(LEFT.slice(0, 0), LEFT.slice(0, 0)).schema == projection.schema


@pytest.mark.parametrize(
    ("select", "suffix", "words"),
    [
        (None, "", "Two output columns would be called 'ID'"),
        (["l.id", "r.id"], "_right", "Two output columns"),
        (["l.v AS a", "r.w AS A"], "_right", "Two output columns"),
        ([], "_right", "select is empty"),
        ("l.id", "_right", "not a list"),
        (["z.*"], "_right", "There is no side 'z'"),
        (["l.nope"], "_right", "no column 'nope'"),
        (["l.* EXCEPT (v)"], "_right", "that a star leaves out"),
        (["l.id +"], "_right", "does not parse"),
        (["l.id FROM t"], "_right", "more than an expression"),
        (["sum(l.id)"], "_right", "SUM is not supported locally"),
    ],
)
def test_what_is_refused(select: list[str] | None, suffix: str, words: str) -> None:
    with pytest.raises(SpecError, match="Hint: ") as caught:
        Projection.of(select, suffix, LEFT.schema, RIGHT.schema)
    assert words in str(caught.value)


def test_a_suffixed_name_can_collide_too() -> None:
    left = pa.schema({"a": pa.int64(), "a_right": pa.int64()})
    with pytest.raises(SpecError, match="'a_right'"):
        Projection.of(None, "_right", left, pa.schema({"a": pa.int64()}))


def test_unknown_columns_are_unknown_columns() -> None:
    with pytest.raises(UnknownColumn):
        Projection.of(["r.zz"], "_right", LEFT.schema, RIGHT.schema)
