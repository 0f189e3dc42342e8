"""A copied checkpoint is refused, and which inputs are brought into the order of their content."""

from __future__ import annotations

import shutil
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import weft
from tests.spark.streams import Desk
from weft.errors import StateError
from weft.spark.analysis import when_computed_again

WEFT: Any = weft


def _table(start: int) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + 5)), "x": pa.array([value % 3 for value in range(5)])})


def _frame(desk: Desk) -> Any:
    frames = [desk.stream(side, [_table(0)]) for side in ("left", "right")]
    options: dict[str, Any] = {"on": "l.x = r.x", "window": weft.unbounded(), "tasks": 2, "state": desk.state}
    return WEFT.join(*frames, select=["l.id AS x", "r.id AS y"], **options)


def test_a_copy_of_a_checkpoint_does_not_go_on_from_the_same_state(spark, tmp_path) -> None:
    """The copy would lose rows of the original, and gain some that it never read. Moved, it goes on."""
    desk = Desk(spark, tmp_path)
    desk.run(_frame(desk))
    shutil.copytree(tmp_path / "out-checkpoint", tmp_path / "copy-checkpoint", copy_function=shutil.copyfile)
    with pytest.raises(StateError, match=r"is a copy of it\. Both have the same query id"):
        desk.start(_frame(desk), "copy")
    for side in ("left", "right"):
        desk.add(side, 1, _table(100))
    assert desk.run(_frame(desk)).num_rows == 4 * desk_pairs()
    shutil.move(tmp_path / "out-checkpoint", tmp_path / "moved-checkpoint")
    desk.start(_frame(desk), "moved").awaitTermination()


def desk_pairs() -> int:
    """Return the pairs of one table with itself: 2, 2 and 1 rows of each key."""
    return 2 * 2 + 2 * 2 + 1


def test_which_inputs_arrive_in_any_order(spark, tmp_path) -> None:
    stream = Desk(spark, tmp_path).stream("left", [_table(0)])
    static = spark.range(5)
    same = [
        stream, stream.where("x > 1").select("id"), stream.union(stream), stream.coalesce(1), static.orderBy("id"),
        spark.createDataFrame([(1,)], "a int"), _frame(Desk(spark, tmp_path)),
        _frame(Desk(spark, tmp_path)).selectExpr("x + 1 AS x"),
    ]  # fmt: skip
    varies = [
        stream.repartition(2), stream.repartition("x"), stream.groupBy("x").agg(F.count("*").alias("n")),
        stream.dropDuplicates(["id"]), stream.join(static, "id"), static.distinct(), static.repartition(3),
        stream.repartition(2).where("x > 1"),
    ]  # fmt: skip
    assert [when_computed_again(frame, by_arrival=False).order for frame in same] == [False] * len(same)
    assert [when_computed_again(frame, by_arrival=False).order for frame in varies] == [True] * len(varies)
    assert not when_computed_again(stream.join(static, "id"), by_arrival=True).order
