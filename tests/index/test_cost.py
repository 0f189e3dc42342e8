"""The cost model says what the paper concludes from it, of the PIM-Tree and of its competitors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from weft.index import TreeSet, index_named, known_indexes
from weft.index.trees.cost_model import Cost, Merging, Node, TreeShape, Window, Workload, best_ratio, im_tree, pim_tree
from weft_lab.indexes import cost

WINDOW = Window(w=1 << 20, match_rate=2.0, compare=0.05)
TREE, FIXED = TreeShape(32, Node(1.0, 2.0, 2.0)), TreeShape(32, Node(0.6))
PREDICTED = ("bplustree", "chained", "im-tree", "pim-tree", "round-robin")
MERGED = ("im-tree", "pim-tree")


def predict(index: str, w: int, ratio: float = 1.0) -> Cost:
    kind = index_named(index)
    assert issubclass(kind, TreeSet)
    found = kind.predict(Workload(w), {"merge_ratio": ratio})
    assert found is not None
    return found


def by_ratio(index: str, w: int) -> Callable[[float], Cost]:
    return lambda ratio: predict(index, w, ratio)


@pytest.mark.paper("002-07")
def test_chains_search_more_and_delete_nothing() -> None:
    tree = cost.bplustree(WINDOW, TREE)
    chains = [cost.chained(WINDOW, TREE, length) for length in (2, 4, 8)]
    assert all(chain.delete == 0 and chain.insert < tree.insert and chain.search > tree.search for chain in chains)
    assert [chain.total for chain in chains] == sorted(chain.total for chain in chains)  # 002-29: two is best
    # Half of the scanned has expired once more.
    assert chains[0].scan == pytest.approx(WINDOW.match_rate * 1.5 * WINDOW.compare)


@pytest.mark.paper("002-07")
def test_round_robin_pays_for_searching_everywhere() -> None:
    tree = cost.bplustree(WINDOW, TREE)
    eight = cost.round_robin(WINDOW, TREE, 8)
    assert eight.search > 5 * tree.search
    assert eight.insert < tree.insert
    assert cost.nested_loop(WINDOW).total > 100 * eight.total


@pytest.mark.paper("002-12")
def test_a_merge_ratio_in_between_is_best() -> None:
    """Small ratios merge often, large ones search and scan more."""
    merge = 0.1 * WINDOW.w
    totals = {m: im_tree(WINDOW, TREE, FIXED, Merging(m, merge)).total for m in (2**-6, 2**-3, 1.0)}
    assert totals[2**-3] < totals[2**-6]
    im = im_tree(WINDOW, TREE, FIXED, Merging(1.0, merge))
    pim = pim_tree(WINDOW, TREE, FIXED, Merging(1.0, merge), depth=1)
    assert im.delete == pytest.approx(0.1)
    assert im.scan == pytest.approx(WINDOW.match_rate * WINDOW.compare * 1.5)
    assert pim.insert < im.insert


@pytest.mark.paper("002-12", "002-27")
@pytest.mark.parametrize("index", MERGED)
def test_the_model_chooses_as_the_paper_found(index: str) -> None:
    """Neither extreme for one thread, less for larger windows; more the more threads share the work, up to 1."""
    small, large = best_ratio(by_ratio(index, 1 << 16)), best_ratio(by_ratio(index, 1 << 23))
    assert 2**-8 < large < small < 1
    by_threads = [best_ratio(by_ratio(index, 1 << 20), threads) for threads in (1, 2, 4, 16, 256)]
    assert by_threads == sorted(by_threads)
    assert by_threads[0] < by_threads[-1] == 1


@pytest.mark.paper("002-07")
def test_predictions_are_in_nanoseconds_and_grow_with_the_window() -> None:
    assert set(PREDICTED) <= set(known_indexes())
    for index in PREDICTED:
        totals = [predict(index, 1 << log, 0.125).total for log in (10, 14, 18, 22)]
        assert totals == sorted(totals)
        assert 100 < totals[0] < totals[-1] < 20_000
    assert predict("bplustree", 1 << 20).total > 1.4 * predict("pim-tree", 1 << 20, ratio=0.125).total
    assert predict("pim-tree", 1, ratio=0.125).total > 0
