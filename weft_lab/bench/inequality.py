"""Two inequalities, `a.x > b.x AND a.y < b.y`, beside DuckDB and Polars on the same rows.

x and y are correlated so that few pairs satisfy both, as in the employees example of the IEJoin literature (Y10): the
noise sets the share of matching pairs. All three return the ids of the pairs as columns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from weft.index import Probe, make_index
from weft.spec.terms import Access, Op, Term
from weft.types import Block, Words

__all__ = ["run"]

SHARES = {1e-3: 0.00178, 1e-5: 0.0000177}
"""Share of matching pairs: the noise, relative to the domain, that gives it."""
_DOMAIN = 1 << 40


def rows(n: int, noise: float, seed: int) -> Words:
    """Return x and y of `n` rows: y follows x, give or take the noise."""
    random = np.random.default_rng(seed)
    x = random.integers(0, _DOMAIN, n)
    return np.stack([x, x + (random.normal(0, noise, n) * _DOMAIN).astype(np.int64)])


def ours(a: Words, b: Words) -> tuple[Any, Any]:
    """Join by the default index, and gather the ids."""
    terms = (Term(0, Op.GT, 0), Term(1, Op.LT, 1))
    access = Access(within=terms[0])
    ids = pa.table({"id": np.arange(b.shape[1])})
    index = make_index("runs", access, None)
    index.insert(Block(b, np.zeros(b.shape[1], np.uint32), ids))
    block = Block(a, np.zeros(a.shape[1], np.uint32), pa.table({"id": np.arange(a.shape[1])}))
    left: list[pa.Array] = []
    right: list[pa.Array] = []
    for matches in index.probe(Probe(block, access, terms), 1 << 20):
        left.append(block.payload.column("id").chunk(0).take(pa.array(matches.probe)))
        right.append(matches.run.payload.column("id").chunk(0).take(pa.array(matches.stored)))
    return pa.chunked_array(left, pa.int64()), pa.chunked_array(right, pa.int64())


def duckdb_join(a: Words, b: Words) -> tuple[Any, Any]:
    """Join by DuckDB on all cores, result as Arrow."""
    import duckdb

    with duckdb.connect() as connection:
        for name, side in (("a", a), ("b", b)):
            connection.register(name, pa.table({"id": np.arange(side.shape[1]), "x": side[0], "y": side[1]}))
        found = connection.sql("SELECT a.id, b.id AS other FROM a JOIN b ON a.x > b.x AND a.y < b.y").to_arrow_table()
    return found.column(0), found.column(1)


def polars_join(a: Words, b: Words) -> tuple[Any, Any]:
    """Join by Polars' `join_where`."""
    import polars as pl

    left = pl.DataFrame({"id": np.arange(a.shape[1]), "x": a[0], "y": a[1]})
    right = pl.DataFrame({"other": np.arange(b.shape[1]), "u": b[0], "v": b[1]})
    both = left.join_where(right, pl.col("x") > pl.col("u"), pl.col("y") < pl.col("v")).select("id", "other")
    return both["id"], both["other"]


def _best(join: Callable[[Words, Words], tuple[Any, Any]], a: Words, b: Words, repeat: int) -> tuple[float, int, int]:
    best, pairs, total = float("inf"), 0, 0
    for _ in range(repeat):
        begin = time.perf_counter()
        left, right = join(a, b)
        best = min(best, time.perf_counter() - begin)
        pairs, total = len(left), int(np.asarray(left).sum()) * 31 + int(np.asarray(right).sum())
    return best, pairs, total


def run(n: int = 100_000, repeat: int = 3) -> list[dict[str, float]]:
    """Measure each share of matching pairs; refuse when the three results differ."""
    results: list[dict[str, float]] = []
    ours(rows(1000, 0.1, 1), rows(1000, 0.1, 2))  # compile
    for share, noise in SHARES.items():
        a, b = rows(n, noise, 1), rows(n, noise, 2)
        times = {name: _best(join, a, b, repeat) for name, join in _JOINS.items()}
        assert len({(pairs, total) for _, pairs, total in times.values()}) == 1, f"results differ: {times}"
        best = min(times["duckdb"][0], times["polars"][0])
        results.append(
            {
                "share": share,
                "pairs": times["weft"][1],
                **{f"{name}_s": t[0] for name, t in times.items()},
                "ratio": times["weft"][0] / best,
            }
        )
    return results


_JOINS = {"weft": ours, "duckdb": duckdb_join, "polars": polars_join}
