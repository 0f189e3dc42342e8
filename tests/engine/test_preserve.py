"""Rows of one batch are flagged by their own numbers, however an index splits them into runs."""

from __future__ import annotations

import pyarrow as pa
import pytest

import weft
from weft.index import INDEXES

LEFT = pa.table({"id": [0], "s": ["b"]})
RIGHT = pa.table({"id": [1, 2, 3], "s": ["c", "a", "a"]})


@pytest.mark.parametrize("index", sorted(set(INDEXES) - {"hash", "crossed"}))
def test_rows_of_one_batch(index: str) -> None:
    found = weft.local.join(LEFT, RIGHT, on="l.s < r.s", how="right", index=index, select=["l.id AS x", "r.id AS y"])
    assert sorted(found.to_pylist(), key=lambda row: row["y"]) == [
        {"x": 0, "y": 1},
        {"x": None, "y": 2},
        {"x": None, "y": 3},
    ]
