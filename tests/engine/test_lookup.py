"""Rows looked up in a table find what a nested loop finds, whatever the kind, the condition, and the pieces they come in."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import share
from tests.property.cases import SCHEMA, Case, bands, cases, comparisons, expected_count, intervals, make, tables
from weft.engine import Lookup, lookup
from weft.local import Join
from weft.local.runtime import TableSource
from weft.spec import KINDS, unbounded
from weft.state import open_folder
from weft.state.contents import read_segment
from weft.state.segments import write_segment
from weft.types import SIDES, Side
from weft_lab.oracle import Batch
from weft_lab.torture.cases import Predicate

SERVED: dict[Side, list[str]] = {"left": ["inner", "left", "left_semi", "left_anti"], "right": ["inner", "right"]}
KIND = {side: tuple(KINDS[name] for name in names) for side, names in SERVED.items()}


def looked_up(case: Case, asking: Side, pieces: int, folder=None) -> Counter:
    """Look all rows of a side up, in so many pieces, in a table that was written and read if there is a folder."""
    join = make(case)
    sources = {side: TableSource(join.spec, join.analyzed, side, SCHEMA) for side in SIDES}
    payload = {side: sources[side].payload for side in SIDES}
    accept = join._accept if join.analyzed.residual is not None and case.kind.preserved else None
    look_up = Lookup(join.spec, asking, payload, accept)
    rows = {side: pa.concat_tables([SCHEMA.empty_table(), *(t for batch in case.batches for t in tables(getattr(batch, side)))])
            for side in SIDES}  # fmt: skip

    def prepared(side: Side, table: pa.Table) -> pa.Table:
        made, _ = sources[side].prepare(table)
        return made.rename_columns([*payload[side].names, *made.column_names[len(payload[side]) :]])

    table = prepared(look_up.stored, rows[look_up.stored])
    run = look_up.run_of(sources[look_up.stored].inputs, table)
    if folder is not None:
        where = open_folder(str(folder))
        run = read_segment(where, write_segment(where, "0-0.arrow", run), payload[look_up.stored])
    index = look_up.index(run)
    index.validate()
    found: Counter = Counter()
    size = -(-max(rows[asking].num_rows, 1) // pieces)
    for first in range(0, rows[asking].num_rows, size):
        piece = prepared(asking, rows[asking].slice(first, size))
        for pairs in look_up.pairs(index, run, sources[asking].inputs, piece):
            if accept is None and join.analyzed.residual is not None:
                found.update(x for t in join.projected([pairs]) for x in _ids(t))
            else:
                found.update(x for x in _ids(join.projection.apply(*join._named(pairs))))
    return found


def _ids(table: pa.Table):
    right = table.column("y").to_pylist() if "y" in table.column_names else [None] * table.num_rows
    return zip(table.column("x").to_pylist(), right, strict=True)


def check(case: Case, asking: Side, pieces: int, folder=None) -> None:
    whole = [
        Batch(*([[row for batch in case.batches for part in getattr(batch, side) for row in part]] for side in SIDES))
    ]
    expected = expected_count(case.expected(whole), case.kind, last=True)
    assert looked_up(case, asking, pieces, folder) == expected


some = share(0.3)
window = partial(cases, st.just(unbounded()))
pieces = st.integers(1, 3)


@some
@given(st.data(), pieces)
@pytest.mark.parametrize("asking", SIDES)
def test_any_condition(asking, data, pieces):
    check(data.draw(window(kinds=KIND[asking])), asking, pieces)


@some
@given(st.data(), pieces)
@pytest.mark.parametrize("first", [bands, intervals, comparisons], ids=lambda first: first.__name__)
@pytest.mark.parametrize("asking", SIDES)
def test_ranges(asking, first, data, pieces):
    check(data.draw(window(first=first(), kinds=KIND[asking], most=30)), asking, pieces)


def _not_between(equal: bool) -> tuple[Predicate, ...]:
    outside = Predicate("({0}.i NOT BETWEEN {1}.i AND {1}.j)")
    return (Predicate("{0}.s = {1}.s"), outside) if equal else (outside,)


@some
@given(st.data(), pieces)
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("kind", SERVED["left"])
def test_what_no_index_decides(kind, equal, data, pieces):
    """NOT BETWEEN is an OR: it stays a residual, which decides whether a row has a partner."""
    drawn = data.draw(window(kinds=(KINDS[kind],)))
    case = Case(_not_between(equal), drawn.window, drawn.batches, kind=KINDS[kind])
    rows = {side: [row for batch in case.batches for part in getattr(batch, side) for row in part] for side in SIDES}

    def holds(left, right) -> bool:
        if equal and (left["s"] is None or left["s"] != right["s"]):
            return False
        below = None if None in (left["i"], right["i"]) else left["i"] < right["i"]
        above = None if None in (left["i"], right["j"]) else left["i"] > right["j"]
        return bool(below) or bool(above)

    pairs = [(left["id"], right["id"]) for left in rows["left"] for right in rows["right"] if holds(left, right)]
    met = {left for left, _ in pairs}
    alone = [row["id"] for row in rows["left"] if row["id"] not in met]
    expected = {
        "inner": pairs, "left": [*pairs, *((x, None) for x in alone)],
        "left_semi": [(x, None) for x in met], "left_anti": [(x, None) for x in alone],
    }[kind]  # fmt: skip
    assert looked_up(case, "left", pieces) == Counter(expected)


@share(0.1)
@given(data=st.data())
def test_a_table_that_was_written_and_mapped(tmp_path_factory, data):
    check(data.draw(window(kinds=KIND["left"])), "left", 2, tmp_path_factory.mktemp("table"))


@some
@given(st.data())
def test_more_pairs_than_are_put_in_order(data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "KEPT", 3)
        check(data.draw(window(kinds=KIND["left"], most=12)), "left", 1)


def test_rows_leave_in_the_order_of_the_stream_and_are_not_copied() -> None:
    rows = pa.table({"x": np.random.default_rng(1).permutation(1000)})
    table = pa.table({"lo": np.arange(0, 1000, 10), "hi": np.arange(9, 1000, 10)})
    join = Join(rows.schema, table.schema, on="l.x BETWEEN r.lo AND r.hi", how="left")
    left, right = (
        TableSource(join.spec, join.analyzed, side, t.schema) for side, t in zip(SIDES, (rows, table), strict=True)
    )
    look_up = Lookup(join.spec, "left", {"left": left.payload, "right": right.payload})
    run = look_up.run_of(right.inputs, right.prepare(table)[0])
    given_rows = left.prepare(rows)[0]
    (pairs,) = look_up.pairs(look_up.index(run), run, left.inputs, given_rows)
    assert pairs.left.column(0).chunk(0).buffers()[1].address == given_rows.column(0).chunk(0).buffers()[1].address
    assert pairs.right.column(0).to_pylist() == [x // 10 * 10 for x in rows.column("x").to_pylist()]
