"""DuckDB's answer to a condition, where it means the same by it as Spark does.

That is so for whole numbers, doubles, text and truth values, as long as both sides of an operator are of one kind: the two
cast differently. Where DuckDB fails (it overflows elsewhere) there is no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr import compile_expression
from weft_lab.fuzz.tables import LEFT, RIGHT

__all__ = ["peer_pairs"]

_COLUMNS = ("k", "i", "j", "x", "s", "b")
_SAME = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Between, exp.In, exp.Coalesce, exp.Greatest,
    exp.Least, exp.Nullif, exp.Add, exp.Sub, exp.Mul, exp.Like,
)  # fmt: skip
_ANY = (exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.Abs, exp.Column, exp.Identifier, exp.Boolean, exp.StartsWith)


def peer_pairs(tree: exp.Expr) -> set[tuple[int, int]] | None:
    """Return the pairs of `k` for which DuckDB finds a condition true; None where it is not asked or has no answer."""
    if find_spec("duckdb") is None or not _means_the_same(tree):
        return None
    import duckdb

    try:
        found = _connection().execute(f"SELECT l.k, r.k FROM l, r WHERE {tree.sql('duckdb')}").fetchall()  # noqa: S608
    except duckdb.Error:
        return None
    return {(int(a), int(b)) for a, b in found}


@lru_cache(maxsize=1)
def _connection() -> Any:
    import duckdb

    made = duckdb.connect()
    made.execute("SET threads = 1")
    made.register("l", LEFT.select(_COLUMNS))
    made.register("r", RIGHT.select(_COLUMNS))
    return made


def _means_the_same(tree: exp.Expr) -> bool:
    schemas = {"l": LEFT.schema, "r": RIGHT.schema}
    return "\\" not in tree.sql("spark") and all(_fits(node, schemas) for node in tree.walk())


def _fits(node: exp.Expr, schemas: Mapping[str, pa.Schema]) -> bool:
    if isinstance(node, exp.Column):
        return node.name in _COLUMNS
    if isinstance(node, exp.Literal):
        return node.is_string or node.this.isdigit()
    if isinstance(node, exp.Is):
        return isinstance(node.expression, exp.Null)
    if isinstance(node, exp.Null):
        return isinstance(node.parent, exp.Is)
    if isinstance(node, _SAME):
        kinds = {_kind(compile_expression(part, schemas).type) for part in node.iter_expressions()}
        return len(kinds) == 1 and "" not in kinds
    return isinstance(node, _ANY)


def _kind(kind: pa.DataType) -> str:
    if pt.is_int32(kind) or pt.is_int64(kind):
        return "whole"
    return "double" if pt.is_float64(kind) else "text" if pt.is_string(kind) else "truth" if pt.is_boolean(kind) else ""
