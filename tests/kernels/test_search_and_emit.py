"""Search and emission in one agree with a nested loop: on every level, packed or not, whatever the chunk; compiled and plain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import at_most
from tests.kernels.plain import plain
from weft.kernels import search_and_emit as module
from weft.kernels.packed import Beside, frame_of, pack, pack_ends
from weft.kernels.search import NODE, Fences, advance, fences_of
from weft.kernels.search_and_emit import Approach, approach, emit_near
from weft.types import WORD_MAX, WORD_MIN, Rows, Words

quick = at_most(60)
Pairs = list[tuple[int, int]]
tiny = st.integers(0, 5)
LEVELS = (0, 1, 2)


def less(words: Words, at: int, key: int) -> np.uint64:
    return np.uint64((words[int(at) : int(at) + NODE] < key).sum())


def upto(words: Words, at: int, key: int) -> np.uint64:
    return np.uint64((words[int(at) : int(at) + NODE] <= key).sum())


def fill(rows: Rows, to: int, row: int) -> None:
    rows[int(to) : int(to) + NODE] = row


def copy(keys: Words, row: Beside, at: int, skip: int, out: Rows, to: int) -> None:
    node = range(int(at), int(at) + NODE)
    taken = [keys[k] & row if isinstance(row, int) else row[k] for k in node]
    out[int(to) : int(to) + NODE] = taken[int(skip) :] + taken[: int(skip)]


def one(keys: Words, row: Beside, at: int) -> int:
    return int(keys[int(at)] & row if isinstance(row, int) else row[int(at)])


def nothing(*_: object) -> None:
    """Stand for a prefetch."""


STANDING_IN = {
    "count_less": less, "count_upto": upto, "fill_lanes": fill, "copy_rows": copy, "row_at": one, "prefetch": nothing,
    "prefetch_row": nothing, "_ask_for": nothing,
}  # fmt: skip
"""What only LLVM knows, said in Python."""


@contextmanager
def uncompiled() -> Iterator[None]:
    with ExitStack() as stack:
        for name, stands_in in STANDING_IN.items():
            stack.enter_context(patch.object(module, name, stands_in))
        stack.enter_context(patch.object(module, "_goes_on", plain(module._goes_on)))
        yield


def level_of(number: int, keys: Words, fences: Fences, lo: Words) -> Approach:
    """Walk the level that is asked for, whether or not it is the one worth having."""
    level = (keys, fences.fences, fences.posts)[number]
    return Approach(number, np.searchsorted(level, lo).astype(np.int32))


def emitted(
    keys: Words, row: Beside, fences: Fences, near: Approach, lo: Words, hi: Words, rows: Rows, room: int, compiled: bool = True
) -> Pairs:  # fmt: skip
    found: Pairs = []
    state, calls = np.array([0, -1, 0]), 0
    run = emit_near if compiled else plain(emit_near)
    while state[0] < len(lo):
        probe, stored = np.full(room, -9, np.int32), np.full(room, -9, np.int32)
        with ExitStack() as stack:
            if not compiled:
                stack.enter_context(uncompiled())
            count = int(run(keys, row, fences.fences, *near, lo, hi, rows, state, probe, stored))
        assert 0 <= count <= room
        found += list(zip(probe[:count].tolist(), stored[:count].tolist(), strict=True))
        calls += 1
        assert calls <= len(lo) + len(found) + 1, "it does not move on"
    return found


def nested_loop(keys: Words, row: Rows, lo: Words, hi: Words, rows: Rows) -> Pairs:
    return [
        (int(rows[i]), int(row[k])) for i in range(len(lo)) for k in range(len(keys)) if lo[i] <= keys[k] <= hi[i]
    ]  # fmt: skip


def probes_of(probes: list[tuple[int, int]]) -> tuple[Words, Words, Rows]:
    """Return ranges whose lower ends ascend, some of them empty, and probe rows in another order."""
    ordered = sorted(probes)
    lo, hi = (np.array(ends, np.int64) for ends in ([a for a, _ in ordered], [a + w for a, w in ordered]))
    return lo, hi, np.random.default_rng(5).permutation(len(probes)).astype(np.int32)


@pytest.mark.parametrize("compiled", [True, False], ids=["jit", "py"])
@pytest.mark.parametrize("level", LEVELS)
@given(
    keys=st.lists(tiny, min_size=1, max_size=40),
    probes=st.lists(st.tuples(tiny, st.integers(-2, 3)), max_size=12),
    room=st.integers(1, 50),
)
@example([3], [(3, 0)], 1)
@example([2] * 40, [(2, 0)] * 12, 17)  # all the same: every range is longer than a node
@example([0] * 8 + [1] * 8 + [2] * 24, [(0, 0), (1, 0), (1, 1), (2, 0), (3, 2)], 40)  # ranges end with nodes
@quick
def test_ties_and_short_runs(compiled, level, keys, probes, room) -> None:
    ordered = np.sort(np.array(keys, np.int64))
    row = np.random.default_rng(1).permutation(len(keys)).astype(np.int32)
    lo, hi, rows = probes_of(probes)
    fences = fences_of(ordered)
    near = level_of(level, ordered, fences, lo)
    found = emitted(ordered, row, fences, near, lo, hi, rows, room, compiled)
    assert found == nested_loop(ordered, row, lo, hi, rows)


@pytest.mark.parametrize("level", LEVELS)
@given(
    keys=st.lists(tiny, min_size=1, max_size=40),
    probes=st.lists(st.tuples(tiny, st.integers(-2, 3)), max_size=12),
    room=st.integers(1, 50),
)
@quick
def test_packed_words_give_the_same_pairs(level, keys, probes, room) -> None:
    """Rows in the keys' own words, ends of ranges packed in the same frame."""
    ordered = np.sort(np.array(keys, np.int64))
    row = np.arange(len(keys), dtype=np.int32)  # packed words order ties by row
    frame = frame_of(-10, 20, len(keys))
    assert frame is not None
    packed = pack(ordered, row, frame)
    lo, hi, rows = probes_of(probes)
    packed_lo, packed_hi = pack_ends(lo, hi, 0, 0, frame)
    near = level_of(level, packed.words, packed.fences, packed_lo)
    found = emitted(packed.words, frame.mask, packed.fences, near, packed_lo, packed_hi, rows, room)
    assert found == nested_loop(ordered, row, lo, hi, rows)


