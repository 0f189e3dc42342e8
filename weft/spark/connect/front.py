"""The front end of a Spark Connect session, which has no JVM handle, no SparkContext and no files of the server."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession

from weft.spark.analysis import Analyzed, PlanNode
from weft.spark.connect.analyze import analyze
from weft.spark.connect.hooks import install
from weft.spark.connect.plans import analyzed_plan, bare, named_alike
from weft.spark.connect.probe import checked_state, cores
from weft.spark.connect.residual import residual_of
from weft.spark.connect.roll_call import roll_call
from weft.spark.residual import PythonResidual
from weft.state import Care

__all__ = ["ConnectFront"]


class ConnectFront:
    """See `weft.spark.front.FrontEnd`."""

    def analyze(
        self, left: DataFrame, right: DataFrame, on: str | Column, select: Sequence[str | Column] | None, suffix: str,
        aliases: tuple[str, str], unordered: bool = False,
    ) -> Analyzed:  # fmt: skip
        return analyze(left, right, on, select, suffix, aliases, unordered)

    def residual(self, analyzed: Analyzed) -> PythonResidual | None:
        return residual_of(analyzed)

    def plan(self, frame: DataFrame) -> PlanNode:
        return analyzed_plan(frame)

    def bare(self, frame: DataFrame) -> tuple[DataFrame, bool]:
        return bare(frame)

    def cores(self, spark: SparkSession) -> int:
        return cores(spark)

    def check_workers(self, spark: SparkSession) -> None:
        cores(spark)

    def state_path(self, spark: SparkSession, path: str, care: Care) -> str:
        return checked_state(spark, path, care)

    def roll_call(self, spark: SparkSession, tasks: int) -> DataFrame:
        return roll_call(spark, tasks)

    def named_alike(self, observed: DataFrame) -> DataFrame:
        return named_alike(observed)

    def hook(self) -> None:
        install()
