"""The Spark runtime; the only place that imports pyspark."""

from __future__ import annotations

from weft.spark import jobs, listening, measured, workers
from weft.spark.asof import asof_join, explain_asof_join
from weft.spark.hooks import state_paths
from weft.spark.join import explain, join, self_join
from weft.spark.natural import natural_join, refused_documents
from weft.spark.session import session

__all__ = [
    "asof_join", "explain", "explain_asof_join", "jobs", "join", "listening", "measured", "natural_join", "refused_documents",
    "self_join", "session", "state_paths", "workers",
]  # fmt: skip