@pytest.mark.parametrize("level", LEVELS)
def test_no_probe_no_pair(level: int) -> None:
    keys, none = np.array([1, 2, 3]), np.empty(0, np.int64)
    near = level_of(level, keys, fences_of(keys), none)
    empty = np.empty(0, np.int32)
    assert emitted(keys, np.arange(3, dtype=np.int32), fences_of(keys), near, none, none, empty, 4) == []


def test_ends_of_the_domain() -> None:
    keys = np.sort(np.array([WORD_MIN] * 9 + [0] * 9 + [WORD_MAX] * 9))
    row = np.arange(len(keys), dtype=np.int32)
    lo, hi = np.array([WORD_MIN, WORD_MIN, 0, WORD_MAX]), np.array([WORD_MIN, WORD_MAX, WORD_MAX, WORD_MAX])
    rows = np.arange(4, dtype=np.int32)
    for level in LEVELS:
        near = level_of(level, keys, fences_of(keys), lo)
        found = emitted(keys, row, fences_of(keys), near, lo, hi, rows, 11)
        assert found == nested_loop(keys, row, lo, hi, rows)


@pytest.mark.parametrize(
    ("n", "probes", "level"), [(100, 100, 0), (1000, 100, 1), (60_000, 100, 2), (8, 1, 1), (1, 1, 0)]
)  # fmt: skip
def test_the_approach_walks_the_level_worth_having(n: int, probes: int, level: int) -> None:
    """Whatever the level, it leads to the first key of the range, or to the node before it."""
    random = np.random.default_rng(n)
    keys = np.sort(random.integers(0, n, n))
    lo = np.sort(random.integers(-2, n + 2, probes))
    fences = fences_of(keys)
    way = approach(keys, fences, lo)
    assert way.level == level
    walked = (keys, fences.fences, fences.posts)[level]
    assert way.found.tolist() == np.searchsorted(walked, lo).tolist() == [advance(walked, int(key), 0) for key in lo]
