"""Generators give what they promise, and the same again for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from weft_lab.workloads import drifting_keys, ride_orders, ride_tracks, zipf_group, zipf_keys, zipf_shares
from weft_lab.workloads.rides import place_shares


@pytest.mark.parametrize("z", [0.0, 0.5, 1.0, 2.0])
def test_zipf_keys_have_their_shares(z):
    keys = zipf_keys(np.random.default_rng(1), 200_000, 50, z)
    assert keys.dtype == np.int64 and keys.min() >= 0 and keys.max() < 50
    found = np.bincount(keys, minlength=50) / len(keys)
    assert np.abs(found - zipf_shares(50, z)).max() < 0.005


@pytest.mark.paper("003-29")
def test_zipf_groups_are_skewed_as_named():
    left, right = zipf_group(3, 20_000, 700, 0, 2)
    assert left.num_rows == right.num_rows == 20_000
    top = [np.bincount(table.column("key").to_numpy()).max() / 20_000 for table in (left, right)]
    assert top[0] < 0.005 and 0.55 < top[1] < 0.68
    assert left.equals(zipf_group(3, 20_000, 700, 0, 2)[0])


@pytest.mark.paper("003-28")
@pytest.mark.parametrize(("make", "busy"), [(ride_orders, 0.20), (ride_tracks, 0.24)])
def test_rides_have_the_published_skew(make, busy):
    table = make(5, 100_000, 1000)
    counts = np.sort(np.bincount(table.column("place").to_numpy(), minlength=1000))[::-1]
    assert counts[: int(busy * 1000)].sum() / counts.sum() == pytest.approx(0.8, abs=0.02)
    stamps = table.column("ts").to_numpy()
    assert (np.diff(stamps) >= 0).all() and stamps.max() < 3600 * 1_000_000
    assert table.equals(make(5, 100_000, 1000))


def test_busy_places_of_orders_are_busy_places_of_tracks():
    orders, tracks = (
        np.bincount(make(5, 100_000, 1000).column("place"), minlength=1000) for make in (ride_orders, ride_tracks)
    )
    assert np.corrcoef(orders, tracks)[0, 1] > 0.7


def test_shares_of_places_add_up():
    assert place_shares(100, 0.2).sum() == pytest.approx(1)
    assert place_shares(100, 0.2)[:20].sum() == pytest.approx(0.8)


def test_hot_keys_drift():
    batches = drifting_keys(np.random.default_rng(2), 5000, 100, 1.5, 5, 10)
    assert [int(np.bincount(one).argmax()) for one in batches] == [0, 10, 20, 30, 40]
