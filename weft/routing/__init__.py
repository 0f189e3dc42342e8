"""Which tasks a tuple visits: one scheme per file, plans as pure data."""

from __future__ import annotations

from weft.routing.broadcast import BroadcastPlan
from weft.routing.documents.plan import DocumentPlan
from weft.routing.hash import HashPlan
from weft.routing.loop import next_plan
from weft.routing.matrix import MatrixPlan, best_shape
from weft.routing.plan import PLANS, Plan, plan_from_json
from weft.routing.range import RangePlan
from weft.routing.scheme import Notes, Scheme, TaskStats, TaskView
from weft.routing.schemes import SCHEMES, Broadcast, Hash, Matrix, Range, Split, scheme_named
from weft.routing.split import SplitPlan

__all__ = [
    "PLANS", "SCHEMES", "Broadcast", "BroadcastPlan", "DocumentPlan", "Hash", "HashPlan", "Matrix", "MatrixPlan",
    "Notes", "Plan", "Range", "RangePlan", "Scheme", "Split", "SplitPlan", "TaskStats", "TaskView", "best_shape",
    "next_plan", "plan_from_json", "scheme_named",
]  # fmt: skip
