"""Which tasks a tuple visits. A scheme makes plans, a plan routes; plans are pure data.

`plan` and `scheme` say what they are, `placement` is what plans share, `registry` knows all schemes by name. A simple scheme is
one file, the simplest four share `fixed`; a family has a folder: `fastjoin`, `adsp`, `sta`, and `documents` for natural joins.
"""

from __future__ import annotations

from weft.routing.adsp import Adsp, AreaPlan, Ordered
from weft.routing.asof import AsofPlan, AsofScheme, noted
from weft.routing.biclique import Biclique, BicliquePlan, OverBiclique
from weft.routing.conditions import Need, compared_columns, equality_columns, ordering, time_columns
from weft.routing.documents import DocumentPlan
from weft.routing.fastjoin import FastJoin, FastJoinPlan
from weft.routing.fixed import (
    Broadcast,
    BroadcastPlan,
    Hash,
    HashPlan,
    Matrix,
    MatrixPlan,
    Split,
    SplitPlan,
    best_shape,
)
from weft.routing.plan import MOST_TASKS, PLANS, PLUGINS, Plan, draw_of, group_of, hash_home, owned, plan_from_json
from weft.routing.range import Range, RangePlan
from weft.routing.regions import Regions
from weft.routing.scheme import SCHEMES, BatchView, Notes, Scheme, TaskStats, find_schemes, scheme_named
from weft.routing.slices import SlicePlan, Slices
from weft.routing.sta import Sta, StaPlan

__all__ = [
    "MOST_TASKS", "PLANS", "PLUGINS", "SCHEMES", "Adsp", "AreaPlan", "AsofPlan", "AsofScheme", "BatchView",
    "Biclique", "BicliquePlan", "Broadcast", "BroadcastPlan", "DocumentPlan", "FastJoin", "FastJoinPlan", "Hash",
    "HashPlan", "Matrix", "MatrixPlan", "Need", "Notes", "Ordered", "OverBiclique", "Plan", "Range", "RangePlan",
    "Regions", "Scheme", "SlicePlan", "Slices", "Split", "SplitPlan", "Sta", "StaPlan", "TaskStats", "best_shape",
    "compared_columns", "draw_of", "equality_columns", "group_of", "hash_home", "noted", "ordering", "owned",
    "plan_from_json", "scheme_named", "time_columns",
]  # fmt: skip

find_schemes(__path__, __name__)
