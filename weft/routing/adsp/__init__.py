"""A-DSP, the adaptive join matrix: areas of the ordered tuple matrix, each a varietal matrix of tasks (001).

One algorithm of the paper per file: `varietal` (1), `dichotomy` (2) on a `staircase`, `plan` (3), `mapping` (4) and
`migration` (5).
"""

from __future__ import annotations

from weft.routing.adsp.area import EVERY, Area, lay
from weft.routing.adsp.chain import chain
from weft.routing.adsp.dichotomy import partition, worst_case
from weft.routing.adsp.division import SPACE, Division
from weft.routing.adsp.generate import Layout, fitting, generate, place
from weft.routing.adsp.histogram import Histogram
from weft.routing.adsp.mapping import Mass, assign, cells_kept, greedy_pairs, optimal_pairs
from weft.routing.adsp.migration import Move, migration, volume
from weft.routing.adsp.order import ordering
from weft.routing.adsp.ordered import Ordered
from weft.routing.adsp.plan import AreaPlan
from weft.routing.adsp.scheme import Adsp
from weft.routing.adsp.staircase import Staircase
from weft.routing.adsp.varietal import Varietal, regular_tasks, task_counts, varietal

__all__ = [
    "EVERY", "SPACE", "Adsp", "Area", "AreaPlan", "Division", "Histogram", "Layout", "Mass", "Move", "Ordered",
    "Staircase", "Varietal", "assign", "cells_kept", "chain", "fitting", "generate", "greedy_pairs", "lay", "migration",
    "optimal_pairs", "ordering", "partition", "place", "regular_tasks", "task_counts", "varietal", "volume",
    "worst_case",
]  # fmt: skip
