"""What a Python worker has loaded is set aside from the garbage collector, more and more seldom."""

from __future__ import annotations

import gc
from itertools import count

import pytest

from weft.spark import workers


@pytest.fixture
def thawed():
    """Give back to the collector what the test has set aside."""
    yield
    gc.unfreeze()


def test_tasks_set_aside_what_is_loaded_at_powers_of_two(monkeypatch, thawed) -> None:
    monkeypatch.setattr(workers, "_TASKS", count(1))
    frozen = []
    for task in range(1, 70):
        gc.unfreeze()
        workers.begin_task()
        if gc.get_freeze_count():
            frozen.append(task)
    assert frozen == [1, 2, 4, 8, 16, 32, 64]


def test_workers_of_a_join_have_nothing_left_to_walk(spark, tmp_path) -> None:
    """The modules, Numba's and PyArrow's among them, are some hundred thousand objects."""
    import weft

    left, right = (spark.range(20).selectExpr("id", "id % 3 AS k") for _ in range(2))
    weft.join(left, right, on="l.k < r.k").count()

    def counted(_):
        import pyarrow as pa

        yield pa.record_batch([pa.array([gc.get_freeze_count()])], names=["frozen"])

    found = spark.range(8, numPartitions=8).mapInArrow(counted, "frozen long").collect()
    assert max(row.frozen for row in found) > 50_000
