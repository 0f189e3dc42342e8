"""Sketches against exact counts, and the augmented sketch against Alg. 1 taken literally."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import SpecError
from weft.sketch import ASketch, CountMin, heaviest

streams = st.lists(st.integers(-3, 12), max_size=120)


class Literal:
    """Alg. 1 line by line, with the corrections 000-12 and 000-13; only the hash functions are shared."""

    def __init__(self, like: ASketch) -> None:
        self.top, self.hash = like.top, like.rest.cells
        self.filter: list[list[int]] = []  # [key, N_c, O_c]
        self.table = [[0] * like.rest.width for _ in range(like.rest.depth)]

    def _insert(self, key: int, count: int) -> int:
        cells = [int(c) for c in self.hash(np.array([key]))[:, 0]]
        for row, cell in enumerate(cells):
            self.table[row][cell] += count
        return min(self.table[row][cell] for row, cell in enumerate(cells))

    def add(self, key: int) -> bool:
        for entry in self.filter:  # 1-4
            if entry[0] == key:
                entry[1] += 1
                return True
        if len(self.filter) < self.top:  # 5-7
            self.filter.append([key, 1, 0])
            return False
        estimate = self._insert(key, 1)  # 9
        top = min(self.filter, key=lambda entry: entry[1])
        if estimate > top[1]:  # 10
            gone, exact = top[0], top[1] - top[2]
            top[:] = [key, estimate, estimate]  # 11
            if exact > 0:
                self._insert(gone, exact)  # 12
            return True  # 13
        return False  # 15


@pytest.mark.paper("000-06", "000-07", "000-08", "000-09", "000-12", "000-13")
@given(streams, st.integers(1, 5), st.integers(1, 3), st.integers(1, 6), st.integers(1, 40))
def test_alg_1_tuple_by_tuple_and_batch_by_batch(stream, top, depth, width, batch):
    sketch = ASketch(top, depth, width)
    literal = Literal(sketch)
    flags = []
    for start in range(0, len(stream), batch):
        flags += sketch.update(np.array(stream[start : start + batch], np.int64)).tolist()
    assert flags == [literal.add(key) for key in stream]
    filtered = np.array([sketch.keys, sketch.new, sketch.old]).T.tolist()
    assert filtered == literal.filter
    assert sketch.rest.table.tolist() == literal.table


@pytest.mark.paper("000-08")
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 7)), max_size=40), st.integers(1, 4), st.integers(1, 5))
def test_a_weight_is_so_many_tuples_in_a_row(stream, top, width):
    one, many = ASketch(top, 2, width), ASketch(top, 2, width)
    keys, weights = (np.array([pair[i] for pair in stream], np.int64) for i in (0, 1))
    hot = one.update(keys, weights)
    each = many.update(np.repeat(keys, weights))
    assert hot.tolist() == each[np.cumsum(weights) - 1].tolist() if len(keys) else True
    assert one.to_json() == many.to_json()


@given(streams)
def test_one_tuple_at_a_time_is_the_same(stream):
    one, batch = ASketch(3, 2, 8), ASketch(3, 2, 8)
    assert [one.add(key) for key in stream] == batch.update(np.array(stream, np.int64)).tolist()
    assert one.to_json() == batch.to_json()
    again = ASketch.of_json(json.loads(json.dumps(one.to_json())))
    assert again.to_json() == one.to_json()


@pytest.mark.paper("000-09")
@given(streams, st.integers(1, 4))
def test_no_estimate_is_too_small_and_the_filter_counts_exactly(stream, top):
    sketch, exact = ASketch(top, 3, 16), Counter(stream)
    sketch.update(np.array(stream, np.int64))
    keys = np.array(sorted(exact), np.int64)
    assert (sketch.estimate(keys) >= [exact[int(key)] for key in keys]).all()
    assert all(new - old <= exact[int(key)] for key, new, old in zip(sketch.keys, sketch.new, sketch.old, strict=True))


@pytest.mark.paper("000-14")
def test_first_sight_is_cold_and_any_repetition_is_hot_while_the_filter_fills():
    sketch = ASketch()
    assert sketch.update(np.array([1, 2, 1, 3, 2, 9, 9])).tolist() == [False, False, True, False, True, False, True]


@pytest.mark.paper("000-15")
def test_a_sketch_is_not_aged_unless_asked():
    sketch = ASketch(1, 2, 64)
    sketch.update(np.array([7] * 100))
    sketch.update(np.array([8] * 60))
    assert sketch.hottest()[0].tolist() == [7]  # popular once, popular forever
    for _ in range(6):
        sketch.halve()
    sketch.update(np.array([8] * 3))
    assert sketch.hottest()[0].tolist() == [8]


@pytest.mark.paper("000-10")
def test_the_default_is_32_keys_and_16_kib():
    sketch = ASketch()
    assert sketch.top == 32
    assert sketch.rest.nbytes == 16 * 1024


@pytest.mark.paper("Y04", "000-07")
@given(streams, streams)
def test_count_min_is_linear_and_never_too_small(one, two):
    sketches = []
    for part in (one, two, one + two):
        sketch = CountMin(3, 8)
        sketch.add(np.array(part, np.int64))
        sketches.append(sketch)
    merged = sketches[0].merge(sketches[1])
    assert (merged.table == sketches[2].table).all()
    exact = Counter(one + two)
    keys = np.array(sorted(exact), np.int64)
    assert (merged.estimate(keys) >= [exact[int(key)] for key in keys]).all()
    assert (CountMin.of_json(merged.to_json()).table == merged.table).all()


def zipf(n: int, z: float, seed: int) -> np.ndarray:
    weights = 1.0 / np.arange(1, 10_001) ** z
    return np.random.default_rng(seed).choice(10_000, n, p=weights / weights.sum()) * 7919 % 10_007


@pytest.mark.paper("Y04", "000-10")
@pytest.mark.parametrize("z", [1.0, 1.5, 2.0])
def test_the_heaviest_keys_of_a_skewed_stream_are_found(z):
    stream = zipf(60_000, z, 3)
    exact = Counter(stream.tolist())
    truth = [key for key, _ in exact.most_common(16)]
    sketch = ASketch()
    sketch.update(stream)
    assert len(set(truth) & set(sketch.hottest()[0].tolist())) >= 15
    keys = np.array(truth)
    error = np.abs(sketch.estimate(keys) - np.array([exact[key] for key in truth]))
    assert (error <= np.e / 512 * len(stream)).all()  # epsilon of a width of 512


def test_a_count_min_estimate_is_within_its_epsilon():
    stream = zipf(50_000, 1.0, 4)
    sketch = CountMin()
    sketch.add(stream)
    keys, exact = np.unique(stream, return_counts=True)
    wrong = sketch.estimate(keys) - exact > np.e / 512 * len(stream)
    assert wrong.mean() <= np.exp(-8)


def test_the_heaviest_of_several_streams():
    stream = zipf(40_000, 1.5, 5)
    parts = []
    for part in np.array_split(stream, 7):
        parts.append(ASketch())
        parts[-1].update(part)
    keys, counts = heaviest(parts, 8)
    exact = Counter(stream.tolist())
    assert set(keys[:6].tolist()) <= {key for key, _ in exact.most_common(8)}
    assert (counts >= [exact[int(key)] for key in keys]).all()
    assert heaviest([], 8)[0].tolist() == []


def test_nonsense_is_refused():
    with pytest.raises(SpecError, match="A filter of 0 keys"):
        ASketch(0)
    with pytest.raises(SpecError, match="0 x 3"):
        CountMin(0, 3)
    with pytest.raises(SpecError, match="cannot be merged with"):
        CountMin(1, 3).merge(CountMin(1, 4))
