"""Emission agrees with a nested loop: every kind of check, in order, whatever the chunk; compiled and plain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.kernels.plain import plain
from weft.kernels import emit as module
from weft.kernels.emit import Checks, Hits, Stored, emit
from weft.kernels.words import float_words
from weft.types import WORD_MAX, WORD_MIN, Rows, Words

quick = at_most(60)
Pairs = list[tuple[int, int]]
KERNELS = ("emit_all", "emit_ranged", "emit_last", "emit_checked", "holds", "as_float")
NE, FBAND, LAST = module.NE, module.FBAND, module.LAST
COLUMNS = 3

word = st.integers(0, 3)
row = st.lists(word, min_size=COLUMNS, max_size=COLUMNS)
rows = st.lists(row, min_size=1, max_size=9)
spans = st.lists(st.tuples(word, word, word), max_size=2)
"""Ranges that are checked: (column, below the probe's own number, above it)."""
odd_terms = st.lists(st.tuples(st.sampled_from([NE, FBAND, LAST]), st.integers(0, 1), st.integers(0, 1)), max_size=2)
ways = pytest.mark.parametrize("compiled", [True, False], ids=["jit", "py"])


@contextmanager
def uncompiled() -> Iterator[None]:
    """Let the module run as plain Python; a prefetch, which only LLVM knows, does nothing."""
    with ExitStack() as stack:
        for name in KERNELS:
            stack.enter_context(patch.object(module, name, plain(getattr(module, name))))
        stack.enter_context(patch.object(module, "prefetch", lambda _array, _index: None))
        yield


def words_of(table: list[list[int]]) -> Words:
    return np.array(table, np.int64).reshape(-1, COLUMNS).T.copy()


def checks_of(probe: Words, ranges: list[tuple[int, int, int]], odd: list[tuple[int, int, int]]) -> Checks:
    """Ranges around the probe's first word; odd terms over its columns, as float bands within 1 and windows of 2 rows."""
    return Checks(
        np.array([column % COLUMNS for column, _, _ in ranges], np.int64),
        np.array([probe[0] - below for _, below, _ in ranges], np.int64).reshape(len(ranges), probe.shape[1]),
        np.array([probe[0] + above for _, _, above in ranges], np.int64).reshape(len(ranges), probe.shape[1]),
        np.array(odd, np.int64).reshape(-1, 3),
        np.array([-1.0 for _ in odd]),
        np.array([2.0 if op == LAST else 1.0 for op, _, _ in odd]),
    )


def holds(probe: Words, p: int, words: Words, s: int, checks: Checks) -> bool:
    """Say in Python what the checks ask for."""
    for t, column in enumerate(checks.column):
        if not checks.lo[t, p] <= words[column, s] <= checks.hi[t, p]:
            return False
    for (op, left, right), lo, hi in zip(checks.odd.tolist(), checks.odd_lo, checks.odd_hi, strict=True):
        one, two = int(probe[left, p]), int(words[right, s])
        if op == NE and one == two:
            return False
        if op == FBAND and not lo <= np.int64(one).view(np.float64) - np.int64(two).view(np.float64) <= hi:
            return False
        if op == LAST:
            stored_first, probe_first = int(probe[left + 1, p]) - two, int(words[right + 1, s]) - one
            if not (1 <= stored_first <= hi or 1 <= probe_first <= hi):
                return False
    return True


def emitted(hits: Hits, stored: Stored, probe: Words, checks: Checks, room: int) -> Pairs:
    """Drain the kernel in chunks; no chunk is empty but the last."""
    found: Pairs = []
    state = np.zeros(2, np.int64)
    while state[0] < len(hits.which):
        out_probe, out_stored = np.empty(room, np.int32), np.empty(room, np.int32)
        count = emit(hits, stored, probe, checks, state, out_probe, out_stored)
        assert 0 <= count <= room
        found += list(zip(out_probe[:count].tolist(), out_stored[:count].tolist(), strict=True))
    return found


def hits_of(n: int, probes: int, ends: list[tuple[int, int]]) -> Hits:
    """Give some probes a range each; ranges are never empty, probes come in an order of their own."""
    order = np.random.default_rng(7).permutation(probes).astype(np.int32)
    ranges = [(i % probes, min(a, b) % n, max(min(a, b) % n + 1, max(a, b) % n)) for i, (a, b) in enumerate(ends)]
    which, start, end = (np.array(column, np.int64) for column in zip(*ranges, strict=True))
    return Hits(order, which, start, end)


@ways
@given(
    table=rows, asking=rows, ranges=spans, odd=odd_terms, chunk=st.integers(1, 7), in_order=st.booleans(),
    ends=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 9)), min_size=1, max_size=12),
)  # fmt: skip
@example([[1, 1, 1]] * 9, [[1, 1, 1]] * 9, [], [], 4, False, [(0, 9)] * 12)  # all the same
@example([[1, 1, 1]] * 9, [[1, 1, 1]] * 9, [(1, 0, 0)], [], 7, True, [(0, 9)] * 12)
@example([[0, 1, 2]] * 3, [[2, 3, 3]] * 3, [], [(LAST, 0, 0)], 2, False, [(0, 3)] * 4)
@quick
def test_every_candidate_that_holds_leaves_once(
    compiled, table, asking, ranges, odd, chunk, in_order, ends
) -> None:  # fmt: skip
    words, probe = words_of(table), words_of(asking)
    order = np.random.default_rng(3).permutation(len(table)).astype(np.int32)
    stored = (
        Stored(order, np.arange(len(order), dtype=np.int32), words[:, order])
        if in_order
        else Stored(order, order, words)
    )
    hits, checks = hits_of(len(table), len(asking), ends), checks_of(probe, ranges, odd)
    wanted = [
        (int(hits.rows[which]), int(order[s]))
        for which, start, end in zip(hits.which, hits.start, hits.end, strict=True)
        for s in range(start, end)
        if holds(probe, int(hits.rows[which]), words, int(order[s]), checks)
    ]
    if compiled:
        assert emitted(hits, stored, probe, checks, chunk) == wanted
    else:
        with uncompiled():
            assert emitted(hits, stored, probe, checks, chunk) == wanted


