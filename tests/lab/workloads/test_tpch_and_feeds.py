"""Workloads follow their rules, and the same seed gives the same stream."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest

from weft.routing import Adsp, Matrix
from weft.spec import Compare, Condition, Key, Op, build_spec, unbounded
from weft_lab.simulation import Simulation, arrivals, measured
from weft_lab.workloads import (
    feed_dates,
    fluctuating,
    lineitem,
    orders,
    ratios,
    seeded_keys,
    stock_prices,
    suppliers,
    zipf_counts,
)  # fmt: skip

BAND = build_spec(Condition("band", (Compare(Key("a"), Op.BAND, Key("a"), -2, 2),)), unbounded())


@pytest.mark.paper("001-46")
def test_the_tables_are_those_of_tpch():
    order, line = orders(0.01), lineitem(0.01)
    assert len(order.orderkey) == 15_000 and set(order.orderkey % 32) == set(range(8))
    assert len(line) == 60_175, "as dbgen makes it"
    assert set(np.unique(line.orderkey)) == set(order.orderkey)
    counts = np.unique(line.orderkey, return_counts=True)[1]
    assert counts.min() == 1 and counts.max() == 7 and line.linenumber.max() == 7
    assert line.quantity.min() == 1 and line.quantity.max() == 50
    assert line.suppkey.min() == 1 and line.suppkey.max() == suppliers(0.01)
    assert line.shipmode.min() == 0 and line.shipmode.max() == 6 and line.shipinstruct.max() == 3
    assert (line.receiptdate > line.shipdate).all()
    for part in np.unique(line.partkey)[:50]:  # a part has four suppliers
        assert len(np.unique(line.suppkey[line.partkey == part])) <= 4


@pytest.mark.paper("001-45", "001-46")
def test_skew_goes_to_the_join_attribute():
    top = [np.unique(lineitem(0.01, z=z, on="suppkey").suppkey, return_counts=True)[1].max() for z in (0.0, 1.0, 2.0)]
    assert top[0] < top[1] < top[2]
    keys = seeded_keys(50_000, 100, 1.0, seed=3)
    seen = np.sort(np.bincount(keys, minlength=100))[::-1]
    assert seen[0] == pytest.approx(zipf_counts(50_000, 100, 1.0)[0], rel=0.05)
    assert (keys == seeded_keys(50_000, 100, 1.0, seed=3)).all()


@pytest.mark.paper("001-46")
def test_feeds_have_bursts_and_trades_stay_near_the_price():
    days = np.bincount(feed_dates(50_000, 60, 1), minlength=60)
    assert days.max() > 5 * np.median(days)
    prices = stock_prices(20_000, 1)
    assert np.abs(np.diff(prices)).max() < 2_500


@pytest.mark.paper("001-47")
@pytest.mark.parametrize("f", [0.0, 0.3, 1.0])
def test_loads_change_by_f_from_interval_to_interval(f):
    owner = np.arange(400) % 8
    steps = list(islice(fluctuating(zipf_counts(10_000, 400, 0.8), owner, 8, f, seed=2), 5))
    for one, two in pairwise(steps):
        loads = [np.bincount(owner, part, 8) for part in (one, two)]
        assert np.abs(loads[1] - loads[0]).max() >= f * loads[0].mean() * (1 - 1e-9)
        assert two.sum() == pytest.approx(one.sum())
        assert f > 0 or (one == two).all()


def test_ratios_keep_the_total():
    assert all(sum(pair) == 1_000 for pair in ratios(1_000, [0.1, 1, 3, 7]))


@pytest.mark.paper("001-44")
def test_measures_of_a_plain_matrix():
    run = Simulation(BAND, Matrix(2, 2), 4)
    seen = [run.step(*arrivals([np.arange(1_000), np.arange(1_000)], 1, seed)) for seed in range(3)]
    found = measured(seen, 6_000, rate=1_000)
    assert (found.tasks, found.adjustments, found.migrated) == (4, 0, 0)
    assert found.requests == 1_000  # 2,000 tuples, two copies each, on four tasks
    assert found.bandwidth == 12_000
    assert found.throughput == pytest.approx(6_000 / found.seconds)
    assert found.cost() > found.task_seconds


@pytest.mark.paper("001-44")
def test_measures_count_migrations():
    run = Simulation(BAND, Adsp(patience=1), 16)
    seen = [
        run.step(*arrivals([seeded_keys(2_000, 500, 1, n), seeded_keys(2_000, 500, 1, n + 50)], 1, n)) for n in range(6)
    ]
    found = measured(seen, 24_000)
    assert found.adjustments >= 1 and found.migrated > 0 and found.migration_latency > 0
