"""The hot/cold index beyond what every index must do: which keys are hot, what moves, what expires."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.index import HotCold, Layout, Probe
from weft.index.hotcold import LINKS, count_of, distinct
from weft.spec.terms import Access, Op, Term
from weft.types import Block

KEY, TIME = 0, 1
TOP = HotCold.top
LAYOUT = Layout(key=KEY)


def block_of(keys, times, first: int = 0) -> Block:
    words = np.stack([np.asarray(keys, np.int64), np.asarray(times, np.int64)])
    n = words.shape[1]
    return Block(words, np.arange(n, dtype=np.uint32), pa.table({"id": np.arange(first, first + n)}))


def hot_keys(index: HotCold) -> set[int]:
    hot, _ = index._parts()
    return {int(key) for held in hot for key in distinct(held.leading, TOP)}


def links_with(index: HotCold, key: int) -> int:
    return sum(int(count_of(held.leading, np.array([key]))[0]) > 0 for held in index._parts()[1])


def skewed(rows: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    rare = random.integers(1_000, 500_000, rows)
    return np.where(random.random(rows) < 0.4, random.integers(0, 5, rows), rare)


@pytest.mark.paper("000-23", "000-25", "000-05", "Y03")
def test_hot_keys_live_in_the_hot_runs_and_the_chain_drops_whole_links():
    index, rows = HotCold(LAYOUT, TIME, replace(HotCold.default_merging, small=500)), 2_000
    for batch in range(40):
        index.expire((batch - 10) * rows)
        index.insert(block_of(skewed(rows, batch), np.arange(batch * rows, (batch + 1) * rows)))
        index.validate()
    assert set(range(5)) <= hot_keys(index)
    hot, links = index.sub_indexes()
    assert 1 <= hot <= 8 and LINKS // 2 <= links <= 3 * LINKS
    assert sum(links_with(index, key) for key in range(5)) == 0  # redundancy of hot keys in the chain
    assert len(index) < 2 * 11 * rows


@pytest.mark.paper("000-26")
def test_a_key_that_turns_hot_leaves_its_old_rows_in_the_chain():
    index = HotCold(LAYOUT, None, replace(HotCold.default_merging, small=10))
    index.insert(block_of(np.arange(100, 1000), np.zeros(900)))
    assert hot_keys(index) == set()
    index.insert(block_of([150] * 60 + list(range(2000, 2040)), np.zeros(100), 900))
    assert hot_keys(index) == {150}
    assert links_with(index, 150) == 1
    assert sum(int(count_of(held.leading, np.array([150]))[0]) for held in index._runs) == 61


@pytest.mark.paper("000-27", "000-28")
def test_a_key_that_turns_cold_moves_to_the_active_link_with_its_timestamps():
    index = HotCold(LAYOUT, TIME, replace(HotCold.default_merging, small=10))
    index.insert(block_of(np.arange(100, 1000), np.full(900, 5)))
    index.insert(block_of([7] * 30 + list(range(2000, 2070)), np.full(100, 6), 900))
    assert hot_keys(index) == {7}
    crowd = np.repeat(np.arange(10_000, 10_000 + TOP), 200)
    index.insert(block_of(crowd, np.full(len(crowd), 9), 1000))
    assert 7 not in hot_keys(index) and hot_keys(index) == set(range(10_000, 10_000 + TOP))
    active = index._parts()[1][-1]
    assert int(count_of(active.leading, np.array([7]))[0]) == 30
    assert set(active.run.words[TIME][active.run.words[KEY] == 7].tolist()) == {6}
    index.validate()


@pytest.mark.paper("000-29")
def test_rows_of_a_key_that_stays_hot_expire():
    index = HotCold(LAYOUT, TIME, replace(HotCold.default_merging, small=50))
    for batch in range(60):
        index.expire((batch - 3) * 100)
        index.insert(
            block_of([1] * 90 + list(range(batch * 1000, batch * 1000 + 10)), range(batch * 100, (batch + 1) * 100))
        )
    assert 1 in hot_keys(index)
    assert len(index) <= 1_200


class Tight(HotCold):
    """Few places: keys turn hot and cold all the time."""

    top = 2


step = st.tuples(
    st.lists(st.tuples(st.sampled_from([0, 1, 2, 3, 4, 20, 40]), st.integers(1, 12)), max_size=8), st.integers(0, 3)
)


@pytest.mark.paper("000-26", "000-27", "000-29")
@given(st.lists(step, max_size=8), st.sampled_from([Op.LT, Op.LE, Op.GT, Op.GE]), st.sampled_from([HotCold, Tight]))
@at_most(100)
def test_moods_never_show(steps, op, kind):
    """Any keys in any bursts: probes find what a list finds."""
    index = kind(LAYOUT, TIME, replace(kind.default_merging, small=4, fanout=2))
    held: list[tuple[int, int]] = []
    term = Term(KEY, op, KEY)
    for now, (bursts, older) in enumerate(steps):
        keys = [key for key, size in bursts for _ in range(size)]
        index.expire(now - older)
        index.insert(block_of(keys, [now] * len(keys), len(held)))
        held += [(key, now) for key in keys]
        index.validate()
    bound = index._before
    probe = block_of([0, 3, 20, 41], [0] * 4)
    found: Counter[tuple[int, int]] = Counter()
    for match in index.probe(Probe(probe, Access(within=term), (term,)), 50):
        ids = match.run.payload.column("id").to_numpy()[match.stored]
        found.update(zip(match.probe.tolist(), ids.tolist(), strict=True))
    compare = {Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal}[op]
    wanted = {(i, j): at for i, p in enumerate((0, 3, 20, 41)) for j, (key, at) in enumerate(held) if compare(p, key)}
    assert set(found) <= set(wanted) and all(n == 1 for n in found.values())
    assert {pair for pair, at in wanted.items() if at >= bound} <= set(found)
