"""Outer, semi and anti joins of real data, streamed through the local runtime in batches: exactly what DuckDB finds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import weft
from weft.spec import INNER, KINDS, Kind
from weft.types import SIDES

pytestmark = pytest.mark.data

OTHERS = [kind for kind in KINDS.values() if kind != INNER]
TAXI_DAY = "SELECT * FROM '{data}/taxi_green/trips.parquet' WHERE ts >= '2023-03-15' AND ts < '2023-03-16'"
CELL = (
    "SELECT * FROM '{data}/nasa_battery/discharge.parquet' "
    "WHERE ts >= '2008-04-02' AND ts < '2008-04-09' AND battery = 'B000"
)
TICKS = (
    "SELECT * FROM '{data}/binance_ticks/FILE.parquet' WHERE ts >= '2024-08-08 23:55:00' AND ts < '2024-08-08 23:55:20'"
)
QUERIES: dict[str, tuple[str, str, str, str, Any]] = {
    "two inequalities": (
        TAXI_DAY, TAXI_DAY, "l.distance > r.distance AND l.fare < r.fare",
        "r.ts BETWEEN l.ts - INTERVAL 10 MINUTES AND l.ts + INTERVAL 10 MINUTES",
        weft.within("10 minutes", on="ts", delay="1 minute"),
    ),
    "equality and a residual": (
        TAXI_DAY, TAXI_DAY, "l.pu_loc = r.pu_loc AND (l.tip > r.fare OR l.passengers > r.passengers + 3)",
        "r.ts BETWEEN l.ts - INTERVAL 5 MINUTES AND l.ts",
        weft.within(before="5 minutes", after="0 seconds", on="ts", delay="10 seconds"),
    ),
    "two batteries": (
        CELL + "5'", CELL + "6'", "abs(l.voltage - r.voltage) <= 0.00505",
        "r.ts BETWEEN l.ts AND l.ts + INTERVAL 10 SECONDS",
        weft.within(before="0 seconds", after="10 seconds", on="ts", delay="0 seconds"),
    ),
    "trades and quotes": (
        TICKS.replace("FILE", "trades"), TICKS.replace("FILE", "quotes"), "l.inst = r.inst AND l.price > r.ask",
        "r.ts BETWEEN l.ts - INTERVAL 100 MILLISECONDS AND l.ts",
        weft.within(before="100 milliseconds", after="0 seconds", on="ts", delay="0 seconds"),
    ),
}  # fmt: skip


def _counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _table(query: str, values: list[Any] | None = None) -> pa.Table:
    found = duckdb.sql(query, params=values)
    assert found is not None
    return found.to_arrow_table()


def _duck(kind: Kind, on: str) -> pa.Table:
    join = {"left_semi": "SEMI JOIN", "left_anti": "ANTI JOIN"}.get(kind.name, f"{kind.name} JOIN")
    columns = "l.id AS x, r.id AS y" if kind.pairs else "l.id AS x"
    return _table(f"SELECT {columns} FROM left_rows l {join} right_rows r ON {on}")


@pytest.mark.parametrize("query", QUERIES)
def test_kinds_of_joins(data_dir: Path, query: str) -> None:
    *sources, on, near, window = QUERIES[query]
    rows = {
        side: _table(text.format(data=data_dir) + " ORDER BY ts, id") for side, text in zip(SIDES, sources, strict=True)
    }
    duckdb.register("left_rows", rows["left"])
    duckdb.register("right_rows", rows["right"])
    for number, kind in enumerate(OTHERS):
        select = ["l.id AS x", "r.id AS y"] if kind.pairs else ["l.id AS x"]
        join = weft.local.Join(
            rows["left"].schema,
            rows["right"].schema,
            on=on,
            how=kind.name,
            window=window,
            tasks=2 + number,
            select=select,
        )
        chunks = [join.schema.empty_table()]
        for part in range(6):  # both sides as they come: cut at the same times
            start, end = (rows["left"]["ts"][0].as_py(), rows["left"]["ts"][-1].as_py())
            cuts = [start + (end - start) * fraction / 6 for fraction in (part, part + 1)]
            piece = {
                side: _table(
                    f"SELECT * FROM {side}_rows WHERE (ts >= ? OR {part} = 0) AND (ts < ? OR {part} = 5) ORDER BY ts, id",
                    cuts,
                )
                for side in SIDES
            }
            chunks += join.feed(piece["left"].cast(rows["left"].schema), piece["right"].cast(rows["right"].schema))
        chunks += join.finish()
        found = _counted(pa.concat_tables(chunks))
        expected = _counted(_duck(kind, f"({on}) AND {near}"))
        assert found == expected, kind.name
        assert len(found) > 10, f"{kind.name}: only {len(found)}"
