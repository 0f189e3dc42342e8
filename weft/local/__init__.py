"""The in-process runtime: joins pyarrow tables with the same engine as on Spark."""

from __future__ import annotations

from weft.local import parallel
from weft.local.join import Join, explain, join, self_join
from weft.local.natural import NaturalJoin, natural_join
from weft.local.runtime import LocalRun

__all__ = ["Join", "LocalRun", "NaturalJoin", "explain", "join", "natural_join", "parallel", "self_join"]
