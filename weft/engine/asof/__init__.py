"""As-of joins: each left row has the one right row that is nearest; run by the same worker over the same state as every join."""

from __future__ import annotations

from weft.engine.asof.columns import check_compared, check_there, order_counts
from weft.engine.asof.joiner import INDEX, AsofJoiner, AsofRouter
from weft.engine.asof.lookup import AsofLookup
from weft.engine.asof.search import Search
from weft.engine.asof.step import asof_step, beside

__all__ = [
    "INDEX", "AsofJoiner", "AsofLookup", "AsofRouter", "Search", "asof_step", "beside", "check_compared", "check_there",
    "order_counts",
]  # fmt: skip
