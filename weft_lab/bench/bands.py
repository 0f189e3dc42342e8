"""Two bands, `abs(l.x - r.x) <= 5 AND abs(l.y - r.y) <= 5`, and aircraft near each other in space and time, on one thread.

The claims: time follows the pairs that come out, not the rows that one band alone allows, so four times the points at as many
pairs per row take at most five times as long; and it does not matter how a band is written. DuckDB and Polars have the plain
condition; DuckDB also a grid written by hand, as somebody who knows would write it: cells as wide as the bands, each left row
looked up in nine of them. Contestants take turns and return the ids of the pairs, whose number and sums have to agree.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

import weft
from weft.errors import WeftError

__all__ = ["CASES", "run"]

_WIDTH = 11  # whole numbers that differ by at most 5
_ABS = "abs(l.x - r.x) <= 5 AND abs(l.y - r.y) <= 5"
_BETWEEN = "l.x BETWEEN r.x - 5 AND r.x + 5 AND l.y BETWEEN r.y - 5 AND r.y + 5"
_NEAR = "abs(l.lat - r.lat) <= 0.009005D AND abs(l.lon - r.lon) <= 0.013705D"
CASES = ("abs", "BETWEEN", "4 x the points", "doubles", "clusters", "aircraft")


@dataclass(frozen=True)
class Case:
    """One join: Weft's condition and window, and the keys and widths of the bands for those who write them otherwise."""

    name: str
    left: pa.Table
    right: pa.Table
    on: str
    bands: tuple[tuple[str, float], ...] = (("x", 5), ("y", 5))
    window: weft.Window | None = None


Pairs = tuple[Any, Any]


