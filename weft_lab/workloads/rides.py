"""Ride hailing: orders of passengers and tracks of taxis over city cells, with the skew of the FastJoin paper's Fig. 1.

The paper's data may not be passed on (003-28), so these streams imitate what it says of them: 20 % of the places have 80 %
of the orders, 24 % of the places 80 % of the tracks, and the busy places of both are about the same ones. Between these
points shares fall exponentially with rank, so that no single place is hot by itself: the paper's hash partitioning had a
load imbalance of only 2.5 over 24 tasks.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["ORDERS", "TRACKS", "place_shares", "ride_orders", "ride_tracks"]

ORDERS = 0.20
"""Share of the places that has 80 % of the orders."""

TRACKS = 0.24
"""Share of the places that has 80 % of the tracks."""

_SECOND = 1_000_000


def place_shares(places: int, busy: float) -> NDArray[np.float64]:
    """Return the share of each place, the busiest first: the first `busy` of them have 80 % together.

    >>> float(place_shares(1000, 0.2)[:200].sum().round(3))
    0.8
    """
    low, high = 1e-6, 1e3  # find c with (1 - exp(-c * busy)) / (1 - exp(-c)) = 0.8
    for _ in range(80):
        c = math.sqrt(low * high)
        low, high = (c, high) if math.expm1(-c * busy) / math.expm1(-c) < 0.8 else (low, c)
    shares = np.exp(-c * np.arange(places) / places)
    return shares / shares.sum()


def ride_orders(seed: int, n: int, places: int = 2000, seconds: int = 3600) -> pa.Table:
    """Return `n` orders (id, ts in microseconds, place), in time order."""
    return _stream(seed, n, places, seconds, ORDERS, "order")


def ride_tracks(seed: int, n: int, places: int = 2000, seconds: int = 3600) -> pa.Table:
    """Return `n` track records (id, ts, place), in time order; use the seed of the orders for the same city."""
    return _stream(seed, n, places, seconds, TRACKS, "track")


def _stream(seed: int, n: int, places: int, seconds: int, busy: float, what: str) -> pa.Table:
    city = np.random.default_rng(seed)
    names = city.permutation(places)  # which cell is how busy: the same for both streams of a city
    rng = np.random.default_rng([seed, len(what), 0 if what == "order" else 1])
    total = np.cumsum(place_shares(places, busy))
    ranks = np.minimum(np.searchsorted(total, rng.random(n), side="right"), places - 1)
    # The busy places of the two streams are about the same, not the same to a place.
    shuffled = np.argsort(np.arange(places) + rng.normal(0, 0.02 * places, places), kind="stable")
    stamps = np.sort(rng.integers(0, seconds * _SECOND, n))
    return pa.table({"id": np.arange(n), "ts": stamps, "place": names[shuffled[ranks]]})
