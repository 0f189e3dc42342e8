"""The tree indexes with narrow nodes and every setting: exact after any history, and shaped as the paper says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import at_most
from weft.errors import SpecError
from weft.index import Layout, MergePolicy, PimTree, Probe, TreeSet, make_index
from weft.spec.terms import Access, Op, Term
from weft.types import Block
from weft_lab.indexes import BPlusTree, Chained, CssTree, ImTree, RoundRobin

quick = at_most(40)
narrow: dict[str, Any] = {"leaf": 2, "fan": 4}
KINDS: dict[str, Callable[..., TreeSet]] = {
    "bplustree": partial(BPlusTree, **narrow),
    "css-tree": partial(CssTree, **narrow),
    "b-chain of 2": partial(Chained, **narrow, length=2, immutable=False),
    "b-chain of 4": partial(Chained, **narrow, length=4, immutable=False),
    "ib-chain of 3": partial(Chained, **narrow, length=3),
    "im-tree": partial(ImTree, **narrow),
    "pim-tree at 0": partial(PimTree, **narrow, depth=0),
    "pim-tree at 1": partial(PimTree, **narrow, depth=1),
    "pim-tree at 2": partial(PimTree, **narrow, depth=2),
    "pim-tree at 9": partial(PimTree, **narrow, depth=9),
    "round robin by 1": partial(RoundRobin, **narrow, partitions=1),
    "round robin by 3": partial(RoundRobin, **narrow, partitions=3),
}
BAND = Term(0, Op.BAND, 0, -1, 1)
value = st.integers(0, 9)
kinds = pytest.mark.parametrize("kind", KINDS)


def merging(**changes: Any) -> MergePolicy:
    return replace(TreeSet.default_merging, **changes)


def block_of(keys, times, first):
    words = np.array([keys, times], np.int64).reshape(2, -1)
    n = words.shape[1]
    return Block(words, np.zeros(n, np.uint32), pa.table({"id": np.arange(first, first + n)}))


def pairs_of(index, keys, chunk=5):
    probe = Probe(block_of(keys, [0] * len(keys), 0), Access(within=BAND), (BAND,))
    found: Counter = Counter()
    for matches in index.probe(probe, chunk):
        ids = matches.run.payload.column("id").to_numpy()[matches.stored]
        found.update(zip(matches.probe.tolist(), ids.tolist(), strict=True))
    return found


@kinds
@pytest.mark.paper("002-02", "002-04", "002-05", "002-10", "002-11", "002-14", "002-15")
@given(
    batches=st.lists(
        st.tuples(st.lists(st.tuples(value, st.integers(0, 3)), max_size=9), st.integers(0, 4)), max_size=9
    ),
    probe=st.lists(value, min_size=1, max_size=4),
    ratio=st.sampled_from([1 / 64, 0.125, 0.5, 1.0, 2.0]),
    drift=st.sampled_from([0, 0, 3]),
)
@quick
def test_no_history_shows(kind, batches, probe, ratio, drift) -> None:
    """Rows may expire in any order, keys may drift; expired rows are never found, living ones once, duplicates each."""
    index = KINDS[kind](Layout(key=0), 1, merging(small=3, fanout=2, ratio=ratio))
    stored: list[tuple[int, int]] = []
    before = 0
    for number, (rows, step) in enumerate(batches):
        before += step
        index.expire(before)
        index.validate()
        probe = [key + drift for key in probe]
        # A row may have expired before it comes.
        new = [(key + drift * (number + 1), before - 1 + late) for key, late in rows]
        index.insert(block_of([k for k, _ in new], [t for _, t in new], len(stored)))
        stored += new
        index.validate()
        wanted = Counter(
            (i, j) for i, p in enumerate(probe) for j, (k, t) in enumerate(stored) if abs(p - k) <= 1 and t >= before
        )
        assert pairs_of(index, probe) == wanted
    copy = KINDS[kind](Layout(key=0), 1, merging(small=3, fanout=2))
    copy.restore(index.snapshot(), before)
    copy.validate()
    assert pairs_of(copy, probe) == pairs_of(index, probe)


def slide(index, keys, window, batch):
    """Feed a count window."""
    for first in range(0, len(keys), batch):
        index.expire(first + batch - window)
        part = keys[first : first + batch]
        index.insert(block_of(part, np.arange(first, first + len(part)), first))


@pytest.mark.paper("002-13", "002-25")
def test_sub_indexes_follow_the_values_at_each_merge() -> None:
    """Uniform load for any fixed distribution; after a drift the first merge restores it."""
    random = np.random.default_rng(3)
    index = PimTree(Layout(key=0), 1, merging(ratio=0.25, small=16))
    slide(index, (random.normal(0, 1, 40_000) * 1e6).astype(np.int64), 16_384, 1024)
    index.validate()
    assert index.sub_indexes > 8

    def fullest(shift):
        keys = (random.normal(shift, 1, 4000) * 1e6).astype(np.int64)
        return np.bincount(index._homes(keys), minlength=index.sub_indexes).max() / 4000

    assert fullest(0) < 3 / index.sub_indexes
    assert fullest(9) > 0.9  # all new rows fall into one sub-index
    slide(index, (random.normal(9, 1, 40_000) * 1e6).astype(np.int64), 16_384, 1024)
    assert fullest(9) < 3 / index.sub_indexes


@pytest.mark.paper("002-10", "002-27")
def test_t_i_is_bounded_by_the_merge_ratio() -> None:
    index = ImTree(Layout(key=0), 1, merging(ratio=0.5, small=16))
    keys = np.random.default_rng(4).integers(0, 1 << 30, 60_000)
    for first in range(0, 60_000, 500):
        slide_from = first
        index.expire(first + 500 - 8000)
        index.insert(block_of(keys[first : first + 500], np.arange(slide_from, slide_from + 500), first))
        assert len(index._grove) <= max(0.5 * index._css.entries, 16) + 500
    assert index._css.entries <= 8000 * 1.5 + 500


@pytest.mark.paper("002-04", "002-29")
def test_a_chain_drops_whole_sub_indexes() -> None:
    keys = np.random.default_rng(5).integers(0, 1 << 30, 80_000)
    for length in (2, 3, 5):
        index = Chained(Layout(key=0), 1, merging(small=64), length=length)
        slide(index, keys, 16_000, 500)
        index.validate()
        assert 1 <= len(index._chain) <= 2 * length


@pytest.mark.paper("002-16")
def test_memory_is_told_by_component() -> None:
    """T_S holds the window, T_I up to m times as much, the merge buffer both: about twice a B+-tree at m = 1."""
    keys = np.random.default_rng(6).integers(0, 1 << 40, 1 << 16)
    bytes_of: dict[str, dict[str, int]] = {}
    for kind in (BPlusTree, PimTree):
        index = kind(Layout(key=0), 1)
        slide(index, keys[:-1024], 1 << 14, 1 << 10)  # one batch short of a merge
        bytes_of[kind.name] = index.memory()
    assert set(bytes_of["pim-tree"]) == {"window", "T_S", "T_I", "merge buffer"}
    assert bytes_of["pim-tree"]["T_S"] >= 12 << 14
    total = {name: sum(parts.values()) - parts["window"] for name, parts in bytes_of.items()}
    assert total["bplustree"] < total["pim-tree"] < 6 * total["bplustree"]


def test_settings_that_make_no_sense_are_refused() -> None:
    wrongs: dict[str, Callable[..., TreeSet]]
    wrongs = {"length": Chained, "partitions": RoundRobin, "depth": PimTree, "leaf": ImTree}
    for wrong, kind in wrongs.items():
        with pytest.raises(SpecError, match=wrong):
            kind(Layout(key=0), None, **{wrong: -1})
    with pytest.raises(SpecError, match="merge_ratio"):
        ImTree(Layout(key=0), None, merging(ratio=-1))


@pytest.mark.paper("002-10")
def test_new_runs_are_t_i_again_after_a_restart() -> None:
    """The trees are loaded when they are looked at; the merge ratio tells which runs make up T_I."""
    keys = np.random.default_rng(7).integers(0, 1 << 30, 9000)
    for ratio, mutable in ((0.5, 1000), (0.05, 0)):
        index = PimTree(Layout(key=0), 1, merging(ratio=ratio, small=16, fanout=8, few=1))
        index.insert(block_of(keys[:8000], np.arange(8000), 0))
        copy = PimTree(Layout(key=0), 1, merging(ratio=ratio, small=16, fanout=8, few=1))
        copy.restore(index.snapshot(), 0)
        copy.insert(block_of(keys[8000:], np.arange(8000, 9000), 8000))
        assert not copy._css.entries  # nobody has looked yet
        copy.validate()
        assert len(copy._grove) == mutable


def test_a_name_can_carry_settings() -> None:
    index = make_index("pim-tree(merge_ratio=1/8, depth=2, leaf=4)", Access(within=BAND), None)
    assert isinstance(index, PimTree)
    assert (index.merge_ratio, index.depth, index.settings.leaf) == (0.125, 2, 4)
    for wrong in (
        "runs(depth=1)",
        "bplustree(length=2)",
        "chained(length)",
        "im-tree(merge_ratio=1/0)",
        "chained(length=1)",
    ):
        with pytest.raises(SpecError):
            make_index(wrong, Access(within=BAND), None)
