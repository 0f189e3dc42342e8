"""Algorithm 1: the varietal matrix, by the paper's own numbers and as properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from weft.routing.adsp import Varietal, regular_tasks, task_counts, varietal

volumes = st.one_of(st.integers(1, 40).map(float), st.floats(0.1, 60))


@pytest.mark.paper("001-11", "001-07", "001-14")
def test_six_by_six_needs_two_tasks_where_squares_need_four():
    assert regular_tasks(6, 6, 10) == 4
    assert varietal(6, 6, 10) == Varietal(2, 1)


@pytest.mark.paper("001-12", "001-08", "001-09", "001-10")
def test_nine_by_seven_has_one_extra_cell_in_a_row():
    shape = varietal(9, 7, 10)
    assert (shape.rows, shape.columns, shape.extra, shape.along) == (1, 2, 1, "row")
    assert shape.rest * 9 == pytest.approx(2.5)  # D^L
    assert shape.loads(9, 7) == pytest.approx((10, 9.5))
    assert shape.memory(9, 7) == pytest.approx(29.5)  # the tie with 30 goes to the smaller memory
    assert shape.balanced(9, 7).loads(9, 7) == pytest.approx((9.75, 9.75))


@pytest.mark.paper("001-13")
def test_the_counts_behind_figures_2_and_5():
    assert [varietal(x, x, 8).tasks for x in (5, 7, 12)] == [2, 4, 9]


@pytest.mark.paper("001-15")
def test_trying_every_division_can_beat_the_four():
    assert varietal(9, 11, 8).tasks == 8
    assert varietal(9, 11, 8, exhaustive=True).tasks == 7


@pytest.mark.paper("001-06", "001-07", "001-15")
@given(volumes, volumes, st.floats(1, 50))
def test_never_more_tasks_than_squares_nor_more_tuples_than_memory(left, right, memory):
    for exhaustive in (False, True):
        if exhaustive and (left + right) / memory > 12:
            continue
        shape = varietal(left, right, memory, exhaustive=exhaustive)
        assert shape.tasks <= regular_tasks(left, right, memory)
        assert max(shape.loads(left, right)) <= memory * (1 + 1e-6)
        assert shape.extra < (shape.rows if shape.along == "column" else shape.columns)
        even = shape.balanced(left, right)
        assert even.tasks == shape.tasks and max(even.loads(left, right)) <= max(shape.loads(left, right)) * (1 + 1e-9)
    assert task_counts(np.array([left]), np.array([right]), memory)[0] == varietal(left, right, memory).tasks
    assert varietal(left, right, memory, exhaustive=False).tasks == varietal(right, left, memory).tasks


@pytest.mark.paper("001-05")
@given(volumes, volumes, st.floats(1, 50))
def test_memory_is_what_the_rows_and_columns_replicate(left, right, memory):
    shape = varietal(left, right, memory)
    assume(not shape.extra)
    assert shape.memory(left, right) == pytest.approx(left * shape.columns + right * shape.rows)


@given(st.floats(0, 20), st.floats(0, 20))
def test_a_silent_stream_is_no_problem(left, right):
    shape = varietal(left, 0, 4)
    assert shape.columns == 1 and max(shape.loads(left, 0)) <= 4 * (1 + 1e-9)
    assert varietal(0, right, 4).rows == 1
