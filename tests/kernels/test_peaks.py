"""The tree of maxima finds what a look at every row finds, compiled and plain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import share
from weft.kernels import peaks as module
from weft.kernels.emit import Checks, Hits
from weft.kernels.peaks import emit_high, in_probe_order, mark_any, peaks_of
from weft.types import WORD_MAX

NOTHING = Checks(
    np.empty(0, np.int64), np.empty((0, 0), np.int64), np.empty((0, 0), np.int64), np.empty((0, 3), np.int64),
    np.empty(0), np.empty(0),
)  # fmt: skip


@share(0.5)
@pytest.mark.parametrize("once", [False, True])
@given(
    words=st.lists(st.integers(0, 9), min_size=1, max_size=700),
    ranges=st.lists(st.tuples(st.integers(0, 700), st.integers(0, 700), st.integers(-1, 10)), max_size=9),
    groups=st.integers(1, 5),
    room=st.sampled_from([1, 3, 1000]),
)
def test_rows_that_are_high_enough(once, words, ranges, groups, room) -> None:
    """Ranges lie within groups of equal first words, and need not begin with them."""
    n = len(words)
    group = np.sort(np.arange(n) % groups)
    spans = []
    for one, two, least in ranges:
        low = min(one, n - 1)
        high = int(np.searchsorted(group, group[low], "right"))
        spans.append((low, min(low + two % 50, high), least))
    hits = Hits(
        np.arange(len(spans)), np.arange(len(spans)), np.array([s for s, _, _ in spans], np.int64),
        np.array([e for _, e, _ in spans], np.int64),
    )  # fmt: skip
    least, row = np.array([w for _, _, w in spans], np.int64), np.arange(n, dtype=np.int32)[::-1].copy()
    made, state = peaks_of(np.array(words, np.int64), group), np.array([0, -1])
    found: list[tuple[int, int]] = []
    bare = np.zeros((1, max(n, len(spans))), np.int64)
    while state[0] < len(spans):
        probe, stored = np.empty(room, np.int32), np.empty(room, np.int32)
        count = emit_high(hits, made, least, row, bare, bare, NOTHING, once, state, probe, stored)
        found += zip(probe[:count].tolist(), stored[:count].tolist(), strict=True)
    expected = []
    for p, (start, end, wanted) in enumerate(spans):
        enough = [at for at in reversed(range(start, end)) if words[at] >= wanted]
        expected += [(p, n - 1 - at) for at in (enough[:1] if once else enough)]
    assert found == expected


def test_the_plain_kernels_agree() -> None:
    random = np.random.default_rng(1)
    words, level = random.integers(0, 1000, 300), np.empty(300, np.int64)
    made = peaks_of(words)
    again = made.levels.copy()
    again[300:] = -1
    module._fill_levels.py_func(again, made.first)  # type: ignore[attr-defined]
    module._fill_so_far.py_func(words, np.empty(0, np.int64), level)  # type: ignore[attr-defined]
    assert np.array_equal(again, made.levels) and np.array_equal(level, made.so_far)
    assert made.levels[-1] == words.max() and np.array_equal(level, np.maximum.accumulate(words))


def test_marks_and_order() -> None:
    hits = Hits(np.arange(3), np.array([0, 2]), np.array([0, 1]), np.array([2, 3]))
    checks = NOTHING._replace(
        column=np.array([0]), lo=np.array([[5, 0, 9]]), hi=np.array([[WORD_MAX] * 3])
    )  # fmt: skip
    found = np.zeros(3, np.bool_)
    mark_any(hits, np.arange(3, dtype=np.int32), np.zeros((1, 3), np.int64), np.array([[1, 5, 8]]), checks, found)
    assert found.tolist() == [True, False, False]
    empty = np.empty(0, np.int32)
    assert [len(part) for part in in_probe_order(empty, empty, 0)] == [0, 0]
