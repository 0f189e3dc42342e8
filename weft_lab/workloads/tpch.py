"""TPC-H's ORDERS and LINEITEM by `tpchgen-cli` (`pip install 'weft[tpch]'`), for the join queries of the A-DSP paper.

Rows are those of `dbgen`. With a skew `z` the join attribute is drawn by Zipf's law instead, as the papers do (001-46).

- E_Q5: SUPPLIER (of one region or all) and LINEITEM on suppkey, the costly join of Q5.
- B_NCI: LINEITEM with itself, `abs(orderkey - orderkey) <= 1`, TRUCK and large quantities against NONE: a small band.
- B_MR: LINEITEM with itself, `abs(quantity - quantity) <= 49`: a band that every pair satisfies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.errors import WeftError
from weft_lab.workloads.zipf import seeded_keys

__all__ = ["INSTRUCTIONS", "MODES", "Lineitem", "Orders", "lineitem", "orders", "suppliers"]

Ints = NDArray[np.int64]

MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")


@dataclass(frozen=True, eq=False)
class Orders:
    """ORDERS: dates are days since 1970."""

    orderkey: Ints
    custkey: Ints
    orderdate: Ints


@dataclass(frozen=True, eq=False)
class Lineitem:
    """LINEITEM: dates are days since 1970, modes and instructions numbers of MODES and INSTRUCTIONS."""

    orderkey: Ints
    linenumber: Ints
    partkey: Ints
    suppkey: Ints
    quantity: Ints
    shipdate: Ints
    receiptdate: Ints
    shipmode: Ints
    shipinstruct: Ints

    def __len__(self) -> int:
        return len(self.orderkey)


def orders(scale: float) -> Orders:
    """Return the 1,500,000 x scale orders."""
    table = _generated("orders", scale, ("o_orderkey", "o_custkey", "o_orderdate"))
    return Orders(*(_numbers(column) for column in table.columns))


def lineitem(scale: float, seed: int = 1, *, z: float | None = None, on: str = "orderkey") -> Lineitem:
    """Return the lines of the orders; with `z` the column `on` (orderkey, suppkey or quantity) is drawn by its skew."""
    table = _lineitem(scale)
    if z is None:
        return table
    values = {
        "orderkey": np.unique(table.orderkey),
        "suppkey": np.arange(1, suppliers(scale) + 1),
        "quantity": np.arange(1, 51),
    }
    drawn = values[on][seeded_keys(len(table), len(values[on]), z, seed + 100)]
    return Lineitem(**{**table.__dict__, on: drawn})


def suppliers(scale: float) -> int:
    """Return how many suppliers there are."""
    return max(1, round(10_000 * scale))


@lru_cache(maxsize=2)
def _lineitem(scale: float) -> Lineitem:
    plain = ("l_orderkey", "l_linenumber", "l_partkey", "l_suppkey", "l_quantity", "l_shipdate", "l_receiptdate")
    table = _generated("lineitem", scale, (*plain, "l_shipmode", "l_shipinstruct"))
    names = [_places(table[name], known) for name, known in (("l_shipmode", MODES), ("l_shipinstruct", INSTRUCTIONS))]
    return Lineitem(*(_numbers(table[name]) for name in plain), *names)


def _generated(table: str, scale: float, columns: Sequence[str]) -> pa.Table:
    """Let the generator write one table, and read some of its columns."""
    folder = Path(tempfile.mkdtemp(prefix="weft-tpch-"))
    command = [_program(), "parquet", "--scale-factor", f"{scale:g}", "--tables", table, "--output-dir", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
        return pq.read_table(folder / f"{table}.parquet", columns=list(columns))
    except subprocess.CalledProcessError as error:
        raise WeftError.of(
            f"tpchgen-cli could not make {table} at scale {scale:g}.",
            error.stderr.strip() or f"It ended with code {error.returncode}.",
            "try a smaller scale, or look for space in the temporary folder.",
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _program() -> str:
    """Find the generator: beside this Python, or on the path."""
    beside = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent]
    found = shutil.which("tpchgen-cli", path=os.pathsep.join(map(str, beside))) or shutil.which("tpchgen-cli")
    if found is None:
        raise WeftError.of(
            "The TPC-H queries need the generator tpchgen-cli.",
            "It is not installed beside this Python, nor on the path.",
            "pip install 'weft[tpch]'.",
        )
    return found


def _numbers(column: pa.ChunkedArray) -> Ints:
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return np.asarray(column.cast(pa.int64()).to_numpy())


def _places(column: pa.ChunkedArray, known: Sequence[str]) -> Ints:
    return _numbers(pc.index_in(column.cast(pa.string()), pa.array(known)))
