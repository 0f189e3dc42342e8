"""The Spark runtime; the only place that imports pyspark."""

from __future__ import annotations

from weft.spark import jobs, workers
from weft.spark.asof import asof_join, explain_asof_join
from weft.spark.join import explain, join, self_join
from weft.spark.natural import natural_join, refused_documents
from weft.spark.session import session

__all__ = [
    "asof_join", "explain", "explain_asof_join", "jobs", "join", "natural_join", "refused_documents", "self_join", "session",
    "workers",
]  # fmt: skip
