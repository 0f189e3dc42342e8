"""Refusals come before data, and errors of tasks reach the driver as Weft's own three lines."""

from __future__ import annotations

import shutil
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

import weft
from tests.spark.streams import Desk
from weft.errors import SpecError, StateError, StateMismatch
from weft.state import open_folder

LEFT = pa.table({"id": [1, 2, 3], "price": [1.0, 2.0, 3.0]})
RIGHT = pa.table({"id": [1, 2], "bid": [1.5, 2.5]})
SELECT = ("l.id AS x", "r.id AS y")


@pytest.fixture
def desk(spark, tmp_path):
    return Desk(spark, tmp_path)


def _joined(desk, on="l.price < r.bid", window=None, select=SELECT):
    left, right = desk.stream("left", [LEFT]), desk.stream("right", [RIGHT])
    return weft.join(
        left, right, on=on, window=window or weft.last(9, order="id"), select=list(select), tasks=2, state=desk.state
    )  # fmt: skip


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "condition": ({"on": "l.price > r.bid"}, "condition: was '(l.price < r.bid)', is '(l.price > r.bid)'"),
    "window": ({"window": weft.last(8, order="id")}, "window: was 'the last 9 rows"),
    "selection": ({"select": ("l.*", "r.id AS y")}, "left schema: was 'id bigint', is 'id bigint, price double'"),
}


@pytest.mark.parametrize("data", [True, False], ids=["new data", "no new data"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_restart_with_another_join_is_refused_when_it_starts(desk, change, data):
    options, told = CHANGES[change]
    desk.run(_joined(desk))
    if data:
        desk.add("left", 1, LEFT)
    with pytest.raises(StateMismatch) as refused:
        desk.start(_joined(desk, **options).where(F.col("y") > 0))
    what, there_is, hint = str(refused.value).splitlines()
    assert what.endswith("belongs to another join.")
    assert there_is.startswith(f"What changed: {told}")
    assert hint == "Hint: restart with the join that wrote it, or give the new join a new checkpoint location."
    assert not desk.spark.streams.active


def test_a_restart_with_another_delay_is_refused_when_it_starts(desk):
    def timed(delay):
        ticks = LEFT.append_column("t", pa.array([1, 2, 3]))
        left, right = desk.stream("one", [ticks]), desk.stream("two", [ticks])
        return weft.join(
            left, right, on="l.id < r.id", window=weft.within(5, on="t", delay=delay), tasks=2, state=desk.state
        )  # fmt: skip

    desk.run(timed(1))
    with pytest.raises(StateMismatch, match=r"window: was 'r.t from 5 before to 5 after l.t, delay 1', is '.*delay 2'"):
        desk.start(timed(2))


def test_a_checkpoint_without_its_state_is_refused_when_it_starts(desk):
    desk.run(_joined(desk))
    shutil.rmtree(desk.folder / "state")
    with pytest.raises(StateError, match=r"whose state is not in .*\nIt has finished batch 0"):
        desk.start(_joined(desk))


def test_an_error_of_a_task_is_three_lines_on_the_driver(desk):
    desk.run(_joined(desk))
    (folder,) = (desk.folder / "state").iterdir()
    open_folder(str(folder / "1")).delete("0.json")
    desk.add("left", 1, LEFT)
    query = desk.start(_joined(desk))
    with pytest.raises(StateError) as raised:
        query.awaitTermination()
    found = query.exception()
    assert isinstance(raised.value, StreamingQueryException)
    assert isinstance(found, StateError)
    for text in (str(raised.value), str(found)):
        lines = text.splitlines()
        assert lines[0].endswith("1/0.json is missing.")
        assert lines[1].startswith("It records the state of task 1 after batch 0")
        assert lines[2].startswith("Hint: restore the state folder")
        assert "MapInArrow" not in text and len(text) < 900


def test_errors_of_others_stay_as_they_are(desk):
    left = desk.stream("left", [LEFT]).where(F.expr("assert_true(id < 0) IS NULL"))
    query = desk.start(left)
    with pytest.raises(StreamingQueryException, match="STREAM_FAILED") as raised:
        query.awaitTermination()
    assert not isinstance(raised.value, weft.WeftError)


def test_conditions_that_cannot_be_analyzed_leave_nothing_on_stderr(desk, capfd):
    left, right = desk.stream("left", [LEFT]), desk.stream("right", [RIGHT])
    for options in ({"on": "l.prize < r.bid"}, {"on": "l.price <"}, {"on": "l.id = r.id", "select": ["l.nothing"]}):
        with pytest.raises(SpecError):
            weft.join(left, right, window=weft.unbounded(), state=desk.state, **options)
    assert capfd.readouterr().err == ""


def test_a_frame_joined_with_itself_by_its_own_columns_is_a_self_join(desk):
    left = desk.stream("left", [LEFT])
    with pytest.raises(
        SpecError, match=r"both are the same frame.\n.*\nHint: write weft.self_join\(frame, on='a.x < b.x'\)"
    ):
        weft.join(left, left, on=left.price < left.price, window=weft.unbounded(), state=desk.state)


def test_a_batch_that_foreach_batch_reads_in_part_is_not_committed(desk):
    """Its state is not whole: the batch fails, is not committed, and can be joined again."""
    place = str(desk.folder / "checkpoint")

    def run(consume):
        writer = _joined(desk).writeStream.foreachBatch(consume).option("checkpointLocation", place)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    with pytest.raises(
        StreamingQueryException, match="foreachBatch did not read all of batch 0: 1 of 2 join tasks never ran"
    ):
        run(lambda frame, number: frame.take(1))
    assert not (desk.folder / "checkpoint" / "commits" / "0").exists()
    seen = []
    run(lambda frame, number: seen.extend(frame.collect()))
    assert len(seen) == 3  # prices 1 and 2 are below a bid of 2.5, price 1 below 1.5
