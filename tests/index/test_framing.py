"""Packing never shows: keys that drift, spread or jump are found as they are when they lie apart from their rows."""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.index import Layout, Probe, Runs
from weft.spec.terms import Access, Op, Term
from weft.types import WORD_MAX, WORD_MIN, Block

KEY, TIME = 0, 1
BAND = Term(KEY, Op.BAND, KEY, -2, 2)
ACCESS = Access(within=BAND)
near = st.integers(-3, 3)
place = st.sampled_from([0, 0, 0, 1 << 20, 1 << 33, 1 << 45, WORD_MIN + 3, WORD_MAX - 3])
key = st.builds(lambda at, by: at + by, place, near)


def block_of(keys: list[int], time: int, first: int) -> Block:
    words = np.array([keys, [time] * len(keys)], np.int64)
    ids = pa.table({"id": np.arange(first, first + len(keys))})
    return Block(words, np.zeros(len(keys), np.uint32), ids)


def found_in(index: Runs, keys: list[int], chunk: int) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for matches in index.probe(Probe(block_of(keys, 0, 0), ACCESS, (BAND,)), chunk):
        ids = matches.run.payload.column("id").to_numpy()[matches.stored]
        found.update(zip(matches.probe.tolist(), ids.tolist(), strict=True))
    return found


def test_a_probe_leaves_nothing_for_the_garbage_collector() -> None:
    """What a probe held goes with it; in a circle it would stay until Python looks for circles."""
    index = Runs(Layout(key=KEY), TIME, replace(Runs.default_merging, small=2))
    index.insert(block_of([1, 2, 3], 0, 0))
    found_in(index, [1, 4], 10)  # compiles
    gc.collect()
    gc.disable()
    try:
        assert sum(found_in(index, [1, 4], 10).values()) == 5
        assert gc.collect() == 0
    finally:
        gc.enable()


@given(batches=st.lists(st.lists(key, min_size=1, max_size=8), max_size=8), probe=st.lists(key, min_size=1, max_size=5),
       keep=st.integers(1, 4), chunk=st.integers(1, 40), restore=st.booleans())  # fmt: skip
@at_most(150)
def test_packing_never_shows(batches, probe, keep, chunk, restore) -> None:
    stored: dict[int, tuple[int, int]] = {}
    index = Runs(Layout(key=KEY), TIME, replace(Runs.default_merging, small=2))
    for time, keys in enumerate(batches):
        first = len(stored)
        stored |= {first + i: (k, time) for i, k in enumerate(keys)}
        index.expire(time - keep)
        index.insert(block_of(keys, time, first))
        index.validate()
        if restore:
            runs, index = index.snapshot(), Runs(Layout(key=KEY), TIME, replace(Runs.default_merging, small=2))
            index.restore(runs, time - keep)
        found = found_in(index, probe, chunk)
        wanted = Counter((i, j) for i, p in enumerate(probe) for j, (k, _) in stored.items() if abs(p - k) <= 2)
        assert not found - wanted
        assert all(found[i, j] for i, j in wanted if stored[j][1] >= time - keep)
        index.validate()


@pytest.mark.parametrize("step", [0, 1 << 20, 1 << 30, 1 << 50])
def test_keys_that_drift_are_packed_again_now_and_then(step: int) -> None:
    index, frames = Runs(Layout(key=KEY), TIME), set()
    for time in range(60):
        index.expire(time - 10)
        index.insert(block_of([time * step + i for i in range(50)], time, 50 * time))
        found = sum(found_in(index, [time * step + 5], 100).values())
        assert found == 5 if step else found >= 5 * (1 + min(time, 10)), "rows that have expired may still be found"
        index.validate()
        packed = [held.packed for held in index._runs]
        frames |= {each.frame for each in packed if each is not None}
    assert 1 <= len(frames) <= 15
