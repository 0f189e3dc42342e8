"""FastJoin: keys move from the heaviest to the lightest task, and keys too hot for one task are split (003).

`scheme` has the loop, `notes` what tasks tell, `monitor` the decision by a `load_model`, `plan` the routing table and the keys
on several tasks.
"""

from __future__ import annotations

from weft.routing.fastjoin.load_model import Pair, Selection, greedy_fit, load_imbalance, loads_of, scaling_gain_ratio
from weft.routing.fastjoin.monitor import load_table
from weft.routing.fastjoin.notes import (
    LONGEST,
    SAMPLE,
    SUBWINDOWS,
    KeyCounts,
    count_keys,
    kept_counts,
    phi_counts,
    watch_keys,
)
from weft.routing.fastjoin.plan import FastJoinPlan, SplitKey, TaskGrid, shapes_of
from weft.routing.fastjoin.scheme import FastJoin

__all__ = [
    "LONGEST",
    "SAMPLE",
    "SUBWINDOWS",
    "FastJoin",
    "FastJoinPlan",
    "KeyCounts",
    "Pair",
    "Selection",
    "SplitKey",
    "TaskGrid",
    "count_keys",
    "greedy_fit",
    "kept_counts",
    "load_imbalance",
    "load_table",
    "loads_of",
    "phi_counts",
    "scaling_gain_ratio",
    "shapes_of",
    "watch_keys",
]  # fmt: skip
