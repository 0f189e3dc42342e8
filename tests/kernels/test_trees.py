"""The trees agree with a sorted list after any history, and keep their shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.errors import SpecError
from weft.kernels import trees
from weft.types import WORD_MAX, WORD_MIN
from weft_lab.kernels.tree_delete import delete_all
from weft_lab.kernels.tree_load import bulk_load

quick = at_most(60)
key = st.one_of(st.integers(0, 9), st.sampled_from([WORD_MIN, WORD_MAX]))
steps = st.lists(st.tuples(st.booleans(), key, st.integers(0, 1)), max_size=150)
widths = st.sampled_from([(2, 4), (3, 5), (4, 4), (5, 7), (32, 32)])
ranges = st.lists(st.tuples(key, key), min_size=1, max_size=6)
room = st.sampled_from([1, 3, 1000])


def ints(values):
    return np.array(values, np.int64)


def drain(forest, start, bounds, chunk):
    """Return (probe, row) of all entries in the ranges, through a buffer of `chunk`."""
    lo, hi = ints([a for a, _ in bounds]), ints([b for _, b in bounds])
    state, found = ints([0, -1, 0]), []
    probe, row = np.empty(chunk, np.int64), np.empty(chunk, np.int64)
    while state[0] < len(lo):
        if isinstance(forest, trees.Css):
            n = trees.scan_css(forest, lo, hi, state, probe, row)
        else:
            n = trees.scan(forest, start, lo, hi, state, probe, row)
        found += list(zip(probe[:n].tolist(), row[:n].tolist(), strict=True))
    return found


def wanted(model, bounds):
    return sorted((i, row) for i, (lo, hi) in enumerate(bounds) for k, row in model if lo <= k <= hi)


@pytest.mark.paper("002-08")
@given(steps=steps, width=widths, bounds=ranges, chunk=room)
@quick
def test_a_b_plus_tree_is_a_sorted_list(steps, width, bounds, chunk) -> None:
    """Inserts, deletes of the oldest equal entry and of any other, in two trees of one pool."""
    forest = trees.forest_of(2, 0, *width)
    model: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    for row, (add, k, tree) in enumerate(steps):
        if add or not model[tree]:
            forest = trees.room_for(forest, len(model[0]) + len(model[1]) + 1)
            trees.insert_all(forest, ints([tree]), ints([k]), ints([row]))
            model[tree].append((k, row))
        else:
            entry = model[tree].pop(0 if row % 2 else row % len(model[tree]))
            assert delete_all(forest, ints([tree]), ints([entry[0]]), ints([entry[1]])) == 1
        assert delete_all(forest, ints([tree]), ints([k]), ints([-1])) == 0  # no such row
        trees.check_forest(forest, linked=False)
    for tree, content in model.items():
        start = np.full(len(bounds), tree)
        assert sorted(drain(forest, start, bounds, chunk)) == wanted(content, bounds)
        assert forest.count(tree) == len(content)


@pytest.mark.paper("002-08")
@given(keys=st.lists(key, max_size=120), more=st.lists(key, max_size=30), width=widths, bounds=ranges)
@quick
def test_a_bulk_load_makes_the_same_tree(keys, more, width, bounds) -> None:
    forest = trees.forest_of(1, len(keys) + len(more), *width)
    bulk_load(forest, 0, ints(sorted(keys)), np.arange(len(keys)))
    trees.check_forest(forest, linked=True)
    model = list(zip(sorted(keys), range(len(keys)), strict=True)) + list(zip(more, range(1000, 2000), strict=False))
    trees.insert_all(forest, np.zeros(len(more), np.int64), ints(more), np.arange(1000, 1000 + len(more)))
    trees.check_forest(forest, linked=True)
    assert sorted(drain(forest, np.zeros(len(bounds), np.int64), bounds, 7)) == wanted(model, bounds)
    out_key, out_row = np.empty(len(model), np.int64), np.empty(len(model), np.int64)
    assert trees.entries(forest, 0, out_key, out_row) == len(model)
    assert out_key.tolist() == sorted(k for k, _ in model)
    assert sorted(out_row.tolist()) == sorted(row for _, row in model)
    for k, row in model:
        assert delete_all(forest, ints([0]), ints([k]), ints([row])) == 1
        trees.check_forest(forest, linked=True)
    assert forest.count() == 0


@pytest.mark.paper("002-09")
@given(
    keys=st.lists(key, max_size=200),
    width=st.sampled_from([(1, 2), (2, 3), (4, 4), (32, 32)]),
    bounds=ranges,
    chunk=room,
)
@quick
def test_a_css_tree_is_a_sorted_list(keys, width, bounds, chunk) -> None:
    css = trees.css_of(ints(sorted(keys)), np.arange(len(keys)), *width)
    trees.check_css(css)
    assert sorted(drain(css, None, bounds, chunk)) == wanted(
        list(zip(sorted(keys), range(len(keys)), strict=True)), bounds
    )
    for probe in {*keys, 5, WORD_MIN, WORD_MAX}:
        assert trees.position(css, 0, probe) == int(np.searchsorted(ints(sorted(keys)), probe))


@pytest.mark.paper("002-13", "002-14", "002-31")
@given(
    keys=st.lists(key, max_size=200), new=st.lists(key, max_size=60), depth=st.integers(0, 5), bounds=ranges, chunk=room
)
@quick
def test_sub_indexes_cover_the_value_ranges_of_their_nodes(keys, new, depth, bounds, chunk) -> None:
    """One tree per node at the depth (clamped to the height), linked leaf to leaf: one scan runs through all."""
    css = trees.css_of(ints(sorted(keys)), np.arange(len(keys)), 2, 3)
    count = trees.nodes_at(css, 0, depth)
    routed = np.empty(len(new), np.int64)
    trees.route_all(css, ints(new), depth, routed)
    assert all(0 <= tree < count for tree in routed)
    pairs = sorted(zip(new, routed.tolist(), strict=True))
    assert [tree for _, tree in pairs] == sorted(tree for _, tree in pairs)  # ranges are disjoint and in order
    forest = trees.forest_of(count, len(new), 2, 4, linked=True)
    trees.insert_all(forest, routed, ints(new), np.arange(len(new)))
    trees.check_forest(forest, linked=True)
    start = np.empty(len(bounds), np.int64)
    trees.route_all(css, ints([lo for lo, _ in bounds]), depth, start)
    model = list(zip(new, range(len(new)), strict=True))
    assert sorted(drain(forest, start, bounds, chunk)) == wanted(model, bounds)


@pytest.mark.paper("002-31")
def test_a_million_entries_have_1024_nodes_at_depth_two() -> None:
    """Not at depth four, as printed: 32 entries per node give inner levels of 1, 32 and 1024 nodes."""
    css = trees.css_of(np.arange(1 << 20), np.arange(1 << 20))
    assert [trees.nodes_at(css, 0, depth) for depth in range(5)] == [1, 32, 1024, 1024, 1024]


def test_nodes_too_small_to_split_are_refused() -> None:
    with pytest.raises(SpecError, match="at least 2 entries"):
        trees.forest_of(1, 0, 1, 4)
