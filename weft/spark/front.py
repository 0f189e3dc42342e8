"""The two front ends of the Spark runtime, behind one protocol: what differs between a classic session and Spark Connect.

A classic session has a JVM handle, so Catalyst itself can be asked about expressions and plans. On Spark Connect there is none:
sqlglot reads the text, and the server is asked what it means. Everything else in `weft.spark` goes through PySpark's own
DataFrame, which is the same on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import Column, DataFrame, SparkSession

from weft.state import Care

if TYPE_CHECKING:
    from weft.spark.analysis import Analyzed, PlanNode
    from weft.spark.residual import PythonResidual

__all__ = ["FrontEnd", "front_of", "on_connect"]


class FrontEnd(Protocol):
    """What has to be asked of Spark beside its DataFrames."""

    def analyze(
        self, left: DataFrame, right: DataFrame, on: str | Column, select: Sequence[str | Column] | None, suffix: str,
        aliases: tuple[str, str], unordered: bool = False,
    ) -> Analyzed:  # fmt: skip
        """Take condition and selection apart; everything wrong with them is raised here."""

    def residual(self, analyzed: Analyzed) -> PythonResidual | None:
        """Return what words cannot decide, for Python workers; None if there is nothing."""

    def plan(self, frame: DataFrame) -> PlanNode:
        """Return the analyzed plan of a frame."""

    def bare(self, frame: DataFrame) -> tuple[DataFrame, bool]:
        """Return a frame without its watermarks, and whether some had to stay."""

    def cores(self, spark: SparkSession) -> int:
        """Return Spark's default parallelism."""

    def check_workers(self, spark: SparkSession) -> None:
        """Refuse a session whose Python workers cannot run Weft, as far as it can be known."""

    def state_path(self, spark: SparkSession, path: str, care: Care) -> str:
        """Return the path of a state folder as tasks have to open it; refuse one that cannot be written."""

    def roll_call(self, spark: SparkSession, tasks: int) -> DataFrame:
        """Return the stream that sends every task of every batch a message without content."""

    def named_alike(self, observed: DataFrame) -> DataFrame:
        """Let reports of several joins of one query have the same name."""

    def hook(self) -> None:
        """Let PySpark call Weft when a query starts, and so on (`weft.spark.hooks`)."""


def on_connect(given: DataFrame | SparkSession) -> bool:
    """Tell whether a frame or a session is one of Spark Connect."""
    return type(given).__module__.startswith("pyspark.sql.connect")


def front_of(given: DataFrame | SparkSession) -> FrontEnd:
    """Return the front end of a frame or a session."""
    if on_connect(given):
        from weft.spark.connect import ConnectFront

        return ConnectFront()
    from weft.spark.catalyst import CatalystFront

    return CatalystFront()
