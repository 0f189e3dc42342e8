"""FastJoin on whole streams: it settles, it follows drift, and split keys balance what no migration can."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

import weft
from weft.bench.loads import Measured, imbalance_of, measure
from weft.bench.workloads import drifting_keys, zipf_keys
from weft.local import Join
from weft.routing import FastJoin, FastJoinPlan, Hash, Scheme
from weft.routing.loads import load_imbalance
from weft.state import MemoryStore

KEYS, ROWS = 2000, 1000


def tables(keys: Sequence[np.ndarray]) -> list[pa.Table]:
    return [pa.table({"id": np.arange(len(one)), "key": one}) for one in keys]


def stationary(z: float, batches: int, seed: int = 1, rows: int = ROWS) -> tuple[list[pa.Table], list[pa.Table]]:
    rng = np.random.default_rng(seed)
    names = rng.permutation(KEYS)
    left, right = ([names[zipf_keys(rng, rows, KEYS, z)] for _ in range(batches)] for _ in range(2))
    return tables(left), tables(right)


def group_imbalance(measured: Measured, number: int, size: int) -> float:
    """LI of the group that keeps the left side."""
    batch = measured.batches[number]
    return load_imbalance(batch.held[0, :size] * batch.asked[1, :size])


@pytest.mark.paper("003-33")
@pytest.mark.parametrize("seed", [3])
@pytest.mark.parametrize(
    "scheme",
    [FastJoin(), FastJoin(biclique=False, split_hot=True, load="work", threshold=1.5)],
    ids=["paper", "shared"],
)
def test_a_stationary_stream_settles(scheme: Scheme, seed: int):
    left, right = stationary(1.0, 28, seed, rows=2 * ROWS)
    done = measure(left, right, scheme, 8, window=weft.last(4 * ROWS))
    changes = [number for number, batch in enumerate(done.batches) if batch.migrated]
    assert 1 <= len(changes) <= 6
    assert not [number for number in changes if number >= 20], "no more migrations once it has settled"


@pytest.mark.paper("003-33")
def test_slow_drift_is_followed_without_migrating_all_the_time():
    rng = np.random.default_rng(4)
    names = rng.permutation(KEYS)
    left, right = (tables([names[k] for k in drifting_keys(rng, ROWS, KEYS, 0.8, 50, 1)]) for _ in range(2))
    window = weft.last(4 * ROWS)
    hashed = measure(left, right, weft.Biclique(), 8, window=window)
    done = measure(left, right, FastJoin(), 8, window=window)
    behind = [group_imbalance(done, number, 4) for number in range(8, 50)]
    assert sum(imbalance < 2.2 for imbalance in behind) >= 0.8 * len(behind)
    assert np.median(behind) < 2.2
    assert 1 <= done.migrations <= 12
    assert np.median(behind) < np.median([group_imbalance(hashed, number, 4) for number in range(8, 50)])


@pytest.mark.parametrize(
    "scheme",
    [
        FastJoin(split_hot=True, threshold=1.5),
        FastJoin(split_hot=True, biclique=False, threshold=1.5),
        FastJoin(split_hot=True, biclique=False, threshold=1.3, load="work"),
    ],
    ids=["biclique", "shared", "shared, work"],
)  # fmt: skip
def test_split_keys_balance_zipf_two_on_both_sides(scheme: FastJoin):
    left, right = stationary(2.0, 14, seed=5)
    window = weft.last(2 * ROWS)
    hashed = measure(left, right, Hash(), 8, window=window).after(8)
    done = measure(left, right, scheme, 8, window=window).after(8)
    assert done.pairs == hashed.pairs
    for number, batch in enumerate(hashed.batches):
        assert imbalance_of(batch.loads) > 4 and imbalance_of(batch.work) > 4
        ours = done.batches[number]
        assert imbalance_of(ours.work if scheme.load == "work" else ours.loads) < 1.5
        assert imbalance_of(ours.pairs) < 1.7


@pytest.mark.paper("003-13")
def test_without_splitting_a_hot_key_stays_and_the_monitor_gives_up():
    left, right = stationary(2.0, 24, seed=5)
    done = measure(left, right, FastJoin(), 8, window=weft.last(2 * ROWS))
    assert done.migrations <= 5
    assert imbalance_of(done.batches[-1].loads) > 2


def test_every_migration_is_reported():
    left, right = stationary(1.5, 8)
    join = Join(left[0].schema, right[0].schema, on="l.key = r.key", scheme=FastJoin(split_hot=True), tasks=8)
    for one, two in zip(left, right, strict=True):
        for _ in join.feed(one, two):
            pass
    store = join.store
    assert isinstance(store, MemoryStore)
    reasons = {number: why for number, (_, why) in store.plans.items() if why and number}
    assert reasons
    for number, why in reasons.items():
        plan = store.plans[number][0]
        assert isinstance(plan, FastJoinPlan) and plan.moving and plan.volume > 0
        assert "group: LI" in why and "rows, LI" in why
        assert all(store.metrics[task, number]["migrated"] for task in range(8) if (task, number) in store.metrics)
    last = store.plans[max(store.plans)][0]
    assert isinstance(last, FastJoinPlan) and last.migrations == len(reasons)


def test_even_keys_cost_what_a_plain_hash_costs():
    """The scheme that `auto` takes asks each row of one task, notes next to nothing and never migrates."""
    rng = np.random.default_rng(6)
    left, right = (tables([rng.integers(0, 2**40, 4000) for _ in range(5)]) for _ in range(2))
    done = measure(left, right, FastJoin(biclique=False, split_hot=True, load="work"), 8)
    assert done.migrations == 0
    assert all(batch.asked.sum() == 8000 for batch in done.batches)
