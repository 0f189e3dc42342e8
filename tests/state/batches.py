"""Small streams for the state's tests, through the local runtime: the same worker and store code as on Spark."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

import weft
from weft.local import Join
from weft.state import Folder, StateStore, open_folder

ON = "abs(l.x - r.x) <= 3"
WINDOW = weft.within(40, on="ts", delay=5)
SCHEMA = pa.schema({"id": pa.int64(), "ts": pa.int64(), "x": pa.int64(), "note": pa.string()})


def rows(side: str, batch: int, count: int = 40) -> pa.Table:
    """Return the rows of one side and batch, always the same."""
    draw = random.Random(f"{side} {batch}")
    ts = sorted(batch * 20 + draw.randrange(20) for _ in range(count))
    x = [draw.randrange(60) for _ in ts]
    ids = [batch * 1000 + number for number in range(count)]
    return pa.table({"id": ids, "ts": ts, "x": x, "note": [f"{side} {value}" for value in x]}, schema=SCHEMA)


def store(where: Path | Folder, retain: int = 100, on: str = ON, query: str = "query") -> StateStore:
    folder = open_folder(str(where)) if isinstance(where, Path) else where
    return StateStore(folder, query, joined(None, on=on).spec.fingerprint(), retain)


def joined(state: StateStore | None, batch: int = 0, *, on: str = ON, **more: Any) -> Join:
    """Return the join, ready for `batch`."""
    made = Join(SCHEMA, SCHEMA, on=on, window=more.pop("window", WINDOW), state=state, **{"tasks": 2, **more})
    made.run.batch = batch
    return made


def feed(join: Join, batches: int) -> list[tuple[int, int]]:
    """Feed the next batches and return the pairs of ids."""
    found: list[tuple[int, int]] = []
    for _ in range(batches):
        batch = join.run.batch
        for table in join.feed(rows("left", batch), rows("right", batch)):
            found += zip(table["id"].to_pylist(), table["id_right"].to_pylist(), strict=True)
    return sorted(found)


def expected(batches: int, first: int = 0) -> list[tuple[int, int]]:
    """Return the pairs by nested loop; those of `first` and later batches, found by their later tuple."""
    sides = [[row for b in range(batches) for row in rows(side, b).to_pylist()] for side in ("left", "right")]
    return sorted(
        (one["id"], two["id"])
        for one in sides[0]
        for two in sides[1]
        if abs(one["x"] - two["x"]) <= 3
        and abs(one["ts"] - two["ts"]) <= 40
        and max(one["id"], two["id"]) >= first * 1000
    )
