"""All searches agree with numpy's, compiled and plain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import at_most
from tests.kernels.plain import plain
from weft.kernels import emit, search, search_and_emit
from weft.kernels.words import float_of, float_range, float_words, narrow
from weft.types import WORD_MAX, WORD_MIN

quick = at_most(60)
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
    hits = search.find_range(stored, search.fences_of(stored), lo, hi, which, start, end)
    assert list(zip(which[:hits], start[:hits], end[:hits], strict=True)) == expected(stored, lo, hi)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 5000])
@pytest.mark.parametrize("probes", [1, 3, 400])
@pytest.mark.parametrize("domain", [3, 1000, 1 << 40])
def test_nodes_hold_the_last_smaller_key(n: int, probes: int, domain: int) -> None:
    random = np.random.default_rng(n * probes)
    keys, lo = np.sort(random.integers(0, domain, n)), np.sort(random.integers(-2, domain + 2, probes))
    found = np.empty(probes, np.int32)
    search.locate(search.fences_of(keys), lo, found)
    assert (np.maximum(found - 1, 0) == np.maximum(np.searchsorted(keys, lo) - 1, 0) // search.NODE).all()
    search.walk(keys, lo, found)
    assert (found == np.searchsorted(keys, lo)).all()


@given(
    keys=st.lists(wide, min_size=1, max_size=100),
    probes=st.lists(st.tuples(wide, st.integers(-5, 20)), max_size=30),
    room=st.integers(1, 60),
)
@quick
def test_search_and_emission_in_one(keys: list[int], probes: list[tuple[int, int]], room: int) -> None:
    stored = np.sort(np.array(keys, np.int64))
    lo = np.sort(np.array([p for p, _ in probes], np.int64))
    hi = np.array([max(WORD_MIN, min(int(p) + w, WORD_MAX)) for p, (_, w) in zip(lo, probes, strict=True)], np.int64)
    row = np.random.default_rng(1).permutation(len(stored)).astype(np.int32)
    rows, fences = np.arange(len(lo), dtype=np.int32)[::-1].copy(), search.fences_of(stored)
    wanted = [(int(rows[i]), int(row[k])) for i, s, e in expected(stored, lo, hi) for k in range(s, e)]
    for level, keys_of_level in enumerate((stored, *fences)):
        first = np.searchsorted(keys_of_level, lo).astype(np.int32)
        found, state = [], np.array([0, -1, 0])
        while state[0] < len(lo):
            probe, out = np.empty(room, np.int32), np.empty(room, np.int32)
            count = search_and_emit.emit_near(stored, row, fences.fences, level, first, lo, hi, rows, state, probe, out)
            assert count or state[0] == len(lo)
            found += list(zip(probe[:count].tolist(), out[:count].tolist(), strict=True))
        assert found == wanted


@pytest.mark.parametrize(("n", "probes"), [(200, 300), (3000, 300), (60_000, 300)])
@pytest.mark.parametrize("width", [-3, 0, 3, 8, 40])
def test_larger_runs_emit_the_same(n: int, probes: int, width: int) -> None:
    random = np.random.default_rng(n)
    stored = np.sort(random.integers(0, n // 2, n))
    lo = np.sort(random.integers(-5, n // 2 + 5, probes))
    hi, row, rows = lo + width, random.permutation(n).astype(np.int32), random.permutation(probes).astype(np.int32)
    wanted = [(int(rows[i]), int(row[k])) for i, s, e in expected(stored, lo, hi) for k in range(s, e)]
    found, state, room = [], np.array([0, -1, 0]), 257
    fences = search.fences_of(stored)
    way = search_and_emit.approach(stored, fences, lo)
    while state[0] < probes:
        probe, out = np.empty(room, np.int32), np.empty(room, np.int32)
        count = search_and_emit.emit_near(stored, row, fences.fences, *way, lo, hi, rows, state, probe, out)
        found += list(zip(probe[:count].tolist(), out[:count].tolist(), strict=True))
    assert found == wanted


@pytest.mark.parametrize("as_is", [False, True], ids=["jit", "py"])
def test_pairs_are_checked_in_place(as_is: bool) -> None:
    names = ("keep_counted", "keep_ranged", "keep_last")
    counted, ranged, last = (plain(getattr(emit, n)) if as_is else getattr(emit, n) for n in names)
    words = np.array([[10, 11, 12, 13], [9, 9, 9, 9]])
    asking = np.array([[8, 8], [11, 13]])
    for check, how in (
        (counted, (2, 0, 1)),  # row - 2 * probe in [0, 1]: words 10, 11 for probe 0 and 12, 13 for probe 1
        (ranged, (words[0], np.array([10, 12]), np.array([11, 13]))),
        (last, (asking, words, 1)),  # the partner's number is one less than what came before: 10 and 12; or 9 - 8 == 1
    ):
        probe, stored = np.array([0, 0, 1, 1, 0], np.int32), np.array([0, 2, 2, 1, 1], np.int32)
        count = int(check(probe, stored, 5, *how))
        every = [(0, 0), (0, 2), (1, 2), (1, 1), (0, 1)]
        wanted = every if check is last else [(0, 0), (1, 2), (0, 1)]
        assert list(zip(probe[:count].tolist(), stored[:count].tolist(), strict=True)) == wanted


def test_groups_are_found_by_hash() -> None:
    firsts = np.sort(np.random.default_rng(2).integers(WORD_MIN, WORD_MAX, 50).repeat(3))
    keys = np.tile([1, 5, 9], 50)
    slots = search.directory_of(firsts)
    equal = np.append(firsts[::3], [0, 1])
    lo, hi = np.full(52, 2), np.full(52, 9)
    which, start, end = scratch(52)
    hits = search.find_grouped(firsts, keys, slots, equal, lo, hi, which, start, end)
    assert hits == 50
    assert (end[:50] - start[:50] == 2).all()


@pytest.mark.parametrize("find", [search.find_range], ids=["jit"])
def test_small_runs(find) -> None:
    keys = np.array([1, 1, 3, 3, 3, 8])
    which, start, end = scratch(4)
    hits = find(keys, search.fences_of(keys), np.array([0, 1, 2, 9]), np.array([1, 1, 3, 9]), which, start, end)
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
    words = float_words(np.array(values))
    back = float_of(words)
    assert np.array_equal(back, np.array(values), equal_nan=True)
    least, most, number = float_range(words, lo, hi)
    with np.errstate(all="ignore"):
        apart = back[:, None] - back
    match = (apart >= lo) & (apart <= hi)
    inside = number[:, None] & (words >= least[:, None]) & (words <= most[:, None])
    assert not (match & ~inside).any()
