"""SQL expressions over pyarrow tables, with the answers of Spark (ANSI)."""

from __future__ import annotations

from weft.local.expr.bands import BandLimits, band_limits
from weft.local.expr.comparisons import Comparison, comparison, in_type, left_and_right, spread
from weft.local.expr.compile import Compiled, compile_expression, supported
from weft.local.expr.select import Projection
from weft.local.expr.spark_types import INT_DIGITS, common, is_text, spark_name

__all__ = [
    "INT_DIGITS", "BandLimits", "Comparison", "Compiled", "Projection", "band_limits", "common", "comparison",
    "compile_expression", "in_type", "is_text", "left_and_right", "spark_name", "spread", "supported",
]  # fmt: skip
