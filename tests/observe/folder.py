"""A state folder as a query leaves it, written by the local runtime: the same worker and store code as on Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import weft
from weft.local import Join
from weft.state import StateStore, open_folder

SCHEMA = pa.schema({"id": pa.int64(), "ts": pa.timestamp("us"), "x": pa.int64()})
QUERY = "0c5a1e2e-aaaa-bbbb-cccc-000000000000"
SECOND = 1_000_000


def rows(batch: int, late: int = 0) -> pa.Table:
    ids = list(range(batch * 10, batch * 10 + 10))
    times = [max(0, (number - (100 if number % 10 < late else 0))) * SECOND for number in ids]
    return pa.table({"id": ids, "ts": times, "x": [number % 7 for number in ids]}, schema=SCHEMA)


def write_state(path: Path, batches: int = 4, query: str = QUERY, tasks: int = 2, late: int = 0) -> Path:
    """Join some batches of ten rows per side; return the query's folder."""
    window = weft.within("20 seconds", on="ts", delay="5 seconds")
    options = {"on": "l.x <= r.x", "window": window, "scheme": "matrix", "tasks": tasks}
    fingerprint = Join(SCHEMA, SCHEMA, **options).spec.fingerprint()  # type: ignore[arg-type]
    store = StateStore(open_folder(str(path)), query, fingerprint, 100)
    join = Join(SCHEMA, SCHEMA, state=store, **options)  # type: ignore[arg-type]
    for batch in range(batches):
        for _ in join.feed(rows(batch, late if batch > 1 else 0), rows(batch)):
            pass
    return path / query
