"""Rows of a stream have the nearest row of a table that a nested loop finds, whatever the pieces they come in."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import share
from tests.property.test_asof import cases
from weft.engine import lookup
from weft.engine.asof import AsofLookup
from weft.index import Run
from weft.kernels import words_of
from weft.local import AsofJoin
from weft.spec.join_spec import asof_table_spec
from weft.state import open_folder
from weft.state.contents import read_segment
from weft.state.segments import write_segment
from weft.types import SIDES, Side
from weft_lab.oracle import Batch, Row
from weft_lab.torture.asof_cases import SCHEMA, AsofCase, ids, table
from weft_lab.torture.cases import count

pieces = st.integers(1, 3)


class Asked:
    """An as-of join as a look-up."""

    def __init__(self, join: AsofJoin) -> None:
        self.join = join
        self.payload = {side: join.sources[side].payload for side in SIDES}
        self.look_up = AsofLookup(asof_table_spec(join.spec), self.payload, join.accept)

    def prepared(self, side: Side, rows: pa.Table) -> pa.Table:
        made, _ = self.join.sources[side].prepare(rows)
        return made.rename_columns([*self.payload[side].names, *made.column_names[len(self.payload[side]) :]])

    def stored(self, rows: pa.Table) -> Run:
        return self.look_up.run_of(self.join.sources["right"].inputs, self.prepared("right", rows))

    def found(self, run: Run, rows: pa.Table) -> list[pa.Table]:
        index, inputs = self.look_up.index(run), self.join.sources["left"].inputs
        return list(self.join.projected(self.look_up.pairs(index, run, inputs, self.prepared("left", rows))))


def rows_of(case: AsofCase, side: Side) -> list[Row]:
    return [row for batch in case.batches for part in getattr(batch, side) for row in part]


def check(case: AsofCase, number: int, folder: Any = None) -> None:
    whole = replace(case, batches=(Batch([rows_of(case, "left")], [rows_of(case, "right")]),))
    asked = Asked(case.join())
    stream, run = table(rows_of(case, "left")), asked.stored(table(rows_of(case, "right")))
    if folder is not None:
        where = open_folder(str(folder))
        run = read_segment(where, write_segment(where, "0-0.arrow", run), asked.payload["right"])
    size = -(-max(stream.num_rows, 1) // number)
    parts = [
        found for low in range(0, max(stream.num_rows, 1), size) for found in asked.found(run, stream.slice(low, size))
    ]
    expected = whole.expected().left_by()
    assert count(parts) == ids(expected)
    order = [one["id"] for one, _ in expected]
    assert [x for part in parts for x in part["x"].to_pylist()] == order, "rows of the stream keep their order"


@given(cases(), pieces)
def test_whole_numbers(case, number):
    check(case, number)


@given(cases(on="f"), pieces)
def test_doubles(case, number):
    check(case, number)


@share(0.5)
@given(cases(most=6, size=9), pieces)
def test_many_at_one_place(case, number):
    near: list[list[Row]] = [
        [{**row, "t": None if row["t"] is None else row["t"] // 4} for row in rows_of(case, side)] for side in SIDES
    ]
    check(replace(case, batches=(Batch([near[0]], [near[1]]),)), number)


@share(0.5)
@given(cases(most=6), pieces)
def test_words_that_collide(case, number):
    """Texts, and several equal columns, share their words; only the columns tell them apart."""

    def colliding(column: Any, encode: Any) -> Any:
        words, valid = words_of(column, encode)
        return (words if encode == "value" else words * 0), valid

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "words_of", colliding)
        patch.setattr(lookup, "mix_words", lambda words: words[0] * 0)
        check(case, number)


@share(0.1)
@given(case=cases())
def test_a_table_that_was_written_and_mapped(tmp_path_factory, case):
    check(case, 2, tmp_path_factory.mktemp("table"))


@pytest.mark.parametrize("how", ["left", "inner"])
@pytest.mark.parametrize("by", [(), ("k",), ("k", "s")])
def test_an_empty_table_and_an_empty_stream(how, by) -> None:
    row = {"id": 1, "t": 3, "f": 0.0, "k": 0, "s": "a", "v": 1, "w": 0.0}
    asked = Asked(AsofJoin(SCHEMA, SCHEMA, on="t", by=by, how=how, select=["l.id AS x", "r.id AS y"]))
    nothing, one = asked.stored(table([])), asked.stored(table([row]))
    assert count(asked.found(nothing, table([row]))) == (Counter({(1, None): 1}) if how == "left" else Counter())
    assert count(asked.found(one, table([]))) == Counter()


KINDS_OF_BY = {
    "text": pa.array(["one", "two", None, "one"]),
    "dictionary": pa.array(["one", "two", None, "one"]).dictionary_encode(),
    "bytes": pa.array([b"one", b"two", None, b"one"]),
    "wide decimal": pa.array([10**25, 2, None, 10**25], pa.decimal128(30, 0)),
    "time": pa.array([1, 2, None, 1], pa.timestamp("us")),
}


@pytest.mark.parametrize("kind", KINDS_OF_BY)
def test_equal_columns_of_every_type(kind) -> None:
    rows = pa.table({"t": [1, 2, 3, 4], "k": KINDS_OF_BY[kind]})
    asked = Asked(AsofJoin(rows.schema, rows.schema, on="t", by="k", strict=True, select=["l.t AS x", "r.t AS y"]))
    assert count(asked.found(asked.stored(rows), rows)) == Counter(
        {(1, None): 1, (2, None): 1, (3, None): 1, (4, 1): 1}
    )


def test_rows_of_the_stream_are_not_copied() -> None:
    rows = pa.table({"t": np.random.default_rng(1).permutation(1000)})
    asked = Asked(AsofJoin(rows.schema, rows.schema, on="t", select=["l.t", "r.t AS u"]))
    run, inputs = asked.stored(rows.slice(0, 500)), asked.join.sources["left"].inputs
    prepared = asked.prepared("left", rows)
    (pairs,) = asked.look_up.pairs(asked.look_up.index(run), run, inputs, prepared)
    first = lambda found: found.column(0).chunk(0).buffers()[1].address
    assert first(pairs.left) == first(prepared)
