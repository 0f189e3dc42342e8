"""Algorithm 3: which tasks a tuple visits, in areas and in the irregular matrix of one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.routing.adsp import EVERY, SPACE, Area, AreaPlan, Varietal, lay, varietal


@pytest.mark.paper("001-30", "001-28", "001-29")
def test_a_tuple_goes_to_the_areas_that_take_its_key():
    first = lay(Varietal(2, 2), (EVERY[0], 20), (EVERY[0], 20), (0, 1, 2, 3))
    second = lay(Varietal(1, 2), (21, EVERY[1]), (21, EVERY[1]), (4, 5))
    plan = AreaPlan(8, (first, second), (0, 0))
    draws = np.array([0, 2**31, 2**32 - 1], np.uint32)
    kept = plan.store("right", np.array([[18, 18, 30]]), draws)
    assert kept.T.nonzero()[1].tolist() == [0, 2, 1, 3, 5]  # column 0, column 1, and the other area's second column
    assert plan.active == (0, 1, 2, 3, 4, 5)


@pytest.mark.paper("001-17")
@at_most(50)
@given(
    st.floats(1, 40), st.floats(1, 40), st.floats(2, 20), st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20)
)
def test_every_pair_of_draws_crosses_in_one_cell(left, right, memory, draws):
    shape = varietal(left, right, memory).balanced(left, right)
    area = lay(shape, EVERY, EVERY, tuple(range(shape.tasks)))
    plan = AreaPlan(shape.tasks, (area,))
    u = np.array(draws, np.uint32)
    words = np.zeros((1, len(u)), np.int64)
    rows, columns = plan.store("left", words, u).astype(int), plan.store("right", words, u).astype(int)
    assert (np.einsum("ti,tj->ij", rows, columns) == 1).all()


@pytest.mark.paper("001-17", "001-04")
def test_extra_cells_carry_what_algorithm_1_says():
    shape = varietal(9, 7, 10)
    area = lay(shape, EVERY, EVERY, (0, 1, 2))
    left, right = (_share(area, side) for side in ("left", "right"))
    assert [9 * a + 7 * b for a, b in zip(left, right, strict=True)] == pytest.approx([10, 10, 9.5])


def _share(area: Area, side) -> list[float]:
    atoms = area.atoms(side)
    sizes = np.diff(np.array([*atoms.starts, SPACE])) / SPACE
    return list(atoms.hold @ sizes)
