"""All searches agree with numpy's, compiled and plain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.kernels.plain import plain
from weft.kernels import directory, radix, search
from weft.kernels.bounds import float_of, float_range, narrow, word_of_float
from weft.types import WORD_MAX, WORD_MIN

quick = settings(deadline=None, max_examples=60)
wide = st.one_of(st.integers(0, 60), st.sampled_from([WORD_MIN, WORD_MAX, 0]))
Ints = NDArray[np.int64]


def expected(keys: Ints, lo: Ints, hi: Ints) -> list[tuple[int, int, int]]:
    starts, ends = np.searchsorted(keys, lo, "left"), np.searchsorted(keys, hi, "right")
    return [(i, int(s), int(e)) for i, (s, e) in enumerate(zip(starts, ends, strict=True)) if s < e]


def scratch(n: int) -> tuple[Ints, Ints, Ints]:
    return np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)


@given(keys=st.lists(wide, min_size=1, max_size=100), probes=st.lists(st.tuples(wide, st.integers(0, 9)), max_size=30))
@quick
def test_ranges(keys: list[int], probes: list[tuple[int, int]]) -> None:
    stored = np.sort(np.array(keys, np.int64))
    lo = np.sort(np.array([p for p, _ in probes], np.int64))
    hi = np.array([min(int(p) + w, WORD_MAX) for p, (_, w) in zip(lo, probes, strict=True)], np.int64)
    which, start, end = scratch(len(lo))
    wanted = expected(stored, lo, hi)
    hits = search.find_range(stored, lo, hi, which, start, end)
    assert list(zip(which[:hits], start[:hits], end[:hits], strict=True)) == wanted
    hits = search.find_fenced(stored, stored[:: search.FENCE].copy(), lo, hi, which, start, end)
    assert list(zip(which[:hits], start[:hits], end[:hits], strict=True)) == wanted
    sliced = radix.radix_of(stored)
    if sliced is not None:
        hits = radix.find_sliced(stored, sliced, lo, hi, which, start, end)
        assert list(zip(which[:hits], start[:hits], end[:hits], strict=True)) == wanted


def test_uneven_keys_get_no_radix_directory() -> None:
    keys = np.sort(np.append(np.arange(10_000), WORD_MAX))
    assert radix.radix_of(keys) is None
    assert radix.radix_of(np.arange(10_000) * 977) is not None


def test_groups_are_found_by_hash() -> None:
    firsts = np.sort(np.random.default_rng(2).integers(WORD_MIN, WORD_MAX, 50).repeat(3))
    keys = np.tile([1, 5, 9], 50)
    slots = directory.directory_of(firsts)
    equal = np.append(firsts[::3], [0, 1])
    lo, hi = np.full(52, 2), np.full(52, 9)
    which, start, end = scratch(52)
    hits = directory.find_grouped(firsts, keys, slots, equal, lo, hi, which, start, end)
    assert hits == 50
    assert (end[:50] - start[:50] == 2).all()


@pytest.mark.parametrize("find", [search.find_range, plain(search.find_range)], ids=["jit", "py"])
def test_compiled_and_plain(find) -> None:
    keys = np.array([1, 1, 3, 3, 3, 8])
    which, start, end = scratch(4)
    hits = find(keys, np.array([0, 1, 2, 9]), np.array([1, 1, 3, 9]), which, start, end)
    assert list(zip(which[:hits], start[:hits], end[:hits], strict=True)) == [(0, 0, 2), (1, 0, 2), (2, 2, 5)]


@given(
    words=st.lists(wide, max_size=10),
    by=st.sampled_from([0, 1, -1, 2**63, -(2**63), 2**64, -(2**64), 2**70]),
    lower=st.booleans(),
)
@quick
def test_ends_never_wrap(words: list[int], by: int, lower: bool) -> None:
    array = np.array(words, np.int64)
    out, alive = np.full(len(words), WORD_MIN if lower else WORD_MAX), np.ones(len(words), np.bool_)
    narrow(array, by, lower, out, alive)
    for word, end, living in zip(words, out.tolist(), alive.tolist(), strict=True):
        true = word + by
        assert living == (true <= WORD_MAX if lower else true >= WORD_MIN)
        if living:
            assert end == max(min(true, WORD_MAX), WORD_MIN)


@given(values=st.lists(st.floats(), min_size=1), lo=st.floats(allow_nan=False), hi=st.floats(allow_nan=False))
@quick
def test_float_ranges_lose_nothing(values: list[float], lo: float, hi: float) -> None:
    words = word_of_float(np.array(values))
    back = float_of(words)
    assert np.array_equal(back, np.array(values), equal_nan=True)
    least, most, number = float_range(words, lo, hi)
    with np.errstate(all="ignore"):
        apart = back[:, None] - back
    match = (apart >= lo) & (apart <= hi)
    inside = number[:, None] & (words >= least[:, None]) & (words <= most[:, None])
    assert not (match & ~inside).any()
