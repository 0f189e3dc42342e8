"""Algorithm 2: areas of the ordered matrix, by the paper's toy example and Definition 3 on random staircases."""

from __future__ import annotations

import pkgutil
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.routing.staircases import check_complete, one, staircases, stairs_of
from weft.routing import ordering
from weft.routing.adsp import (
    AreaPlan,
    Staircase,
    chain,
    fitting,
    generate,
    partition,
    place,
    regular_tasks,
    varietal,
    worst_case,
)
from weft.spec import Op, Term
from weft_lab.workloads import QUERIES, social

TOY = stairs_of([0, 0, 0, 1, 3, 5, 5, 5, 7, 8, 9, 10], [2, 3, 4, 5, 5, 7, 8, 8, 9, 11, 12, 12], [1.0] * 12, [1.0] * 12)
"""A staircase as in Fig. 2: nothing joins the first five tuples to the last seven."""


@pytest.mark.paper("001-25", "001-20", "001-21", "001-22")
@pytest.mark.parametrize("mode", ["greedy", "dp"])
def test_the_toy_matrix_needs_four_tasks(mode):
    assert varietal(12, 12, 8).tasks == 9  # 2-DSP
    tasks, areas = partition(TOY, 8, mode=mode)
    assert tasks == 4
    check_complete(TOY, areas)


@pytest.mark.paper("001-01", "001-02", "001-19", "001-23")
@at_most(50)
@given(staircases(), st.floats(2, 20), st.sampled_from(["greedy", "dp"]), st.sampled_from([None, 1, 3]))
def test_every_scheme_is_a_complete_information_area(stairs, memory, mode, tries):
    tasks, areas = partition(stairs, memory, mode=mode, tries=tries)
    check_complete(stairs, areas)
    left, right = stairs.rows.sum(), stairs.columns.sum()
    assert tasks <= varietal(left, right, memory).tasks <= regular_tasks(left, right, memory)
    layout = generate(stairs, memory, mode=mode, tries=tries)
    assert layout.tasks <= tasks and layout.fullest <= memory * (1 + 1e-6)


@pytest.mark.paper("001-02", "001-19")
@at_most(50)
@given(staircases(), st.floats(2, 20))
def test_a_chain_is_a_complete_information_area_too(stairs, memory):
    tasks, areas = chain(stairs, memory)
    check_complete(stairs, areas)
    volumes = [(stairs.rows[r0:r1].sum(), stairs.columns[c0:c1].sum()) for r0, r1, c0, c1 in areas]
    assert tasks == sum(varietal(left, right, memory).tasks for left, right in volumes)
    assert (
        partition(stairs, memory, mode="dp")[0]
        <= tasks
        <= varietal(stairs.rows.sum(), stairs.columns.sum(), memory).tasks
    )


@cache
def most_tasks(left: int, right: int, memory: float) -> int:
    return max(varietal(r, s, memory).tasks for r in range(left + 1) for s in range(right + 1))


def every_dichotomy(stairs: Staircase, memory: float) -> int:
    """Eq. 14 in the words of 001-23: all parts [.., i] x [.., j] and [i', ..] x [j', ..], no bound, no tightness.

    Algorithm 1 with its four candidates can need fewer tasks for more tuples (001-15). Only then can a part that is not
    tight gain anything, so it is counted here as the most that any part of it needs.
    """
    memo: dict[tuple[int, int, int, int], int] = {}

    def best(area):
        if area in memo:
            return memo[area]
        r0, r1, c0, c1 = area
        count = most_tasks(int(stairs.rows[r0:r1].sum()), int(stairs.columns[c0:c1].sum()), memory)
        memo[area] = count
        inside = {(r, c) for r in range(r0, r1) for c in range(max(c0, stairs.begin[r]), min(c1, stairs.end[r]))}
        for i in range(r0, r1 + 1):
            for j in range(c0, c1 + 1):
                for i2, j2 in {(i, x) for x in range(c0, j + 1)} | {(x, j) for x in range(r0, i + 1)}:
                    one, two = (r0, i, c0, j), (i2, r1, j2, c1)
                    if area in (one, two) or r0 == i or c0 == j or i2 == r1 or j2 == c1:
                        continue
                    if all((r < i and c < j) or (r >= i2 and c >= j2) for r, c in inside):
                        count = min(count, best(one) + best(two))
        memo[area] = count
        return count

    return best((0, len(stairs.rows), 0, len(stairs.columns)))


