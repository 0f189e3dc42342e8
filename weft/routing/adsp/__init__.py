"""A-DSP, the adaptive join matrix: areas of the ordered tuple matrix, each a varietal matrix of tasks (001).

One algorithm of the paper per file: `varietal` (1), `dichotomy` (2), `plan` (3) and `mapping` (4). The fifth,
which plans a migration, is in the laboratory: state moves by reading segments here. `Adsp` and `Ordered` run them; the paper's
baselines are in the laboratory.
"""

from __future__ import annotations

from weft.routing.adsp.dichotomy import Staircase, chain, partition, worst_case
from weft.routing.adsp.generate import AreaLayout, fitting, generate, place
from weft.routing.adsp.mapping import Mass, assign, cells_kept, greedy_pairs, optimal_pairs
from weft.routing.adsp.notes import Gathered, Histogram, gathered
from weft.routing.adsp.ordered import Ordered
from weft.routing.adsp.plan import EVERY, SPACE, Area, AreaPlan, Division, lay
from weft.routing.adsp.scheme import Adsp, Elastic, check_memory
from weft.routing.adsp.varietal import Varietal, regular_tasks, task_counts, varietal

__all__ = [
    "EVERY",
    "SPACE",
    "Adsp",
    "Area",
    "AreaLayout",
    "AreaPlan",
    "Division",
    "Elastic",
    "Gathered",
    "Histogram",
    "Mass",
    "Ordered",
    "Staircase",
    "Varietal",
    "assign",
    "cells_kept",
    "chain",
    "check_memory",
    "fitting",
    "gathered",
    "generate",
    "greedy_pairs",
    "lay",
    "optimal_pairs",
    "partition",
    "place",
    "regular_tasks",
    "task_counts",
    "varietal",
    "worst_case",
]  # fmt: skip
