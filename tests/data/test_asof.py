"""As-of joins of real trades and quotes (binance_ticks), beside Polars, pandas and DuckDB."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import weft
from weft.local import AsofJoin
from weft.routing import AsofPlan, AsofScheme
from weft.spec.asof import Direction

pytestmark = pytest.mark.data

SELECT = ["l.id AS x", "r.id AS y"]


@pytest.fixture(scope="module")
def ticks(data_dir: Path) -> tuple[pa.Table, pa.Table]:
    folder = data_dir / "binance_ticks"
    if not folder.is_dir():
        pytest.skip(f"no ticks: {folder} does not exist; name another folder with WEFT_TEST_DATA")
    trades, quotes = (
        pq.read_table(folder / f"{name}.parquet", columns=columns).sort_by([("ts", "ascending"), ("id", "ascending")])
        for name, columns in (("trades", ["id", "ts", "inst", "price"]), ("quotes", ["id", "ts", "inst", "bid", "ask"]))
    )
    return trades, quotes


def _found(table: pa.Table) -> dict[int, int | None]:
    return dict(zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True))


@pytest.mark.parametrize("direction", ["backward", "forward"])
def test_as_polars_and_pandas(ticks: tuple[pa.Table, pa.Table], direction: Direction) -> None:
    """Quotes at one time are told apart: what they do with ties is theirs."""
    import pandas as pd
    import polars as pl

    trades, quotes = ticks
    one_each = quotes.group_by(["ts", "inst"], use_threads=False).aggregate([("id", "max")])
    one_each = one_each.rename_columns(["ts", "inst", "id"]).sort_by([("ts", "ascending"), ("id", "ascending")])
    for tolerance, exact in ((None, True), ("250 milliseconds", False)):
        ours = weft.local.asof_join(
            trades,
            one_each,
            on="ts",
            by="inst",
            direction=direction,
            tolerance=tolerance,
            strict=not exact,
            select=SELECT,
        )
        theirs = pl.DataFrame(trades).join_asof(
            pl.DataFrame(one_each).rename({"id": "y"}), on="ts", by="inst", strategy=direction,
            tolerance=None if tolerance is None else "250ms", allow_exact_matches=exact, check_sortedness=False,
        )  # fmt: skip
        assert _found(ours) == dict(zip(theirs["id"], theirs["y"], strict=True))
        frames = [table.to_pandas() for table in (trades, one_each.rename_columns(["ts", "inst", "y"]))]
        merged = pd.merge_asof(
            *frames, on="ts", by="inst", direction=direction, allow_exact_matches=exact,
            tolerance=None if tolerance is None else pd.Timedelta("250ms"),
        )  # fmt: skip
        assert _found(ours) == {
            int(x): None if np.isnan(y) else int(y) for x, y in zip(merged["id"], merged["y"], strict=True)
        }


def test_as_duckdb_with_ties(ticks: tuple[pa.Table, pa.Table]) -> None:
    import duckdb

    trades, quotes = ticks
    ours = weft.local.asof_join(trades, quotes, on="ts", by="inst", ties="id", select=SELECT, how="inner")
    with duckdb.connect() as connection:
        connection.register("l", trades)
        connection.register("r", quotes)
        theirs = connection.sql(
            "SELECT l.id AS x, max(r.id) AS y"
            " FROM (SELECT l.*, q.ts AS at FROM l ASOF JOIN r q ON l.inst = q.inst AND l.ts >= q.ts) l"
            " JOIN r ON r.inst = l.inst AND r.ts = l.at GROUP BY l.id"
        ).to_arrow_table()
    assert _found(ours) == _found(theirs)


def test_streams_come_to_the_same(ticks: tuple[pa.Table, pa.Table]) -> None:
    """In order of arrival, with a delay that keeps every row, on tasks that cut the hottest instruments."""
    trades, quotes = ticks
    options: dict[str, Any] = {
        "on": "ts",
        "by": "inst",
        "direction": "nearest",
        "tolerance": "1 second",
        "where": "l.price <= r.ask",
    }
    whole = _found(weft.local.asof_join(trades, quotes, select=SELECT, **options))
    join = AsofJoin(
        trades.schema, quotes.schema, select=SELECT, delay="2 seconds", tasks=4, scheme=AsofScheme(hot=0.3), **options
    )
    start, end = (getattr(np, name)([t["ts"].to_numpy()[at] for t in ticks]) for name, at in (("min", 0), ("max", -1)))
    edges = np.linspace(start.astype(int), end.astype(int) + 1, 13).astype("datetime64[us]")
    found: list[pa.Table] = []
    for low, high in pairwise(edges):
        cut = [table.slice(*_between(table, low, high)) for table in ticks]
        found += join.feed(*cut)
        assert not found or len(_found(found[-1])) > 0
    left_before = sum(table.num_rows for table in found)
    found += join.finish()
    assert 0.7 * trades.num_rows < left_before < trades.num_rows
    assert _found(pa.concat_tables(found)) == whole
    plan = join.store.read_pinned(12).plan
    assert isinstance(plan, AsofPlan) and plan.hot


def _between(table: pa.Table, low: np.datetime64, high: np.datetime64) -> tuple[int, int]:
    first, last = np.searchsorted(table["ts"].to_numpy(), np.array([low, high]))
    return int(first), int(last - first)
