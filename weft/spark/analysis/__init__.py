"""What Spark's analyzer says of a join: the condition taken apart, what each side sends, time and order of the inputs."""

from __future__ import annotations

from weft.spark.analysis.analyze import (
    SELF,
    Analyzed,
    Output,
    analyze,
    check_asked,
    check_relates,
    check_selected,
    no_collision,
    same_frame,
)
from weft.spark.analysis.complaints import explain_analysis, untold
from weft.spark.analysis.inputs import (
    SAME,
    Again,
    SideInput,
    arrow_schema,
    check_is_window,
    check_time_columns,
    day_as,
    self_inputs,
    side_input,
    when_computed_again,
)
from weft.spark.analysis.plans import PlanNode, catalyst_plan, functions_in, plan_from_text, watermarked
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
    without_watermarks,
)

__all__ = [
    "DELAY", "ENDLESS", "LAG", "SAME", "SELF", "Again", "Analyzed", "Carried", "Node", "Output", "PlanNode",
    "SideInput", "actual_name", "analyze", "arrow_schema", "catalyst_plan", "check_asked", "check_is_window",
    "check_relates", "check_selected", "check_time_columns", "children", "day_as", "explain_analysis", "frame_of",
    "functions_in", "kind", "no_collision", "plan_from_text", "quoted", "same_frame", "self_inputs", "side_input",
    "spark_delay", "stripped", "time_orders", "type_of", "untold", "watermarked", "when_computed_again",
    "without_watermarks",
]  # fmt: skip
