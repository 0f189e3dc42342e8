"""Frames of a Spark Connect session: the client's own plan, a tree of Python objects, and the server's, as it explains it."""

from __future__ import annotations

import copy
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.connect import plan as client
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame

from weft.spark.analysis import PlanNode, plan_from_text, watermarked

__all__ = ["analyzed_plan", "bare", "named_alike"]

_ROW_BY_ROW = (
    client.Project, client.Filter, client.WithColumns, client.WithColumnsRenamed, client.Drop, client.SubqueryAlias,
    client.ToDF, client.ToSchema, client.Hint, client.MapPartitions, client.Repartition, client.RepartitionByExpression,
    client.CollectMetrics,
)  # fmt: skip
"""Operators that need no watermark below them; a union is another one."""


def analyzed_plan(frame: DataFrame) -> PlanNode:
    """Return the plan that the server makes of a frame."""
    return plan_from_text(frame._explain_string(extended=True))  # type: ignore[operator]


def bare(frame: DataFrame) -> tuple[DataFrame, bool]:
    """Return a frame without its watermarks, and whether some had to stay: those of Spark's own operators, and of views."""
    if not frame.isStreaming:
        return frame, False
    given: Any = frame
    made: DataFrame = ConnectDataFrame(_without_watermarks(given._plan), given._session)
    return made, watermarked(analyzed_plan(made))


def _without_watermarks(plan: Any) -> Any:
    if isinstance(plan, client.WithWatermark):
        return _without_watermarks(plan._child)
    union = isinstance(plan, client.SetOperation) and plan.set_op == "union"
    if not (union or isinstance(plan, _ROW_BY_ROW)):
        return plan
    made = copy.copy(plan)  # it keeps its id, by which columns of the frame find it
    made._child = _without_watermarks(plan._child)
    if union:
        made.other = _without_watermarks(plan.other)
    return made


def named_alike(observed: DataFrame) -> DataFrame:
    """Let reports of several joins of one query have the same name: Spark refuses it unless they have one id."""
    given: Any = observed
    given._plan._root_plan_id = -1
    return observed.select("*")  # so that no two frames of the user have the same id
