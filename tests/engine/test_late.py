"""Which rows move the watermark, and which rows behind it are counted: small cases, told one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest

import weft
from weft.local import Join
from weft.routing import Scheme
from weft.state import MemoryStore
from weft.types import SIDES

SCHEMA = pa.schema({"x": pa.int64(), "hi": pa.int64(), "t": pa.int64()})


def late(on: str, batches: list[tuple[list, list]], tasks: int = 3, scheme: str | Scheme = "auto") -> dict[str, int]:
    """Feed batches of (x, hi, t) and return the late rows per side."""
    join = Join(SCHEMA, SCHEMA, on=on, window=weft.within(1, on="t", delay=0), tasks=tasks, scheme=scheme)
    for batch in batches:
        rows = [[dict(zip(SCHEMA.names, row, strict=True)) for row in side] for side in batch]
        list(join.feed(*([pa.Table.from_pylist(side, SCHEMA)] for side in rows)))
    assert isinstance(join.store, MemoryStore)
    return {side: sum(metrics["late"][side] for metrics in join.store.metrics.values()) for side in SIDES}


def test_a_row_behind_the_slower_side_is_late():
    assert late("l.x < r.x", [([(1, 1, 10)], [(1, 1, 5)]), ([(1, 1, 4), (1, 1, 5)], [(1, 1, 6)])]) == {
        "left": 1,
        "right": 0,
    }


def test_nothing_is_late_in_the_first_batch():
    assert late("l.x < r.x", [([(1, 1, 10), (1, 1, 0)], [(1, 1, 10), (1, 1, 0)])]) == {"left": 0, "right": 0}


def test_nothing_is_late_while_one_side_is_silent():
    assert late("l.x < r.x", [([(1, 1, 10)], []), ([(1, 1, 0)], [])]) == {"left": 0, "right": 0}


def test_a_row_whose_key_is_null_moves_the_watermark():
    assert late("l.x < r.x", [([(None, 1, 10)], [(None, 1, 10)]), ([(1, 1, 9)], [])]) == {"left": 1, "right": 0}


def test_a_late_row_whose_key_is_null_is_counted():
    assert late("l.x < r.x", [([(1, 1, 10)], [(1, 1, 10)]), ([(None, 1, 9)], [(None, 1, 3)])]) == {
        "left": 1,
        "right": 1,
    }


def test_a_row_without_time_moves_nothing_and_is_never_late():
    assert late("l.x < r.x", [([(1, 1, None)], [(1, 1, 10)]), ([(1, 1, 1)], [(1, 1, None)])]) == {"left": 0, "right": 0}


def test_a_row_that_its_own_condition_refuses_is_not_there():
    batches: list[tuple[list, list]] = [([(9, 1, 10)], [(1, 1, 10)]), ([(1, 1, 5), (9, 1, 5)], [])]
    assert late("l.x < r.x AND l.x < 5", batches) == {"left": 0, "right": 0}
    batches = [([(1, 1, 10)], [(1, 1, 10)]), ([(1, 1, 5), (9, 1, 5)], [])]
    assert late("l.x < r.x AND l.x < 5", batches) == {"left": 1, "right": 0}


@pytest.mark.parametrize("tasks", [1, 3, 5])
def test_a_late_row_that_no_task_wants_is_still_counted(tasks):
    """An empty interval (from 9 to 1) is kept nowhere and asks nobody once ranges are cut."""
    first: tuple[list, list] = ([(x, x + 1, 10) for x in range(9)], [(x, x, 10) for x in range(9)])
    batches = [first, first, first, ([(9, 1, 5)], [])]
    scheme = weft.schemes.Range(enough=1, imbalance=1.0)
    assert late("r.x BETWEEN l.x AND l.hi", batches, tasks, scheme) == {"left": 1, "right": 0}


def test_the_delay_that_keeps_a_late_row_is_told_from_its_own_side():
    """The watermark may be the other side's: what counts is how far the row is behind the newest of its own."""
    window = weft.within(1, on="t", delay=1)
    join = Join(SCHEMA, SCHEMA, on="l.x < r.x", window=window)
    rows = lambda *times: pa.table({"x": [1] * len(times), "hi": [1] * len(times), "t": list(times)}, schema=SCHEMA)
    list(join.feed(rows(100), rows(50)))
    (shipment,) = [s for s in join.run._route({"left": [rows(40)], "right": []})[0] if s.header is not None]
    assert shipment.header is not None and (shipment.header.late, shipment.header.behind) == (1, 60)
    kept = weft.within(1, on="t", left_delay=60, right_delay=1)
    join = Join(SCHEMA, SCHEMA, on="l.x < r.x", window=kept)
    list(join.feed(rows(100), rows(50)))
    (shipment,) = [s for s in join.run._route({"left": [rows(40)], "right": []})[0] if s.header is not None]
    assert shipment.header is not None and shipment.header.late == 0


def test_a_partition_in_another_order_has_another_content():
    """Rows draw by their position, so it is routed otherwise; the same order has the same content."""
    join = Join(SCHEMA, SCHEMA, on="l.x < r.x", tasks=4, scheme="matrix")
    table = pa.table({"x": list(range(8)), "hi": [1] * 8, "t": [1] * 8}, schema=SCHEMA)
    turned = table.take(list(range(7, -1, -1)))
    contents = []
    for each in (table, turned, table):
        routed = join.run._route({"left": [each], "right": []})[0]
        contents += [shipment.header.content for shipment in routed if shipment.header is not None]
    assert contents[0] == contents[2] != contents[1]
