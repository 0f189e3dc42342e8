"""Inputs whose rows differ when they are computed again: what Weft knows of them, and that no task takes them for the same."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import weft
from tests.spark.streams import Desk
from weft.spark.analysis import Again, when_computed_again
from weft.spark.route_task import settled


def again(frame: DataFrame) -> Again:
    return when_computed_again(frame, by_arrival=False)


def test_plans_tell_what_may_differ(spark: SparkSession, tmp_path) -> None:
    spark.range(4).write.parquet(str(tmp_path / "in"))
    plain = spark.readStream.schema("id long").parquet(str(tmp_path / "in"))
    doubled = F.udf(lambda x: 2 * x, "long")

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches

    assert again(plain.where("id > 1").selectExpr("id + 1 AS id", "upper('x')")) == (False, False)
    assert again(plain.repartition(3)) == (True, False)
    assert again(plain.withColumn("u", F.rand())) == (False, True)
    assert again(plain.selectExpr("id", "uuid() AS u").where("id > 1")) == (False, True)
    assert again(plain.withColumn("u", doubled("id"))) == (False, True)
    assert again(plain.mapInArrow(same, "id long")) == (False, True)
    assert again(plain.groupBy("id").count().withColumn("u", F.rand())) == (True, True)


def test_a_join_of_ours_gives_the_same_pairs_again(spark: SparkSession, tmp_path) -> None:
    desk = Desk(spark, tmp_path)
    stream = desk.stream("in", [pa.table({"id": [1, 2]})])
    joined = weft.self_join(stream.withColumn("u", F.rand()), on="a.id < b.id", window=weft.last(5), state=desk.state)
    assert again(joined) == (False, False)


@pytest.mark.parametrize("order", [False, True])
def test_other_values_have_another_digest(order: bool) -> None:
    def digest(values: list[float]) -> str:
        batch = pa.record_batch({"key": [1, 2, 3], "noise": values})
        return "".join(told for _, told in settled([batch], whole=False, again=Again(order, True)))

    assert digest([0.1, 0.2, 0.3]) == digest([0.1, 0.2, 0.3]) != digest([0.1, 0.2, 0.4])
    assert digest([0.1, 0.2, 0.3])
