"""Pairs leave in pieces of bounded size, however large rows are; rows of ordinary size leave as they were found."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from weft.engine.pairs import BYTES, Leaving, cuts, portions, row_bytes
from weft.engine.step import CHUNK
from weft.index import Matches, Run
from weft.local import Join, NaturalJoin
from weft.types import Block

ROW = 1 << 18
MANY = 40


def rows(size: int, count: int = MANY) -> pa.Table:
    return pa.table({"id": range(count), "k": [1] * count, "text": [f"{n:04}" + "x" * size for n in range(count)]})


def checked(chunks: Iterator[pa.Table], largest: int) -> int:
    """Look at each chunk when it leaves, and let it go; return the number of rows."""
    before, found, number = pa.total_allocated_bytes(), 0, 0
    for chunk in chunks:
        assert chunk.nbytes <= BYTES + largest, f"a chunk of {chunk.nbytes:,} bytes"
        assert pa.total_allocated_bytes() - before <= 4 * BYTES
        found, number = found + chunk.num_rows, number + 1
        del chunk
    assert number > 1
    return found


def test_pairs_of_large_rows_leave_in_pieces() -> None:
    left, right = rows(ROW), rows(ROW)
    join = Join(left.schema, right.schema, on="l.k = r.k")
    assert checked(join.feed(left, right), 4 * ROW) == MANY * MANY


@pytest.mark.parametrize("unordered", [False, True])
def test_pairs_of_a_self_join_too(unordered: bool) -> None:
    table = rows(ROW)
    join = Join(table.schema, table.schema, on="a.k = b.k", aliases=("a", "b"), unordered=unordered)
    pairs = MANY * (MANY - 1) // (2 if unordered else 1)
    assert checked(join.feed(table), 4 * ROW) == pairs


def test_united_documents_too() -> None:
    texts = [json.dumps({"k": 1, f"t{n}": "x" * ROW}) for n in range(MANY)]
    table = pa.table({"document": texts})
    join = NaturalJoin(table.schema, column="document")
    assert checked(join.feed(table), 4 * ROW) == MANY * (MANY - 1) // 2


def test_one_large_row_among_small_ones_does_not_cut_the_others() -> None:
    left, right = rows(10, 2_000), rows(10, 2_000)
    texts = right["text"].to_pylist()
    texts[7] = "x" * (BYTES // 8)
    right = right.set_column(2, "text", pa.array(texts))
    join = Join(left.schema, right.schema, on="l.k = r.k AND r.id < 30")
    sizes = [chunk.num_rows for chunk in join.feed(left, right)]
    assert sum(sizes) == 60_000
    assert 2_000 // 8 <= len(sizes) <= 2_000 // 8 + 10


def test_ordinary_rows_leave_as_they_are_found() -> None:
    table = rows(10, 1_000)
    block = Block(np.zeros((1, 1_000), np.int64), np.zeros(1_000, np.uint32), table)
    which = np.arange(CHUNK) % 1_000
    match, none = (Matches(Run.of(block, np.arange(1_000), 0), found, found) for found in (which, which[:0]))
    pieces = list(portions("left", block, iter([match, none]), Leaving()))
    assert [piece is match for piece, _ in pieces] == [True]
    assert pieces[0][1].left.equals(table.take(pa.array(which)))


def test_cuts_keep_within_bytes_and_number() -> None:
    draw = np.random.default_rng(3)
    sizes = draw.integers(0, BYTES // 3, 200)
    found = list(cuts(sizes, 200, 5))
    assert (
        [low for low, _ in found[1:]] == [high for _, high in found[:-1]] and found[0][0] == 0 and found[-1][1] == 200
    )
    assert all(high - low <= 5 and int(sizes[low:high].sum()) <= BYTES + BYTES // 3 for low, high in found)
    assert list(cuts(BYTES // 2, 5)) == [(0, 2), (2, 4), (4, 5)]
    assert list(cuts(3 * BYTES, 2)) == [(0, 1), (1, 2)]
    assert not list(cuts(np.zeros(0, np.int64), 0))


def test_bytes_of_rows_are_those_that_taking_them_gives() -> None:
    texts = ["x" * (n * 37 % 101) if n % 5 else None for n in range(1_000)]
    columns = {
        "number": pa.array(range(1_000)), "flag": pa.array([n % 2 == 0 for n in range(1_000)]), "text": pa.array(texts),
        "bytes": pa.array(texts, pa.large_string()).cast(pa.large_binary()), "list": pa.array([[t, t] for t in texts]),
        "struct": pa.array([{"a": t, "b": n} for n, t in enumerate(texts)]),
        "map": pa.array([[("k", t)] for t in texts], pa.map_(pa.string(), pa.string())),
        "fixed": pa.array([[1.0, 2.0]] * 1_000, pa.list_(pa.float64(), 2)),
    }  # fmt: skip
    whole = pa.table(columns)
    parted = pa.concat_tables([whole.slice(0, 300), whole.slice(300, 0), whole.slice(300)])
    which = np.arange(0, 1_000, 2)
    for table in (whole, parted, whole.slice(100)):
        asked = which[which < table.num_rows]
        for name in columns:
            found = row_bytes(table.select([name]), asked)
            total = int(found.sum()) if not isinstance(found, int) else found * len(asked)
            taken = table.select([name]).take(pa.array(asked)).nbytes
            assert 0.7 * taken - 64 <= total <= 1.7 * taken + 8 * len(asked), name
