"""SQL expressions over pyarrow tables, with the answers of Spark (ANSI)."""

from __future__ import annotations

from weft.local.expr.compile import Compiled, compile_expression, supported
from weft.local.expr.select import Projection, output_schema, project

__all__ = ["Compiled", "Projection", "compile_expression", "output_schema", "project", "supported"]
