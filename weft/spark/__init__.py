"""The Spark runtime; the only place that imports pyspark."""

from __future__ import annotations

from weft.spark.join import explain, join, self_join
from weft.spark.session import session

__all__ = ["explain", "join", "self_join", "session"]
