"""As-of joins of trades with quotes, `l.symbol = r.symbol` and the last quote at or before each trade, on one thread.

The claim: a local as-of join of 10 M trades with 10 M quotes of 1,000 symbols takes at most 1.5 times as long as Polars'
`join_asof`, and less than DuckDB's ASOF join. Tables are in the order of time, as Polars wants them. All return the columns of
the trade with bid and ask of its quote, and the number of matches and the sum of bids have to agree.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import WeftError
from weft.local import asof_join

__all__ = ["run"]

_DAY = 86_400_000_000
_SELECT = ["l.ts", "l.symbol", "l.price", "l.size", "r.bid", "r.ask"]
_TOLERANCE = 5_000_000
"""What "near" rows are, in microseconds: about half of the trades have a quote so near."""


def ticks(rows: int, symbols: int, seed: int, values: tuple[str, str]) -> pa.Table:
    """Return a day of ticks in the order of time."""
    draw = np.random.default_rng(seed)
    at = np.sort(draw.integers(0, _DAY, rows))
    names = pa.array([f"SYM{number:04}" for number in range(symbols)])
    which = pa.array(draw.integers(0, symbols, rows).astype(np.int32))
    symbol = pa.DictionaryArray.from_arrays(which, names).cast(pa.string())
    columns = {name: draw.integers(1, 10_000, rows) / 100 for name in values}
    return pa.table({"ts": pa.array(at, pa.timestamp("us")), "symbol": symbol, **columns})


def ours(left: pa.Table, right: pa.Table, case: str) -> pa.Table:
    """Join by Weft."""
    more: dict[str, Any] = {"direction": "nearest", "tolerance": "5 seconds"} if case == "nearest" else {}
    return asof_join(left, right, on="ts", by="symbol", select=_SELECT, **more)


def polars_join(left: pa.Table, right: pa.Table, case: str) -> pa.Table | None:
    """Join by Polars; the frames are made of the same memory."""
    import polars as pl

    more: dict[str, Any] = {"strategy": "nearest", "tolerance": "5s"} if case == "nearest" else {}
    one, two = pl.DataFrame(left), pl.DataFrame(right)
    return one.join_asof(two, on="ts", by="symbol", check_sortedness=False, **more).to_arrow()


def duckdb_join(left: pa.Table, right: pa.Table, case: str) -> pa.Table | None:
    """Join by DuckDB, result as Arrow; it knows no nearest row."""
    import duckdb

    if case == "nearest":
        return None
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("l", left)
        connection.register("r", right)
        return connection.sql(
            f"SELECT {', '.join(_SELECT)} FROM l ASOF LEFT JOIN r ON l.symbol = r.symbol AND l.ts >= r.ts"  # noqa: S608
        ).to_arrow_table()


_JOINS: dict[str, Callable[[pa.Table, pa.Table, str], pa.Table | None]] = {
    "weft": ours, "polars": polars_join, "duckdb": duckdb_join,
}  # fmt: skip


def run(
    rows: int = 10_000_000, symbols: int = 1000, repeat: int = 3, say: Callable[[str], None] = lambda _: None
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure all contestants in turns, on one thread each; refuse when results differ."""
    os.environ["POLARS_MAX_THREADS"] = "1"  # before it is imported
    import polars as pl

    if pl.thread_pool_size() != 1:
        raise WeftError.of(
            f"Polars has {pl.thread_pool_size()} threads.",
            "They are counted when it is imported.",
            "start a new process.",
        )
    threads = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        left, right = ticks(rows, symbols, 1, ("price", "size")), ticks(rows, symbols, 2, ("bid", "ask"))
        ours(left.slice(0, 100), right.slice(0, 100), "nearest")  # compile
        return [_case(case, left, right, repeat, say) for case in ("backward", "nearest")]
    finally:
        pa.set_cpu_count(threads)


def _case(case: str, left: pa.Table, right: pa.Table, repeat: int, say: Callable[[str], None]) -> dict[str, Any]:
    best: dict[str, float] = {}
    results: dict[str, tuple[int, int]] = {}
    for number in range(repeat):
        for name, join in _JOINS.items():
            say(f"{case}: {name}, {number + 1} of {repeat} ...")
            begin = time.perf_counter()
            found = join(left, right, case)
            seconds = time.perf_counter() - begin
            if found is not None:
                best[name] = min(best.get(name, seconds), seconds)
                results[name] = _told(found, case)
            del found
    assert len(set(results.values())) == 1, f"results differ: {results}"
    matched = results["weft"][0]
    ratios = {f"over_{name}": best["weft"] / best[name] for name in best if name != "weft"}
    return {"case": case, "matched": matched, **{f"{name}_s": seconds for name, seconds in best.items()}, **ratios}


def _told(found: pa.Table, case: str) -> tuple[int, int]:
    """Return the number of matches, and the sum of bids in cents where one quote alone can be the right one."""
    matched = found.num_rows - found["bid"].null_count
    return matched, 0 if case == "nearest" else round(100 * (pc.sum(found["bid"]).as_py() or 0))
