"""What Spark's own monitoring gets to know of a join: `StreamingQueryProgress.observedMetrics`, in every listener.

Route tasks put notes beside the messages they ship (`weft.spark.shuttle`), a few rows per batch, and Spark adds them up
(`DataFrame.observe`): that costs nothing per row. Notes carry a name, so those of a task that runs twice count once. Pairs are
counted by Spark as they leave.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from weft.spark.shuttle import COUNTS
from weft.spark.tree import frame_of

__all__ = ["counted_pairs", "observed_routes", "report_name"]


def report_name(name: str) -> str:
    """Return under which name a join reports: `weft`, or `weft.` and the name that tells it from others of its query."""
    return f"weft.{name}" if name else "weft"


def observed_routes(routes: DataFrame, name: str) -> DataFrame:
    """Report rows and late rows per side, the state as the batch found it, and migrations."""
    return _shared(routes.observe(report_name(name), *[F.expr(_total(count)).alias(count) for count in COUNTS]))


def _total(count: str) -> str:
    """Return what adds up one count of all notes; the state and migrations are in one note, and unknown without it."""
    counts = f"collect_set(note).{count}"
    if count.startswith(("state", "migrations")):
        return f"array_max({counts})"
    added = "greatest(total, n)" if count.endswith("_behind") else "total + n"
    return f"aggregate(filter({counts}, n -> n IS NOT NULL), 0L, (total, n) -> {added})"


def counted_pairs(joined: DataFrame, name: str) -> DataFrame:
    """Report the pairs that leave."""
    return _shared(joined.observe(f"{report_name(name)}.pairs", F.count(F.lit(1)).alias("pairs")))


def _shared(observed: DataFrame) -> DataFrame:
    """Let other joins of the same query report under the same name: those with state paths of their own need no names.

    Spark refuses it unless the reports have one id; it then shows one of them.
    """
    node: Any = observed._jdf.queryExecution().analyzed()
    *parts, _ = (node.productElement(number) for number in range(node.productArity()))
    return frame_of(observed.sparkSession, node.copy(*parts, -1))