def points(n: int, rows: int, seed: int, *, doubles: bool = False, clustered: bool = False) -> pa.Table:
    """Return points that have 0.4 partners each; clustered ones lie around few centres, and have hundreds."""
    draw = np.random.default_rng(seed)
    side = int(_WIDTH * (n / 0.4) ** 0.5)
    if clustered:
        centres = np.random.default_rng(9).integers(0, side, (2, max(1, rows // 4000)))
        where = draw.integers(0, centres.shape[1], n)
        xy = centres[:, where] + draw.normal(0, 60, (2, n)).astype(np.int64)
    else:
        xy = draw.integers(0, side, (2, n))
    x, y = (xy + draw.random((2, n)) if doubles else xy)[:2]
    return pa.table({"id": np.arange(n), "x": x, "y": y})


def aircraft(rows: int, seed: int) -> pa.Table:
    """Return positions of 200 aircraft around two airports, each sent once a second while it flies in circles."""
    draw = np.random.default_rng(seed)
    planes, steps = 200, max(1, rows // 200)
    centre, radius = draw.integers(0, 2, planes), draw.exponential(0.25, planes)
    begin, speed = draw.random(planes) * 2 * np.pi, draw.normal(0, 0.01, planes)
    angle = begin + speed * np.arange(steps)[:, None]
    lat, lon = 49.0 - 0.3 * centre + radius * np.sin(angle), 2.5 - 0.15 * centre + 1.5 * radius * np.cos(angle)
    plane, at = np.tile(np.arange(planes), steps), np.repeat(np.arange(steps), planes) * 1_000_000
    columns = {"id": np.arange(len(at)), "plane": plane, "lat": lat.ravel().round(5), "lon": lon.ravel().round(5)}
    return pa.table({**columns, "ts": pa.array(at, pa.timestamp("us"))})


def case_of(name: str, rows: int) -> Case:
    """Return a case with its tables."""
    if name == "aircraft":
        sky = aircraft(rows // 4, 1)
        bands = (("lat", 0.009005), ("lon", 0.013705))
        return Case(name, sky, sky, f"l.plane < r.plane AND {_NEAR}", bands, weft.within("30 seconds", on="ts"))
    how: dict[str, dict[str, bool]] = {"doubles": {"doubles": True}, "clusters": {"clustered": True}}
    n = 4 * rows if name == "4 x the points" else rows // 8 if name == "clusters" else rows
    left, right = (points(n, rows, seed, **how.get(name, {})) for seed in (1, 2))
    return Case(name, left, right, _BETWEEN if name == "BETWEEN" else _ABS)


def ours(case: Case) -> Pairs:
    """Join by Weft."""
    found = weft.local.join(case.left, case.right, on=case.on, window=case.window, select=["l.id", "r.id AS other"])
    return found.column(0), found.column(1)


def _sql(case: Case) -> str:
    terms = [f"l.{key} BETWEEN r.{key} - {width} AND r.{key} + {width}" for key, width in case.bands]
    if case.window is not None:
        terms += ["l.ts BETWEEN r.ts - INTERVAL 30 SECOND AND r.ts + INTERVAL 30 SECOND", "l.plane < r.plane"]
    return " AND ".join(terms)


def _duckdb(case: Case, sql: str) -> Pairs:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("l", case.left)
        connection.register("r", case.right)
        found = connection.sql(sql).to_arrow_table()
    return found.column(0), found.column(1)


def duckdb_join(case: Case) -> Pairs:
    """Join by DuckDB, the condition as it is."""
    return _duckdb(case, f"SELECT l.id, r.id FROM l JOIN r ON {_sql(case)}")  # noqa: S608


def duckdb_grid(case: Case) -> Pairs:
    """Join by DuckDB over cells as wide as the bands, each left row in nine of them."""
    (one, wide), (two, high) = case.bands
    return _duckdb(case, f"""
        SELECT l.id, r.id FROM (
            SELECT *, CAST(floor({one} / {wide}) AS BIGINT) + dx.i AS cx, CAST(floor({two} / {high}) AS BIGINT) + dy.i AS cy
            FROM l, range(-1, 2) dx(i), range(-1, 2) dy(i)
        ) l JOIN (
            SELECT *, CAST(floor({one} / {wide}) AS BIGINT) AS cx, CAST(floor({two} / {high}) AS BIGINT) AS cy FROM r
        ) r ON l.cx = r.cx AND l.cy = r.cy AND {_sql(case)}""")  # noqa: S608 # fmt: skip


def polars_join(case: Case) -> Pairs:
    """Join by Polars' `join_where`."""
    import polars as pl

    left, right = pl.DataFrame(case.left), pl.DataFrame(case.right).rename(lambda name: f"{name}_r")
    terms = []
    for key, width in case.bands:
        terms += [pl.col(key) >= pl.col(f"{key}_r") - width, pl.col(key) <= pl.col(f"{key}_r") + width]
    if case.window is not None:
        near = timedelta(seconds=30)
        terms += [
            pl.col("ts") >= pl.col("ts_r") - near,
            pl.col("ts") <= pl.col("ts_r") + near,
            pl.col("plane") < pl.col("plane_r"),
        ]
    both = left.join_where(right, *terms).select("id", "id_r")
    return both["id"].to_arrow(), both["id_r"].to_arrow()


JOINS: dict[str, Callable[[Case], Pairs]] = {
    "weft": ours, "duckdb_grid": duckdb_grid, "duckdb": duckdb_join, "polars": polars_join,
}  # fmt: skip


def run(
    rows: int = 400_000, repeat: int = 3, cases: Sequence[str] = CASES, plain: int = 25_000,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure the cases on one thread each; refuse when results differ.

    DuckDB's and Polars' plain conditions look at all that one band allows, so they only run up to `plain` rows a side; a
    twentieth of that where they are aircraft.
    """
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
        for name in cases:
            ours(case_of(name, 40_000))  # compile
        return [_measured(case_of(name, rows), repeat, plain, say) for name in cases]
    finally:
        pa.set_cpu_count(threads)


def _measured(case: Case, repeat: int, plain: int, say: Callable[[str], None]) -> dict[str, Any]:
    spent: dict[str, list[float]] = {}
    results: dict[str, tuple[int, int]] = {}
    for number in range(repeat):
        for name, join in JOINS.items():
            if name in ("duckdb", "polars") and case.left.num_rows > (plain if case.window is None else plain // 20):
                continue
            say(f"{case.name}: {name}, {number + 1} of {repeat} ...")
            begin = time.perf_counter()
            left, right = join(case)
            spent.setdefault(name, []).append(time.perf_counter() - begin)
            sums = [int(np.asarray(side).astype(np.int64).sum()) for side in (left, right)]
            results[name] = len(left), sums[0] * 31 + sums[1]
            del left, right
    assert len(set(results.values())) == 1, f"results differ: {results}"
    best = {name: min(seconds) for name, seconds in spent.items()}
    return {
        "case": case.name, "rows": case.left.num_rows, "pairs": results["weft"][0],
        **{f"{name}_s": seconds for name, seconds in best.items()},
        **{f"over_{name}": best["weft"] / best[name] for name in best if name != "weft"},
        "weft_most_s": max(spent["weft"]),
    }  # fmt: skip
