"""A query on Spark with its state on a real S3 server: the same pairs, and few requests."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import weft
from tests.s3 import serving
from tests.spark.streams import Desk
from tests.state.batches import ON, WINDOW, expected, rows
from weft.errors import SpecError
from weft.observe import inspect_query
from weft.types import SIDES

BATCHES, TASKS = 12, 4


@pytest.mark.timeout(600)
def test_pairs_and_requests(spark, tmp_path: Path) -> None:
    desk = Desk(spark, tmp_path)
    left, right = (desk.stream(side, [rows(side, batch, 400) for batch in range(BATCHES)]) for side in SIDES)
    (tmp_path / "s3").mkdir()
    with serving(tmp_path / "s3") as s3:
        select = ["l.id AS a", "r.id AS b"]
        frame = weft.join(left, right, on=ON, window=WINDOW, tasks=TASKS, state=s3.uri(), select=select)
        s3.proxy.forget()
        pairs = desk.run(frame)
        kinds = s3.proxy.kinds()
        assert kinds.total() / BATCHES <= 4 * TASKS + 10, kinds
        view = inspect_query(s3.uri(direct=True))
        assert view.last_good == view.last_batch == BATCHES - 1 and not view.damage
    whole = (pa.concat_tables([rows(side, batch, 400) for batch in range(BATCHES)]) for side in SIDES)
    wanted = weft.local.join(*whole, on=ON, window=WINDOW, select=select)
    order = [("a", "ascending"), ("b", "ascending")]
    assert pairs.num_rows and pairs.sort_by(order).equals(wanted.sort_by(order).cast(pairs.schema))


@pytest.mark.parametrize(("key", "value"), [("durability", "eternal"), ("cache.bytes", "8g")])
def test_settings_that_mean_nothing_are_refused_when_the_join_is_built(
    spark, tmp_path: Path, key: str, value: str
) -> None:
    desk = Desk(spark, tmp_path)
    left, right = (desk.stream(side, [rows(side, 0)]) for side in SIDES)
    spark.conf.set(f"spark.weft.{key}", value)
    with pytest.raises(SpecError, match=f"spark.weft.{key} is '{value}'"):
        weft.join(left, right, on=ON, window=WINDOW, state=desk.state)


def test_synced_state_gives_the_same_pairs(spark, tmp_path: Path) -> None:
    desk = Desk(spark, tmp_path)
    left, right = (desk.stream(side, [rows(side, batch) for batch in range(3)]) for side in SIDES)
    spark.conf.set("spark.weft.durability", "power")
    frame = weft.join(left, right, on=ON, window=WINDOW, tasks=2, state=desk.state, select=["l.id AS a", "r.id AS b"])
    assert sorted((row["a"], row["b"]) for row in desk.run(frame).to_pylist()) == expected(3)
