"""Columns of TPC-H's ORDERS, LINEITEM and SUPPLIER that the join queries need, by the rules of the specification (4.2.3).

Made here rather than by `dbgen`, so that a benchmark needs no other program: key sparsity, counts, ranges, dates and
price rules are the specification's, the random numbers are NumPy's, so rows are not those of `dbgen`. With a skew `z` the
join attribute is drawn by Zipf's law instead, as the papers do (001-46).

- E_Q5: SUPPLIER (of one region or all) and LINEITEM on suppkey, the costly join of Q5.
- B_NCI: LINEITEM with itself, `abs(orderkey - orderkey) <= 1`, TRUCK and large quantities against NONE: a small band.
- B_MR: LINEITEM with itself, `abs(quantity - quantity) <= 49`: a band that every pair satisfies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.bench.workloads.zipf import seeded_keys

__all__ = ["INSTRUCTIONS", "MODES", "Lineitem", "Orders", "lineitem", "orders", "suppliers"]

Ints = NDArray[np.int64]

MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")

START, END = np.datetime64("1992-01-01"), np.datetime64("1998-12-31")
_DAYS = int((END - START).astype(int)) - 151 + 1


@dataclass(frozen=True, eq=False)
class Orders:
    """ORDERS: dates are days since 1970."""

    orderkey: Ints
    custkey: Ints
    orderdate: Ints


@dataclass(frozen=True, eq=False)
class Lineitem:
    """LINEITEM: prices in cents, modes and instructions as numbers of MODES and INSTRUCTIONS."""

    orderkey: Ints
    linenumber: Ints
    partkey: Ints
    suppkey: Ints
    quantity: Ints
    extendedprice: Ints
    discount: Ints
    shipdate: Ints
    commitdate: Ints
    receiptdate: Ints
    shipmode: Ints
    shipinstruct: Ints

    def __len__(self) -> int:
        return len(self.orderkey)


def orders(scale: float, seed: int = 1) -> Orders:
    """Make 1,500,000 x scale orders: of every 32 keys the first 8 are used, customers divisible by 3 never order."""
    draw = np.random.default_rng(seed)
    count = max(1, round(1_500_000 * scale))
    number = np.arange(count)
    customers = max(3, round(150_000 * scale))
    customer = draw.integers(1, customers + 1, count)
    customer = np.where(customer % 3 == 0, np.maximum(customer - 1, 1), customer)
    day = int(START.astype(int)) + draw.integers(0, _DAYS, count)
    return Orders(number // 8 * 32 + number % 8 + 1, customer, day)


def lineitem(scale: float, seed: int = 1, *, z: float | None = None, on: str = "orderkey") -> Lineitem:
    """Make the 1 to 7 lines of each order; with `z` the column `on` (orderkey, suppkey or quantity) is skewed."""
    order = orders(scale, seed)
    draw = np.random.default_rng([seed, 2])
    lines = draw.integers(1, 8, len(order.orderkey))
    rows = int(lines.sum())
    first = np.repeat(np.cumsum(lines) - lines, lines)
    parts, many = max(1, round(200_000 * scale)), suppliers(scale)
    part = draw.integers(1, parts + 1, rows)
    which = draw.integers(0, 4, rows)
    supplier = (part + which * (many // 4 + (part - 1) // many)) % many + 1
    quantity = draw.integers(1, 51, rows)
    retail = 90_000 + (part // 10) % 20_001 + 100 * (part % 1_000)
    day = np.repeat(order.orderdate, lines)
    ship = day + draw.integers(1, 122, rows)
    columns: dict[str, Ints] = {
        "orderkey": np.repeat(order.orderkey, lines), "linenumber": np.arange(rows) - first + 1, "partkey": part,
        "suppkey": supplier, "quantity": quantity, "extendedprice": quantity * retail, "discount": draw.integers(0, 11, rows),
        "shipdate": ship, "commitdate": day + draw.integers(30, 91, rows), "receiptdate": ship + draw.integers(1, 31, rows),
        "shipmode": draw.integers(0, len(MODES), rows), "shipinstruct": draw.integers(0, len(INSTRUCTIONS), rows),
    }  # fmt: skip
    if z is not None:
        values = {"orderkey": order.orderkey, "suppkey": np.arange(1, many + 1), "quantity": np.arange(1, 51)}[on]
        columns[on] = values[seeded_keys(rows, len(values), z, seed + 100)]
    return Lineitem(**columns)


def suppliers(scale: float) -> int:
    """Return how many suppliers there are."""
    return max(4, round(10_000 * scale))
