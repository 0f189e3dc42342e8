"""What Spark's analyzer says of a join: the condition taken apart, what each side sends, time and order of the inputs."""

from __future__ import annotations

from weft.spark.analysis.analyze import SELF, Analyzed, Output, analyze
from weft.spark.analysis.inputs import (
    SideInput,
    arrives_in_any_order,
    arrow_schema,
    check_is_window,
    check_time_columns,
    day_as,
    self_inputs,
    side_input,
)
from weft.spark.analysis.tree import Node, children, frame_of, kind, type_of
from weft.spark.analysis.watermarks import (
    DELAY,
    ENDLESS,
    LAG,
    Carried,
    actual_name,
    quoted,
    spark_delay,
    stripped,
    time_orders,
)

__all__ = [
    "DELAY", "ENDLESS", "LAG", "SELF", "Analyzed", "Carried", "Node", "Output", "SideInput", "actual_name", "analyze",
    "arrives_in_any_order", "arrow_schema", "check_is_window", "check_time_columns", "children", "day_as", "frame_of", "kind",
    "quoted", "self_inputs", "side_input", "spark_delay", "stripped", "time_orders", "type_of",
]  # fmt: skip
