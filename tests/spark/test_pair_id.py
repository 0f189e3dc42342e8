"""`pair_id=`: one key per row of the result, and the same one when its batch runs again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import weft
from tests.spark.streams import Desk
from weft.errors import SpecError

WINDOW = weft.within("4 seconds", on="ts", delay="2 seconds")
NEAR = "abs(l.x - r.x) <= 2"


def table(first: int, factor: int, rows: int = 30) -> pa.Table:
    """Return rows a second apart, some of them alike but for their id."""
    seconds = [first + number for number in range(rows)]
    times = pa.array([1_700_000_000_000_000 + 1_000_000 * second for second in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"id": seconds, "ts": times, "x": [second * factor % 11 for second in seconds]})


def both(desk: Desk) -> tuple[DataFrame, DataFrame]:
    sides = [desk.stream(name, [table(0, factor), table(30, factor)]) for name, factor in (("left", 3), ("right", 5))]
    return sides[0], sides[1]


def outer(desk: Desk) -> DataFrame:
    left, right = both(desk)
    return weft.join(
        left, right, on=f"{NEAR} AND l.id % 3 <> r.id % 3", how="full", window=WINDOW, pair_id="key",
        select=["l.id AS l", "r.id AS r"], tasks=2, state=desk.state,
    )  # fmt: skip


def residual(desk: Desk) -> DataFrame:
    left, right = both(desk)
    return weft.join(
        left, right, on=f"{NEAR} AND hash(l.id, r.id) % 2 = 0", window=WINDOW, pair_id="key", tasks=2, state=desk.state
    ).withColumnsRenamed({"id": "l", "id_right": "r"})


def shuffled(desk: Desk) -> DataFrame:
    left, right = (frame.repartition(3, "x") for frame in both(desk))
    joined = weft.join(left, right, on=NEAR, window=WINDOW, pair_id="key", tasks=2, state=desk.state)
    return joined.selectExpr("id AS l", "id_right AS r", "key")


def anti(desk: Desk) -> DataFrame:
    left, right = both(desk)
    joined = weft.join(
        left, right, on="l.x + 1 = r.x", how="anti", window=WINDOW, pair_id="key", tasks=2, state=desk.state
    )
    return joined.selectExpr("id AS l", "NULL AS r", "key")


def itself(desk: Desk) -> DataFrame:
    return weft.self_join(
        both(desk)[0], on="abs(a.x - b.x) <= 1 AND hash(a.id + b.id) % 3 <> 0", unordered=True, window=WINDOW, tasks=2,
        pair_id="key", select=["a.id AS l", "b.id AS r"], state=desk.state,
    )  # fmt: skip


def nearest(desk: Desk) -> DataFrame:
    left, right = both(desk)
    return weft.asof_join(
        left, right, on="ts", tolerance="1 second", strict=True, left_delay="1 second", right_delay="1 second", tasks=2,
        pair_id="key", select=["l.id AS l", "r.id AS r"], state=desk.state,
    )  # fmt: skip


def drained(frame: DataFrame, folder: Path) -> dict[int, list[tuple[Any, Any, str]]]:
    """Run a query until its input is used up; return the rows of each batch."""
    found: dict[int, list[tuple[Any, Any, str]]] = {}

    def keep(rows: DataFrame, batch: int) -> None:
        found[batch] = sorted(
            ((row["l"], row["r"], row["key"]) for row in rows.collect()), key=lambda row: (row[2], str(row))
        )

    writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(folder))
    writer.trigger(availableNow=True).start().awaitTermination()
    return found


@pytest.mark.parametrize("build", [outer, residual, shuffled, anti, itself, nearest])
def test_a_batch_that_runs_again_gives_the_same_keys(
    spark: SparkSession, tmp_path: Path, build: Callable[[Desk], DataFrame]
) -> None:
    frame, checkpoint = build(Desk(spark, tmp_path)), tmp_path / "checkpoint"
    first = drained(frame, checkpoint)
    rows = [row for batch in first.values() for row in batch]
    keys = {key for _, _, key in rows}
    assert len(rows) > 10 and len({(one, two) for one, two, _ in rows}) == len(rows)
    assert len(keys) == len(rows), "a key stands for two rows"
    assert len({key[:8] for key in keys}) == 1, "keys begin with the query"

    last = max(batch for batch in first if first[batch])
    for path in (checkpoint / "commits").iterdir():  # as after a kill behind the sink and before the commit
        number = int(path.name.strip(".").removesuffix(".crc")) if "metadata" not in path.name else -1
        if number >= last:
            path.unlink()
    for path in (checkpoint / "offsets").iterdir():
        if int(path.name.strip(".").removesuffix(".crc")) > last:
            path.unlink()
    again = drained(frame, checkpoint)
    assert again[last] == first[last]


def test_rows_of_one_batch_keep_their_key_in_the_next(spark: SparkSession, tmp_path: Path) -> None:
    """A row's part of the key says where it arrived, however late its partner comes."""
    rows = [row for batch in drained(outer(Desk(spark, tmp_path)), tmp_path / "c").values() for row in batch]
    parts: dict[tuple[str, int], set[str]] = {}
    for left, right, key in rows:
        _, one, two = key.split("-")
        assert (one == "") == (left is None) and (two == "") == (right is None)
        for side, row, part in (("l", left, one), ("r", right, two)):
            if row is not None:
                parts.setdefault((side, row), set()).add(part)
    assert all(len(found) == 1 for found in parts.values())
    assert len(set.union(*(found for (side, _), found in parts.items() if side == "l"))) == 60


def test_static_frames_have_keys_too(spark: SparkSession) -> None:
    left, right = (spark.range(40).selectExpr("id", f"id * {factor} % 11 AS x") for factor in (3, 5))
    rows = weft.join(left, right, on=NEAR, pair_id="key").collect()
    assert len(rows) > 300 and len({row["key"] for row in rows}) == len(rows)


def test_a_query_without_keys_pays_nothing_and_one_with_keys_is_another(spark: SparkSession, tmp_path: Path) -> None:
    desk = Desk(spark, tmp_path)
    left, right = both(desk)
    plain = weft.join(left, right, on=NEAR, window=WINDOW, tasks=2, state=desk.state)
    assert drained(plain.selectExpr("id AS l", "id_right AS r", "'' AS key"), tmp_path / "checkpoint")
    assert not any(b"row batch" in path.read_bytes() for path in tmp_path.glob("state/*/0/*.json"))
    keyed = weft.join(left, right, on=NEAR, window=WINDOW, tasks=2, state=desk.state, pair_id="key")
    with pytest.raises(Exception, match="row place"):
        drained(keyed.selectExpr("id AS l", "id_right AS r", "key"), tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "checkpoint")


def test_a_stream_with_a_table_has_no_keys(spark: SparkSession, tmp_path: Path) -> None:
    desk = Desk(spark, tmp_path)
    with pytest.raises(SpecError, match="needs two streams or two static frames"):
        weft.join(both(desk)[0], spark.range(3), on="l.id = r.id", pair_id="key", state=desk.state)


@pytest.mark.parametrize(
    ("name", "said"), [("ID", "already has a column named 'ID'"), ("", "is not a column name"), (3, "is not a column name")]
)  # fmt: skip
def test_a_wrong_name_is_refused(spark: SparkSession, name: Any, said: str) -> None:
    frame = spark.range(3)
    with pytest.raises(SpecError, match=said):
        weft.join(frame, frame.alias("other"), on="l.id < r.id", pair_id=name)
