"""The order of content depends on the rows alone, whatever their types and however they arrive."""

from __future__ import annotations

import random
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

from weft.engine.content_order import in_content_order, row_hashes

CHOICES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [0, 1, None]),
    "f": (pa.float64(), [0.0, -0.0, float("nan"), None]),
    "s": (pa.string(), ["a", "", None]),
    "l": (pa.list_(pa.int64()), [None, [], [1, 2], [2, 1], [None]]),
    "m": (pa.map_(pa.string(), pa.int64()), [None, [], [("a", 1)], [("b", None)]]),
    "st": (pa.struct({"a": pa.int64(), "b": pa.string()}), [None, {"a": 1, "b": "x"}, {"a": None, "b": "x"}]),
    "d": (pa.decimal128(38, 3), [Decimal("1.5"), Decimal("-1.5"), None]),
    "t": (pa.timestamp("us", tz="UTC"), [datetime(2026, 1, day, tzinfo=timezone.utc) for day in (1, 2)]),
    "b": (pa.bool_(), [True, False, None]),
    "y": (pa.large_binary(), [b"x", b"y"]),
    "n": (pa.list_(pa.list_(pa.int64())), [[[1], [2]], [[1, 2], []], None]),
}
SCHEMA = pa.schema({name: kind for name, (kind, _) in CHOICES.items()})


def _table(seed: int, rows: int) -> pa.Table:
    draw = random.Random(seed)
    chosen = [{name: draw.choice(values) for name, (_, values) in CHOICES.items()} for _ in range(rows)]
    return pa.Table.from_pylist(chosen, SCHEMA)


def test_the_same_rows_in_any_order_and_any_pieces() -> None:
    table, draw = _table(1, 400), random.Random(2)
    whole, digest = in_content_order(table)
    for _ in range(5):
        order = draw.sample(range(len(table)), len(table))
        other = table.take(order)
        cut = draw.randrange(len(table))
        again, same = in_content_order(pa.concat_tables([other[:cut], other[cut:]]))
        assert same == digest and repr(again.to_pylist()) == repr(whole.to_pylist())


def test_rows_that_differ_anywhere_have_different_hashes() -> None:
    table = _table(3, 600)
    hashes = row_hashes(table)
    by_row: dict[str, set[int]] = {}
    for row, word in zip(table.to_pylist(), hashes, strict=True):
        by_row.setdefault(repr(row), set()).add(int(word))
    assert all(len(words) == 1 for words in by_row.values())
    assert len({min(words) for words in by_row.values()}) == len(by_row)
    assert in_content_order(table)[1] != in_content_order(table[1:])[1]
    assert row_hashes(table[17:90]).tolist() == hashes[17:90].tolist()


def test_no_rows_and_no_columns() -> None:
    assert in_content_order(SCHEMA.empty_table())[0].num_rows == 0
    bare = pa.table({"nothing": pa.nulls(3)})
    assert in_content_order(bare)[0].num_rows == 3
