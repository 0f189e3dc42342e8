"""The join queries of the A-DSP paper as a spec and two streams of keys (001-46).

Both streams of a query have the same volume: the paper's Square needs 16 = 4 x 4 tasks for each of them. Key domains are
those of TPC-H at scale 1 (10,000 suppliers; one order in fifteen of 1,500,000, the keys as sparse as TPC-H's; quantities
1 to 50), drawn by Zipf's law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.bench.workloads.feeds import feed_dates, stock_prices
from weft.bench.workloads.zipf import seeded_keys
from weft.spec import Compare, Condition, JoinSpec, Key, Op, build_spec, unbounded

__all__ = ["QUERIES", "Query", "social"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Query:
    """A join on one key: `keys(rows, z, seed)` draws one stream; `reach` is how far keys may lie apart (None: any)."""

    name: str
    spec: JoinSpec
    keys: Callable[[int, float, int], Ints]
    reach: int | None


def _band(name: str, width: int | None) -> JoinSpec:
    key = Key("k")
    if width is None:
        compare = Compare(key, Op.NE, Key("none"))
    elif width == 0:
        compare = Compare(key, Op.EQ, key)
    else:
        compare = Compare(key, Op.BAND, key, -width, width)
    return build_spec(Condition(name, (compare,)), unbounded())


def _orders(rows: int, z: float, seed: int) -> Ints:
    number = seeded_keys(rows, 100_000, z, seed)
    return number // 8 * 32 + number % 8 + 1


QUERIES = {
    "E_Q5": Query("E_Q5", _band("l.suppkey = r.suppkey", 0), lambda n, z, seed: seeded_keys(n, 10_000, z, seed) + 1, 0),
    "B_NCI": Query("B_NCI", _band("abs(l.orderkey - r.orderkey) <= 1", 1), _orders, 1),
    "B_MR": Query(
        "B_MR", _band("abs(l.quantity - r.quantity) <= 49", 49), lambda n, z, seed: seeded_keys(n, 50, z, seed) + 1, 49
    ),
    "Stock": Query(
        "Stock",
        _band("abs(l.price - r.price) <= 20", 20),
        lambda n, z, seed: stock_prices(n, seed, spread=200 + 100 * z),
        20,
    ),
}


def social(ds: int | None, days: int = 60) -> Query:
    """Return the self band join of posts on dates: ds = 0, 3, or None for any two posts."""

    def keys(rows: int, z: float, seed: int) -> Ints:
        del z  # the feed has its own bursts
        return feed_dates(rows, days, seed)

    text = "any two posts" if ds is None else f"abs(a.date - b.date) <= {ds}"
    return Query(f"Social ds={'∞' if ds is None else ds}", _band(text, ds), keys, ds)
