"""Packed sorting gives the stable order, however wide the keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.plain import plain
from weft.kernels import sort
from weft.kernels.sort import order_of, remembered, sort_by
from weft.types import WORD_MAX, WORD_MIN

quick = settings(deadline=None, max_examples=60)
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


@pytest.mark.parametrize("low_bits", [1, 20, 40])
def test_keys_that_differ_in_low_bits_only(low_bits: int) -> None:
    """Worst for packing: two far groups take all the leading bits."""
    random = np.random.default_rng(3)
    words = random.integers(0, 1 << low_bits, 5000) + np.where(random.random(5000) < 0.5, WORD_MIN, WORD_MAX >> 1)
    assert order_of([words]).tolist() == np.argsort(words, kind="stable").tolist()


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
