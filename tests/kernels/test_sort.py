"""Packed sorting gives the stable order, however wide the keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.kernels.plain import plain
from weft.kernels import sort
from weft.kernels.sort import ascending, order_groups, order_of, remembered, sort_by
from weft.types import WORD_MAX, WORD_MIN

quick = at_most(60)
word = st.one_of(st.integers(0, 5), st.integers(WORD_MIN, WORD_MAX), st.sampled_from([WORD_MIN, WORD_MAX]))
words = st.lists(word, max_size=40).map(lambda values: np.array(values, np.int64))


@given(words=words)
@quick
def test_one_column(words: np.ndarray) -> None:
    order = sort_by([words])
    assert order.rows.tolist() == np.argsort(words, kind="stable").tolist()
    assert order.keys[0].tolist() == sorted(words.tolist())


@given(rows=st.lists(st.tuples(word, word), max_size=40))
@quick
def test_two_columns(rows: list[tuple[int, int]]) -> None:
    first, second = np.array(rows, np.int64).reshape(-1, 2).T.copy()
    assert order_of([first, second]).tolist() == np.lexsort([second, first]).tolist()


@given(rows=st.lists(st.tuples(st.integers(0, 5), word), max_size=200))
@quick
def test_two_columns_of_which_the_first_ascends(rows: list[tuple[int, int]]) -> None:
    rows.sort(key=lambda row: row[0])
    first, second = np.array(rows, np.int64).reshape(-1, 2).T.copy()
    found = sort_by([first, second])
    assert found.rows.tolist() == np.lexsort([second, first]).tolist()
    assert [key.tolist() for key in found.keys] == [first.tolist(), second[found.rows].tolist()]


@pytest.mark.parametrize("group", [1, 10, 5000])
@pytest.mark.parametrize("falls", [False, True])
def test_groups_are_ordered_where_they_are_small(group: int, falls: bool) -> None:
    first, second = np.arange(20_000) // group, np.random.default_rng(1).integers(0, 1 << 60, 20_000)
    if falls:
        first[-1] = -1
    rows = np.empty(20_000, np.int32)
    done = order_groups(first, second, rows)
    assert done == (group < 5000 and not falls)
    assert not done or rows.tolist() == np.lexsort([second, first]).tolist()
    assert plain(order_groups)(first[:300], second[:300], rows[:300]) == order_groups(
        first[:300], second[:300], rows[:300]
    )
    assert ascending(first) == plain(ascending)(first) == (not falls)


@pytest.mark.parametrize("low_bits", [1, 20, 40])
def test_keys_that_differ_in_low_bits_only(low_bits: int) -> None:
    """Worst for packing: two far groups take all the leading bits."""
    random = np.random.default_rng(3)
    words = random.integers(0, 1 << low_bits, 5000) + np.where(random.random(5000) < 0.5, WORD_MIN, WORD_MAX >> 1)
    assert order_of([words]).tolist() == np.argsort(words, kind="stable").tolist()


_ROWS = [2, 129, 256, 257, 4096, 70_000]
_KEYS = {
    "even": lambda random, n: random.integers(0, 1 << 40, n),
    "every bit": lambda random, n: random.integers(WORD_MIN, WORD_MAX, n),
    "few": lambda random, n: random.integers(0, 5, n),
    "as wide as two digits": lambda random, n: random.integers(0, 1 << 16, n),
    "skewed": lambda random, n: np.minimum(random.zipf(1.3, n), 1 << 40),
    "three crowds": lambda random, n: random.integers(0, 1000, n) + (random.integers(0, 3, n) << 50),
    "falling": lambda random, n: -np.arange(n),
    "one": lambda random, n: np.full(n, 7),
}


@pytest.mark.parametrize("rows", _ROWS)
@pytest.mark.parametrize("keys", _KEYS)
def test_radix_sort_and_its_ways_out(keys: str, rows: int) -> None:
    """Even keys settle after two passes, narrow ones need no settling, crowded ones are sorted another way."""
    words = np.asarray(_KEYS[keys](np.random.default_rng(rows), rows), np.int64)
    order = sort_by([words])
    assert np.array_equal(order.rows, np.argsort(words, kind="stable"))
    assert np.array_equal(order.keys[0], np.sort(words))


def test_the_order_of_a_block_is_remembered_by_identity() -> None:
    words = np.array([[3, 1, 2], [1, 2, 3]])
    first = remembered(words, (0,))
    assert remembered(words, (0,)) is first
    assert remembered(words.copy(), (0,)) is not first
    assert remembered(words, (1,)).rows.tolist() == [0, 1, 2]


def test_kernels_as_plain_python() -> None:
    order = np.array([1, 0, 2])
    assert plain(sort.repair)(np.array([5, 3, 4]), order)
    assert order.tolist() == [1, 2, 0]
    packed = np.array([3 << 8, 1 << 8, 2 << 8, 1 << 8 | 1], np.uint64)
    plain(sort.radix)(packed, packed.copy(), 0, 8)
    assert packed.tolist() == [256, 257, 512, 768]
    assert plain(sort.settle)(packed[::-1].copy())
    crowded = np.arange(50, 0, -1, dtype=np.uint64)
    assert not plain(sort.settle)(crowded)