@pytest.mark.paper("001-20", "001-24")
@at_most(40)
@given(staircases(most=4), st.integers(3, 12))
@example(stairs_of([0], [2], [4.0], [2.0, 5.0]), 3)
def test_tight_splits_and_bounds_lose_nothing(stairs, memory):
    """Columns that can join nothing may be cut anywhere; such staircases do not come from terms over all words."""
    begin, end = stairs.begin.copy(), np.maximum(stairs.end, stairs.begin + 1).clip(max=len(stairs.columns))
    begin[0], end[-1] = 0, len(stairs.columns)
    begin[1:] = np.minimum(begin[1:], end[:-1])
    stairs = stairs_of(list(np.minimum(begin, end - 1)), list(end), list(stairs.rows), list(stairs.columns))
    exact, greedy = partition(stairs, memory, mode="dp")[0], partition(stairs, memory)[0]
    assert exact <= every_dichotomy(stairs, memory)
    assert exact <= greedy


@pytest.mark.paper("001-26")
@at_most(60)
@given(staircases(most=8), st.integers(4, 12))
def test_the_greedy_split_stays_within_the_worst_case(stairs, memory):
    """Theorem 4, read as tasks of Algorithm 2 over the least (001-26): held against the optimum over dichotomies."""
    rows, columns = (-(-int(side.sum() * 2) // memory) for side in (stairs.rows, stairs.columns))
    assume(rows >= 2 and columns >= 2)
    assert partition(stairs, memory)[0] <= worst_case(rows, columns) * partition(stairs, memory, mode="dp")[0]


@pytest.mark.paper("001-18")
def test_without_an_order_there_is_one_area():
    tasks, areas = partition(Staircase.whole(12, 12), 8)
    assert (tasks, areas) == (9, ((0, 1, 0, 1),))


@pytest.mark.paper("001-27")
def test_a_thousand_by_a_thousand_sample_takes_few_splits(monkeypatch):
    """Algorithm 2 runs on the compressed matrix; on the full one it would try thousands of splits of each area."""
    search = pkgutil.resolve_name("weft.routing.adsp.dichotomy:_Search")
    split, seen = search.split, list[tuple[int, int]]()

    def counted(self, *given):
        seen.append((len(self.left) - 1, len(self.right) - 1))
        return split(self, *given)

    monkeypatch.setattr(search, "split", counted)
    draws = np.random.default_rng(3)
    left, right = draws.integers(0, 10_000, 1_000), (10_000 * draws.random(1_000) ** 3).astype(np.int64)
    for width in (0, 50, 2_000):
        term = Term(0, Op.BAND, 0, -width, width)
        seen.clear()
        stairs = Staircase.of_sample(term, left, right)
        assert min(len(stairs.rows), len(stairs.columns)) > 1_000
        layout = generate(stairs, 100)
        assert 0 < len(seen) < 300 and set(seen) == {(32, 32)}
        small = stairs.compress(64)
        assert len(small.rows) <= 3 * 64 and len(small.columns) <= 3 * 64
        assert layout.fullest <= 100 * (1 + 1e-6) and layout.tasks <= 400


@at_most(40)
@given(staircases(), st.integers(1, 20))
def test_a_fitting_scheme_fits(stairs, tasks):
    layout = fitting(stairs, tasks)
    assert layout.tasks <= tasks
    areas = place(layout, AreaPlan.whole(tasks).areas, one, tasks)
    used = [task for area in areas for task in area.tasks]
    assert len(used) == len(set(used)) == layout.tasks and max(used) < tasks


@pytest.mark.simulation
@pytest.mark.paper("001-02", "001-27", "001-46")
@pytest.mark.parametrize("name", ["E_Q5", "B_NCI", "B_MR", "Stock", "Social"])
def test_schemes_of_the_queries_own_keys_are_complete_too(name):
    """Definition 3, Eq. 6 and Eq. 9 on samples of the workloads' keys, not only on staircases made for it."""
    query = social(3) if name == "Social" else QUERIES[name]
    term = ordering(query.spec)
    assert term is not None
    for z in (0.0, 1.0, 2.0):
        left, right = (draw(1_000, z, seed) for seed, draw in enumerate(query.streams()))
        stairs = Staircase.of_sample(term, left, right).compress(48)
        for tasks, areas in (partition(stairs, 400, tries=2), chain(stairs, 400)):
            check_complete(stairs, areas)
            assert tasks <= regular_tasks(1_000, 1_000, 400)
        layout = generate(stairs, 400)
        assert layout.tasks <= regular_tasks(1_000, 1_000, 400) and layout.fullest <= 400 * (1 + 1e-6)
