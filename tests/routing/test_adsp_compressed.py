"""The compressed sample matrix: histograms of keys, and a staircase that loses no result of any key."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.routing.adsp import Histogram, Staircase
from weft.spec import Op, Term


@at_most(60)
@given(
    st.lists(st.integers(-8, 8), min_size=1, max_size=20), st.lists(st.integers(-8, 8), min_size=1, max_size=20),
    st.sampled_from([Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.BAND]), st.integers(1, 6), st.integers(1, 6),
)  # fmt: skip
def test_a_compressed_matrix_has_every_result_of_any_keys(left, right, op, size, smaller):
    term = Term(0, op, 0, -1, 2)
    full = Staircase.of(term, Histogram.of(np.array(left)), Histogram.of(np.array(right)), size)
    for stairs in (full, full.compress(smaller)):
        assert (np.diff(stairs.begin) >= 0).all() and (np.diff(stairs.end) >= 0).all()
        assert stairs.rows.sum() == len(left) and stairs.columns.sum() == len(right)
        keys = np.arange(-12, 13)
        row = np.searchsorted(stairs.row_cuts, keys, side="right")
        column = np.searchsorted(stairs.column_cuts, keys, side="right")
        for a, r in zip(keys, row, strict=True):
            joins = {
                Op.LT: a < keys, Op.LE: a <= keys, Op.GT: a > keys, Op.GE: a >= keys, Op.EQ: a == keys,
                Op.BAND: (a - keys >= -1) & (a - keys <= 2),
            }[op]  # fmt: skip
            inside = (column >= stairs.begin[r]) & (column < stairs.end[r])
            assert (inside | ~joins).all()


@given(st.lists(st.integers(0, 30), max_size=60), st.lists(st.integers(0, 30), max_size=60), st.integers(1, 12))
def test_histograms_add_up_and_keep_heavy_keys(first, second, size):
    both = Histogram.merged([Histogram.of(np.array(part, np.int64)) for part in (first, second)])
    assert both.total == len(first) + len(second)
    small = both.shrunk(size)
    assert small.total == pytest.approx(both.total) and len(small.keys) <= max(size, 3 * size + 2)
    for key, weight in zip(both.keys, both.weights, strict=True):
        if len(both.keys) > size and weight >= both.total / size:
            assert small.weights[small.keys == key] == [weight]
    again = Histogram.of_json(both.to_json())
    assert (again.keys == both.keys).all() and (again.weights == both.weights).all()
