"""What pairs leave with: equal texts only, whatever their hashes say, and the columns that are read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.examples import at_most
from weft.kernels import words

TEXTS = ["", "a", "b", "ab", "abcdefg", "abcdefgh", "abcdefgi", "abcdefghi", "xbcdefghi", "abcdefghijklmnopq", None]
text = st.sampled_from(TEXTS)
rows = st.lists(st.tuples(text, text, st.integers(0, 3)), max_size=25)
KINDS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]


def table(given_rows: list[tuple[Any, Any, int]], kind: pa.DataType) -> pa.Table:
    """Return a table in chunks, one of them a slice: its buffers begin elsewhere."""
    columns = list(zip(*[(None, None, 0), *given_rows], strict=True))
    s, t = (pa.array(column, pa.string()).cast(kind) for column in columns[:2])
    whole = pa.table(
        {"s": s, "t": t, "n": pa.array(columns[2]), "id": pa.array(range(-1, len(given_rows)), pa.int64())}
    )
    half = len(given_rows) // 2
    return pa.concat_tables([whole.slice(1, half), whole.slice(1 + half)])


def same(a: str | None, b: str | None) -> bool:
    return a is not None and a == b


CONDITIONS = {
    "l.s = r.s": lambda a, b: same(a[0], b[0]),
    "r.t = l.s AND l.s = r.s": lambda a, b: same(a[0], b[1]) and same(a[0], b[0]),
    "l.s = r.t AND l.n <= r.n AND l.n + r.n <> 3": lambda a, b: same(a[0], b[1]) and a[2] <= b[2] and a[2] + b[2] != 3,
}


@pytest.fixture(params=[False, True], ids=["hashed", "every text has one hash"])
def _hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(words, "_hash_bytes", lambda ends, _: np.zeros(len(ends) - 1, np.int64))


@pytest.mark.usefixtures("_hashes")
@pytest.mark.parametrize("on", CONDITIONS)
@given(
    left=rows, right=rows, kind=st.sampled_from(KINDS), batch=st.sampled_from([None, 4]),
    window=st.sampled_from([None, weft.last(50)]),
)  # fmt: skip
@at_most(20)
def test_equal_texts_meet(on, left, right, kind, batch, window) -> None:
    tables = table(left, kind), table(right, kind)
    found = weft.local.join(*tables, on=on, batch=batch, window=window, select=["l.id", "r.id AS o", "l.n + r.n AS m"])
    pairs = Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))
    wanted = Counter(
        (i, j, a[2] + b[2]) for i, a in enumerate(left) for j, b in enumerate(right) if CONDITIONS[on](a, b)
    )
    assert pairs == wanted


@pytest.mark.usefixtures("_hashes")
@pytest.mark.parametrize("unordered", [False, True])
@given(given_rows=rows)
@at_most(15)
def test_a_self_join_compares_texts(given_rows, unordered) -> None:
    whole = table(given_rows, pa.string())
    found = weft.local.self_join(whole, on="a.s = b.t AND a.n < b.n", unordered=unordered, select=["a.id", "b.id AS o"])
    pairs = Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))
    wanted = Counter(
        (i, j)
        for i, a in enumerate(given_rows)
        for j, b in enumerate(given_rows)
        if i != j and same(a[0], b[1]) and a[2] < b[2]
    )
    assert pairs == wanted


@pytest.mark.parametrize("how", ["inner", "left", "left_semi"])
def test_columns_that_nobody_reads_change_nothing(how: str) -> None:
    left, right = (
        table([("a", "b", 1), ("c", None, 2)], pa.string()),
        table([("a", "z", 5), ("a", "y", 0)], pa.string()),
    )
    for select in (None, ["l.*"], ["l.id"], ["l.t AS x", "l.n"], ["upper(l.s) AS u"], ["1 AS one"]):
        for on in ("l.s = r.s", "l.s = r.s AND l.n < r.n", "l.n < r.n", "l.s = r.s AND l.t || 'q' < r.t"):
            if select is None and how == "left_semi":
                continue
            asked = select or ["l.*", "r.*"]
            some = weft.local.join(left, right, on=on, how=how, select=select, window=weft.last(9))
            whole = weft.local.join(left, right, on=on, how=how, window=weft.last(9)) if how != "left_semi" else some
            assert some.num_rows == whole.num_rows
            if asked == ["l.id"]:
                assert some.column("id").to_pylist() == whole.column("id").to_pylist()


def test_only_what_is_read_is_taken() -> None:
    schema = pa.schema({"id": pa.int64(), "s": pa.string(), "n": pa.int64(), "big": pa.string()})
    join = weft.local.Join(schema, schema, on="l.s = r.s AND l.n * r.n > 4", select=["l.id"])
    leaving = join.job.leaving
    assert leaving.columns == {"left": ("l0", "l2"), "right": ("r2",)}
    assert leaving.texts == (("l1", "r1"),)
    outer = weft.local.Join(schema, schema, on="l.s = r.s", how="left", select=["l.id"], window=weft.last(3))
    assert outer.job.leaving.columns == {} and outer.job.leaving.texts == ()
