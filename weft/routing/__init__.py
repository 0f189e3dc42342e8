"""Which tasks a tuple visits: one scheme per file, plans as pure data."""

from __future__ import annotations

from weft.routing.adsp import Adsp, AreaPlan, Ordered
from weft.routing.biclique import Biclique, BicliquePlan
from weft.routing.broadcast import BroadcastPlan
from weft.routing.chain import ChainPlan
from weft.routing.chained import Chained, Pim
from weft.routing.contrand import ContRand
from weft.routing.documents.plan import DocumentPlan
from weft.routing.dynamic import Dynamic
from weft.routing.fastjoin import FastJoin
from weft.routing.fastjoin_plan import FastJoinPlan
from weft.routing.hash import HashPlan
from weft.routing.loop import next_plan
from weft.routing.matrix import MatrixPlan, best_shape
from weft.routing.plan import PLANS, Plan, plan_from_json
from weft.routing.predictor import Sta
from weft.routing.randomly import Random
from weft.routing.range import RangePlan
from weft.routing.readj import Readj, ReadjPlan
from weft.routing.scheme import Notes, Scheme, TaskStats, TaskView
from weft.routing.schemes import SCHEMES, Broadcast, Hash, Matrix, Range, Split, scheme_named
from weft.routing.slices import SlicePlan, Slices
from weft.routing.split import SplitPlan
from weft.routing.square import Square
from weft.routing.sta import StaPlan

__all__ = [
    "PLANS", "SCHEMES", "Adsp", "AreaPlan", "Biclique", "BicliquePlan", "Broadcast", "BroadcastPlan", "ChainPlan",
    "Chained", "ContRand", "DocumentPlan", "Dynamic", "FastJoin", "FastJoinPlan", "Hash", "HashPlan", "Matrix",
    "MatrixPlan", "Notes", "Ordered", "Pim", "Plan", "Random", "Range", "RangePlan", "Readj", "ReadjPlan", "Scheme", "SlicePlan",
    "Slices", "Split", "SplitPlan", "Square", "Sta", "StaPlan", "TaskStats", "TaskView", "best_shape", "next_plan",
    "plan_from_json", "scheme_named",
]  # fmt: skip
