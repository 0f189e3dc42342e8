"""The in-process runtime: pyarrow in, pyarrow out, the same engine as on Spark."""

from __future__ import annotations

from weft.local.api import Join, explain, join, self_join
from weft.local.natural import NaturalJoin, natural_join
from weft.local.parallel import ParallelJoin
from weft.local.parallel_settings import Settings

__all__ = ["Join", "NaturalJoin", "ParallelJoin", "Settings", "explain", "join", "natural_join", "self_join"]
