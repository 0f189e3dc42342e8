"""Self joins: a tuple that cannot be read in one role may be read in the other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import weft
from weft.engine.pairs import terms_hold
from weft.spec import Op, Term


def pairs(table: pa.Table, on: str, *, unordered: bool, batch: int | None = None) -> list[tuple[int, int]]:
    found = weft.local.self_join(
        table, on=on, unordered=unordered, batch=batch, tasks=2, select=["a.id AS x", "b.id AS y"]
    )
    return sorted(zip(found.column("x").to_pylist(), found.column("y").to_pylist(), strict=True))


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize("unordered", [False, True])
def test_a_key_that_only_the_other_role_reads_may_be_null(unordered, batch):
    table = pa.table({"id": [0, 1], "i": pa.array([0, None], pa.int64()), "j": [0, 1]})
    assert pairs(table, "b.j > a.i", unordered=unordered, batch=batch) == [(0, 1)]


@pytest.mark.parametrize("batch", [None, 1])
def test_the_other_reading_does_not_hold_where_its_key_is_null(batch):
    table = pa.table({"id": [0, 1], "i": pa.array([5, None], pa.int64()), "j": pa.array([9, 9], pa.int64())})
    assert pairs(table, "a.i <= b.j", unordered=True, batch=batch) == [(0, 1)]


@pytest.mark.parametrize("batch", [None, 1])
def test_a_condition_on_one_role_is_asked_in_both_readings(batch):
    table = pa.table({"id": [0, 1], "x": [5, 1], "y": [3, 3]})
    assert pairs(table, "a.x > 3 AND abs(a.y - b.y) <= 1", unordered=True, batch=batch) == [(0, 1)]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (Term(0, Op.BAND, 0, -np.inf, 3), [True, False, True, True]),
        (Term(0, Op.BAND, 0, -2, np.inf), [True, True, False, False]),
        (Term(0, Op.BAND, 0, -2, 3), [True, False, False, False]),
    ],
)
def test_bands_hold_without_overflow(term, expected):
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    left, right = np.array([[5, most, least, 0]]), np.array([[4, least, most, 9]])
    assert terms_hold((term,), left, right).tolist() == expected
