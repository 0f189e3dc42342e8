"""The in-process runtime: joins tables of any library that speaks Arrow, with the same engine as on Spark."""

from __future__ import annotations

from weft.local import parallel
from weft.local.asof import AsofJoin, asof_join, explain_asof_join
from weft.local.join import Join, explain, join, self_join
from weft.local.natural import NaturalJoin, natural_join
from weft.local.runtime import LocalRun

__all__ = [
    "AsofJoin", "Join", "LocalRun", "NaturalJoin", "asof_join", "explain", "explain_asof_join", "join", "natural_join",
    "parallel", "self_join",
]  # fmt: skip