@ways
def test_no_hits_no_pairs(compiled) -> None:
    none: Rows = np.empty(0, np.int64)
    empty = Stored(np.empty(0, np.int32), np.empty(0, np.int32), np.empty((COLUMNS, 0), np.int64))
    probe = np.zeros((COLUMNS, 2), np.int64)
    for ranges, odd in ((0, 0), (1, 0), (2, 0), (0, 1)):
        checks = checks_of(probe, [(0, 0, 0)] * ranges, [(LAST, 0, 0)] * odd)
        out, state = np.empty(4, np.int32), np.zeros(2, np.int64)
        hits = Hits(np.arange(2, dtype=np.int32), none, none, none)
        with ExitStack() as stack:
            if not compiled:
                stack.enter_context(uncompiled())
            assert emit(hits, empty, probe, checks, state, out, out.copy()) == 0
        assert state.tolist() == [0, 0]


@ways
def test_one_probe_with_many_partners_goes_on_where_it_stopped(compiled) -> None:
    n = 1000
    row = np.arange(n, dtype=np.int32)[::-1].copy()
    words, probe = np.arange(3 * n).reshape(COLUMNS, n) % 10, np.full((COLUMNS, 1), 4)
    hits = Hits(np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([10]), np.array([n]))
    variants: list[tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]]
    variants = [([], []), ([(0, 1, 1)], []), ([(0, 1, 1), (1, 4, 4)], []), ([], [(LAST, 0, 0)])]
    for ranges, odd in variants:
        checks = checks_of(probe, ranges, odd)
        wanted = [(0, int(row[s])) for s in range(10, n) if holds(probe, 0, words, int(row[s]), checks)]
        with ExitStack() as stack:
            if not compiled:
                stack.enter_context(uncompiled())
            assert emitted(hits, Stored(row, row, words), probe, checks, 64) == wanted
        assert len(wanted) > 64


def test_words_at_the_ends_of_the_domain_and_floats() -> None:
    values = np.array([-np.inf, -1.5, -0.0, 0.0, 1.0, np.inf, np.nan])
    words = np.stack([float_words(values), np.array([WORD_MIN, -1, 0, 1, 2, 3, WORD_MAX]), np.zeros(7, np.int64)])
    n = len(values)
    row = np.arange(n, dtype=np.int32)
    hits = Hits(row, np.arange(n), np.zeros(n, np.int64), np.full(n, n))
    stored = Stored(row, row, words)
    none: Any = np.empty((0, 0), np.int64)
    band = Checks(np.empty(0, np.int64), none, none, np.array([[FBAND, 0, 0]]), np.array([-1.0]), np.array([1.5]))
    numbers = values.tolist()  # which Python subtracts without a word
    wanted = [(p, s) for p in range(n) for s in range(n) if -1.0 <= numbers[p] - numbers[s] <= 1.5]
    assert emitted(hits, stored, words, band, 5) == wanted
    full = Checks(
        np.array([1]), np.full((1, n), WORD_MIN), np.full((1, n), WORD_MAX), np.empty((0, 3), np.int64), np.empty(0), np.empty(0)
    )  # fmt: skip
    assert emitted(hits, stored, words, full, 5) == [(p, s) for p in range(n) for s in range(n)]
    nothing = full._replace(lo=np.full((1, n), WORD_MAX), hi=np.full((1, n), WORD_MIN))
    assert emitted(hits, stored, words, nothing, 5) == []
