"""Recorded streams in place of generated ones, where a folder of them is named by WEFT_DATA.

- `taxi_green/trips.parquet`: fare and distance of New York's green cabs (the stream of the STA paper's Query 2);
- `nasa_battery/discharge.parquet`: voltage and current of two cells that are discharged together (as of its Query 3).

Values come in the order of the file; time is even, one row `every` so many microseconds, as in the generated streams: the
figures turn the rate themselves. A stream longer than the file begins anew.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

__all__ = ["recorded_readings", "recorded_trips"]

_CELLS = ("B0005", "B0006")


def recorded_trips(n: int, *, every: int) -> pa.Table | None:
    """Return `n` trips: id, t, fare, distance; None where none are recorded."""
    found = _columns("taxi_green/trips.parquet", ("fare", "distance"))
    return None if found is None else _timed(found, n, every)


def recorded_readings(n: int, *, every: int) -> tuple[pa.Table, pa.Table] | None:
    """Return `n` readings of each of two cells: id, t, v, i; None where none are recorded."""
    found = _columns("nasa_battery/discharge.parquet", ("voltage", "current", "battery"))
    if found is None:
        return None
    one, two = (
        _timed(found.filter(pc.equal(found["battery"], cell)).select([0, 1]).rename_columns(["v", "i"]), n, every)
        for cell in _CELLS
    )
    return one, two


@lru_cache(maxsize=2)
def _columns(name: str, columns: tuple[str, ...]) -> pa.Table | None:
    folder = os.environ.get("WEFT_DATA")
    file = Path(folder) / name if folder else None
    return pq.read_table(file, columns=list(columns)) if file is not None and file.is_file() else None


def _timed(table: pa.Table, n: int, every: int) -> pa.Table:
    taken = table.take(np.arange(n) % table.num_rows).combine_chunks()
    time = np.arange(n, dtype=np.int64)
    return pa.table({"id": time, "t": time * every} | {name: taken[name] for name in taken.column_names})
