"""The walks of as-of joins, compiled and plain, against what they say in words."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.plain import plain
from weft.kernels.asof import (
    ascends,
    gaps,
    gaps_of_doubles,
    last_before,
    linked,
    nearest_stored,
    next_candidates,
    next_stored,
    number_words,
    turned,
)
from weft.types import WORD_MAX, WORD_MIN

NONE = np.zeros(0, np.int32)
WORDS = st.lists(st.one_of(st.integers(-3, 3), st.sampled_from((WORD_MIN, WORD_MAX))), max_size=12)
BOTH = st.sampled_from((True, False))


def array(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def order_of(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.argsort(array(values), kind="stable").astype(np.int32)


@given(WORDS, WORDS, BOTH)
def test_words_are_numbered_in_their_order(right, left, compiled):
    every = np.zeros(0, np.bool_)
    found = (number_words if compiled else plain(number_words))(array(right), every, array(left), every)
    different = list(dict.fromkeys(right))
    assert found[0].tolist() == [different.index(word) for word in right]
    assert found[1].tolist() == [different.index(word) if word in different else -1 for word in left]
    assert found[2] == len(different)


def test_a_table_of_words_grows() -> None:
    right = np.random.default_rng(1).integers(-(2**62), 2**62, 30_000)
    valid = np.arange(30_000) % 3 > 0
    found = number_words(right, valid, right[::-1].copy(), valid[::-1].copy())
    assert found[2] == valid.sum()
    assert np.array_equal(found[0], np.where(valid, np.cumsum(valid) - 1, -1))
    assert np.array_equal(found[1], found[0][::-1])


@given(WORDS, BOTH)
def test_turned_rows_keep_the_order_of_equals(words, compiled):
    order = order_of(words)
    found = (turned if compiled else plain(turned))(array(words), order).tolist()
    assert found == sorted(range(len(words)), key=lambda at: (-words[at], at))
    if words == sorted(words):
        assert turned(array(words), NONE).tolist() == found
    assert ascends(array(words)) == (words == sorted(words))


@given(WORDS, WORDS, st.booleans(), st.booleans(), BOTH, st.data())
def test_the_last_row_before(left, right, strict, ahead, compiled, data):
    groups = [np.array(data.draw(st.lists(st.integers(-1, 1), min_size=len(side), max_size=len(side))), np.int32)
              for side in (left, right)]  # fmt: skip
    orders = [order_of(left), order_of(right)]
    if ahead:
        orders = [turned(array(side), order) for side, order in zip((left, right), orders, strict=True)]
    walk = last_before if compiled else plain(last_before)
    found = walk(array(left), groups[0], orders[0], array(right), groups[1], orders[1], 2, strict, -1 if ahead else 0)
    before = linked(groups[1], orders[1], len(right), 2)
    for at, word in enumerate(left):
        allowed = [
            row for row in orders[1].tolist()
            if groups[1][row] == groups[0][at] >= 0 and not (strict and right[row] == word)
            and (right[row] >= word if ahead else right[row] <= word)
        ]  # fmt: skip
        assert found[at] == (allowed[-1] if allowed else -1)
        chain, row = [], int(found[at])
        while row >= 0:
            chain.append(row)
            row = int(before[row])
        assert chain == allowed[::-1]


@given(st.integers(1, 5), st.integers(-2, 8))
def test_candidates_come_in_pieces(most, bound):
    """Of a chain 5, 4, ... 0 whose words are their numbers."""
    before, words = np.arange(-1, 5, dtype=np.int32), np.arange(6)
    rows, at, found = np.array([0]), np.array([5], np.int32), list[int]()
    bounds = np.array([bound])
    while at[0] >= 0:
        probe, stored = np.empty(most, np.int32), np.empty(most, np.int32)
        count = next_candidates(before, words, 0, rows, at, bounds, most, probe, stored)
        assert count == most or at[0] < 0
        found += stored[:count].tolist()
    assert found == [row for row in range(5, -1, -1) if row >= bound]


@given(st.lists(st.tuples(st.integers(-1, 1), WORDS), max_size=3), WORDS, BOTH, BOTH, BOTH, BOTH, st.integers(1, 3))
def test_a_sorted_table_is_bisected(stored, left, grouped, strict, ahead, compiled, most):
    """All candidates of a row, the first one and those that follow, are those that a nested loop finds, in its order."""
    rows = sorted((group if grouped else 0, word) for group, words in stored for word in words)
    groups, places = array([group for group, _ in rows]), array([word for _, word in rows])
    own = array([at % 3 - 1 if grouped else 0 for at in range(len(left))])
    given_ = (groups, own) if grouped else (array([]), array([]))
    flip = -1 if ahead else 0
    first = (nearest_stored if compiled else plain(nearest_stored))(
        given_[1], array(left), given_[0], places, strict, flip
    )
    for at, (group, word) in enumerate(zip(own, left, strict=True)):
        near = [row for row, (its, place) in enumerate(rows) if its == group and (place != word or not strict)]
        near = [row for row in near if (places[row] >= word if ahead else places[row] <= word)]
        near.sort(key=lambda row: (int(places[row]) if ahead else -int(places[row]), -row))
        assert first[at] == (near[0] if near else -1)
        bound = array([0] * at + [WORD_MAX if ahead else WORD_MIN])
        where, found = first[at : at + 1].copy(), list[int]()
        while where[0] >= 0:
            probe, out = np.empty(most, np.int32), np.empty(most, np.int32)
            follow = next_stored if compiled else plain(next_stored)
            count = follow(given_[0], places, flip, array([at]), where, bound, most, probe, out)
            assert probe[:count].tolist() == [at] * count
            found += out[:count].tolist()
        assert found == near


def test_candidates_in_a_sorted_table_end_at_the_bound() -> None:
    places, one = array([1, 2, 2, 5, 5, 9]), array([])
    for flip, start, bound, expected in ((0, 4, 2, [4, 3, 2, 1]), (-1, 2, 5, [2, 1, 4, 3])):
        out = np.empty(9, np.int32)
        at = np.array([start], np.int32)
        count = next_stored(one, places, flip, array([0]), at, array([bound]), 9, np.empty(9, np.int32), out)
        assert (out[:count].tolist(), at.tolist()) == (expected, [-1])


def test_gaps_do_not_overflow() -> None:
    rows = np.array([0, 1, -1], np.int32)
    found = gaps(array([WORD_MAX, WORD_MIN, 0]), array([WORD_MIN, WORD_MAX]), rows)
    assert found.tolist() == [2**64 - 1] * 3
    doubles = gaps_of_doubles(np.array([np.inf, 1.5, 0.0]), np.array([np.inf, -1.0]), rows)
    assert doubles.tolist() == [0.0, 2.5, np.inf]
