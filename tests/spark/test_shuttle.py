"""Messages between route and join: cut into slices, put together again, told apart whoever sent them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from weft.engine import Delivery, pack_delivery
from weft.spark import shuttle
from weft.spark.join_task import Inbox
from weft.spark.shuttle import SHIPPED, Outbox
from weft.types import SIDES, Block, Side


def delivery(side: Side, task: int, rows: int) -> Delivery:
    words = np.arange(rows, dtype=np.int64)[None, :] + 1000 * task
    payload = pa.table({"text": [f"{side} {task} {number}" for number in range(rows)]})
    return Delivery(task, side, Block(words, np.arange(rows, dtype=np.uint32), payload), np.full(rows, 7, np.uint8))


@pytest.mark.parametrize("size", [64, 1000, 1 << 22])
def test_slices_come_together_whatever_their_order(monkeypatch, size) -> None:
    """Both sides ship from one partition, as a union of single partitions has it run."""
    monkeypatch.setattr(shuttle, "SLICE", size)
    monkeypatch.setattr(shuttle, "_TOGETHER", 3)
    shipped: list[pa.RecordBatch] = []
    for side in SIDES:
        outbox = Outbox(0, side)
        for piece, rows in enumerate((1, 50, 3)):
            made = [delivery(side, task, rows) for task in range(3)]
            shipped += outbox.ship(
                (each.task, partial(pack_delivery, delivery=each, partition=0, piece=piece)) for each in made
            )
    table = pa.Table.from_batches(shipped, SHIPPED)
    order = np.random.default_rng(size).permutation(table.num_rows)
    for task in range(3):
        mine = [row for row in order if table.column("task")[int(row)].as_py() == task]
        inbox = Inbox(task, 0, None, table.take(pa.array(mine)).to_batches())
        found = inbox.shipments()
        got = {(s.side, s.piece): s.delivery for s in found}
        assert len(found) == len(got) == 6
        for (side, piece), each in got.items():
            assert each is not None
            wanted = delivery(side, task, (1, 50, 3)[piece])
            assert each.block.payload.equals(wanted.block.payload)
            assert np.array_equal(each.block.words, wanted.block.words)


def test_nothing_is_shipped_when_there_is_nothing() -> None:
    assert list(Outbox(3, "left").ship([])) == []
