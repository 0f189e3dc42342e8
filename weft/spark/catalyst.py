"""The front end of a classic session: Spark's own analyzer and plans, through the JVM handle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from weft.spark.analysis import Analyzed, PlanNode, analyze, catalyst_plan, frame_of, without_watermarks
from weft.spark.hooks import install
from weft.spark.residual import PythonResidual, python_residual
from weft.spark.shuttle import roll_call
from weft.spark.workers import check_workers
from weft.state import Care, open_folder

__all__ = ["CatalystFront"]


class CatalystFront:
    """See `weft.spark.front.FrontEnd`."""

    def analyze(
        self, left: DataFrame, right: DataFrame, on: str | Column, select: Sequence[str | Column] | None, suffix: str,
        aliases: tuple[str, str], unordered: bool = False,
    ) -> Analyzed:  # fmt: skip
        return analyze(left, right, on, select, suffix, aliases, unordered)

    def residual(self, analyzed: Analyzed) -> PythonResidual | None:
        return python_residual(analyzed)

    def plan(self, frame: DataFrame) -> PlanNode:
        return catalyst_plan(frame._jdf.queryExecution().analyzed())

    def bare(self, frame: DataFrame) -> tuple[DataFrame, bool]:
        plan, stayed = without_watermarks(frame.sparkSession, frame._jdf.queryExecution().analyzed())
        return frame_of(frame.sparkSession, plan), stayed

    def cores(self, spark: SparkSession) -> int:
        return max(1, spark.sparkContext.defaultParallelism)

    def check_workers(self, spark: SparkSession) -> None:
        check_workers(spark)

    def state_path(self, spark: SparkSession, path: str, care: Care) -> str:
        del spark
        folder = open_folder(path, care)
        folder.check_writable()
        return folder.path if folder.local else path  # executors may have another working directory

    def roll_call(self, spark: SparkSession, tasks: int) -> DataFrame:
        return roll_call(spark, tasks)

    def named_alike(self, observed: DataFrame) -> DataFrame:
        """Give the report an id that it shares with others: Spark refuses one name for two ids, and then shows one of them."""
        node: Any = observed._jdf.queryExecution().analyzed()
        *parts, _ = (node.productElement(number) for number in range(node.productArity()))
        return frame_of(observed.sparkSession, node.copy(*parts, -1))

    def hook(self) -> None:
        install()
