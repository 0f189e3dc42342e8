"""The join queries of the A-DSP paper as a spec and two streams of keys (001-46).

Both streams of a query have the same volume: the paper's Square needs 16 = 4 x 4 tasks for each of them. The TPC-H queries
take rows of LINEITEM with the join attribute drawn by Zipf's law, each stream by its own seed; B_NCI's sides pass its
filters. Tables have scale 0.1 (1,000 suppliers, 150,000 orders) or as much as it takes to have the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from weft.spec import Compare, Condition, JoinSpec, Key, Op, build_spec, unbounded
from weft_lab.workloads.feeds import feed_dates, stock_prices
from weft_lab.workloads.tpch import INSTRUCTIONS, MODES, lineitem

__all__ = ["QUERIES", "Query", "social"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Query:
    """A join on one key: `keys(rows, z, seed)` draws one stream; `reach` is how far keys may lie apart (None: any).

    `right` draws the right stream where it is another one.
    """

    name: str
    spec: JoinSpec
    keys: Callable[[int, float, int], Ints]
    reach: int | None
    right: Callable[[int, float, int], Ints] | None = None

    def streams(self) -> tuple[Callable[[int, float, int], Ints], Callable[[int, float, int], Ints]]:
        """Return what draws the left and the right stream."""
        return self.keys, self.right or self.keys


def _band(name: str, width: int | None) -> JoinSpec:
    key = Key("k")
    if width is None:
        compare = Compare(key, Op.NE, Key("none"))
    elif width == 0:
        compare = Compare(key, Op.EQ, key)
    else:
        compare = Compare(key, Op.BAND, key, -width, width)
    return build_spec(Condition(name, (compare,)), unbounded())


@lru_cache(maxsize=64)
def _lines(on: str, where: str, rows: int, z: float, seed: int) -> Ints:
    """Return a column of the first `rows` LINEITEM rows that pass a filter; both sides' tables have the same scale."""
    share = 1.0 if where == "all" else 0.1 / len(MODES)  # the rarer of B_NCI's filters
    scale = max(0.1, math.ceil(11 * rows / (6_000_000 * share)) / 10)  # in steps, so that tables are made once
    table = lineitem(scale, seed, z=z, on=on)
    passed = {
        "all": np.ones(len(table), np.bool_),
        "truck": (table.shipmode == MODES.index("TRUCK")) & (table.quantity > 45),
        "none": table.shipinstruct == INSTRUCTIONS.index("NONE"),
    }[where]
    found: Ints = getattr(table, on)[passed][:rows]
    assert len(found) == rows, f"{len(found)} rows of LINEITEM pass, {rows} were asked for"
    return found


QUERIES = {
    "E_Q5": Query("E_Q5", _band("l.suppkey = r.suppkey", 0), partial(_lines, "suppkey", "all"), 0),
    "B_NCI": Query(
        "B_NCI",
        _band("abs(l.orderkey - r.orderkey) <= 1", 1),
        partial(_lines, "orderkey", "truck"),
        1,
        partial(_lines, "orderkey", "none"),
    ),
    "B_MR": Query("B_MR", _band("abs(l.quantity - r.quantity) <= 49", 49), partial(_lines, "quantity", "all"), 49),
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
