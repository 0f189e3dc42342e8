"""The cost model says what the paper concludes from it."""

from __future__ import annotations

import pytest

from weft.index import cost
from weft.index.predict import MERGED, PREDICTED, best_ratio, predict

NODE, FIXED = cost.Node(1.0, 2.0, 2.0), cost.Node(0.6)
W, RATE, COMPARE, FAN = 1 << 20, 2.0, 0.05, 32


@pytest.mark.paper("002-07")
def test_chains_search_more_and_delete_nothing() -> None:
    tree = cost.bplustree(W, RATE, COMPARE, FAN, NODE)
    chains = [cost.chained(W, RATE, COMPARE, FAN, NODE, length) for length in (2, 4, 8)]
    assert all(chain.delete == 0 and chain.insert < tree.insert and chain.search > tree.search for chain in chains)
    assert [chain.total for chain in chains] == sorted(chain.total for chain in chains)  # 002-29: two is best
    assert chains[0].scan == pytest.approx(RATE * 1.5 * COMPARE)  # half of the scanned has expired once more


@pytest.mark.paper("002-07")
def test_round_robin_pays_for_searching_everywhere() -> None:
    tree = cost.bplustree(W, RATE, COMPARE, FAN, NODE)
    eight = cost.round_robin(W, RATE, COMPARE, FAN, NODE, 8)
    assert eight.search > 5 * tree.search
    assert eight.insert < tree.insert
    assert cost.nested_loop(W, COMPARE).total > 100 * eight.total


@pytest.mark.paper("002-12")
def test_a_merge_ratio_in_between_is_best() -> None:
    """Small ratios merge often, large ones search and scan more."""
    merge = 0.1 * W
    totals = {
        m: cost.im_tree(W, RATE, COMPARE, FAN, NODE, 32, FIXED, m, merge).total for m in (2**-6, 2**-3, 1.0)
    }  # fmt: skip
    assert totals[2**-3] < totals[2**-6]
    im = cost.im_tree(W, RATE, COMPARE, FAN, NODE, 32, FIXED, 1.0, merge)
    pim = cost.pim_tree(W, RATE, COMPARE, FAN, NODE, 32, FIXED, 1.0, merge, depth=1)
    assert im.delete == pytest.approx(0.1)
    assert im.scan == pytest.approx(RATE * COMPARE * 1.5)
    assert pim.insert < im.insert


@pytest.mark.paper("002-12", "002-27")
@pytest.mark.parametrize("index", MERGED)
def test_the_model_chooses_as_the_paper_found(index: str) -> None:
    """Neither extreme for one thread, less for larger windows; more the more threads share the work, up to 1."""
    small, large = best_ratio(index, 1 << 16), best_ratio(index, 1 << 23)
    assert 2**-8 < large < small < 1
    by_threads = [best_ratio(index, 1 << 20, threads=threads) for threads in (1, 2, 4, 16, 256)]
    assert by_threads == sorted(by_threads)
    assert by_threads[0] < by_threads[-1] == 1


@pytest.mark.paper("002-07")
def test_predictions_are_in_nanoseconds_and_grow_with_the_window() -> None:
    for index in PREDICTED:
        totals = [predict(index, 1 << log, 2.0, 0.125).total for log in (10, 14, 18, 22)]
        assert totals == sorted(totals)
        assert 100 < totals[0] < totals[-1] < 20_000
    assert predict("bplustree", 1 << 20).total > 1.4 * predict("pim-tree", 1 << 20, ratio=0.125).total
    assert predict("pim-tree", 1, ratio=0.125).total > 0
