"""SQL of a job file without Spark: the columns of a schema, the columns that a selection gives, what does not parse."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from weft.errors import SpecError, UnknownColumn
from weft.spec.parse import WeftSql

__all__ = ["FIXED", "NEEDS_SCHEMA", "check_expression", "schema_columns", "selected_columns"]

FIXED: dict[str, tuple[str, ...]] = {
    "rate": ("timestamp", "value"),
    "rate-micro-batch": ("timestamp", "value"),
    "socket": ("value",),
    "kafka": ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType"),
    "text": ("value",),
}
"""Columns of formats that bring their own schema."""

NEEDS_SCHEMA = ("parquet", "json", "csv", "orc", "avro", "xml")
"""File formats: a stream of files must be told its schema."""


def schema_columns(ddl: str) -> tuple[str, ...]:
    """Return the column names of a schema in DDL; raise SpecError when it is none.

    >>> schema_columns("id long, ts timestamp, place struct<x: double, y: double>")
    ('id', 'ts', 'place')
    """
    try:
        table = sqlglot.parse_one(f"CREATE TABLE t ({ddl})", dialect=WeftSql)
    except SqlglotError as error:
        raise SpecError.of(f"It does not parse: {_first(error)}.") from None
    top = list(table.this.expressions) if isinstance(table, exp.Create) and isinstance(table.this, exp.Schema) else []
    loose = [column.name for column in top if not isinstance(column, exp.ColumnDef) or column.args.get("kind") is None]
    if not top or loose:
        raise SpecError.of(f"It gives no type for {', '.join(loose)}." if loose else "It names no columns.")
    return tuple(str(column.name) for column in top)


def check_expression(text: str, columns: Sequence[str] | None) -> exp.Expr:
    """Parse one SQL expression over one table; raise SpecError for what does not parse or names no column."""
    try:
        tree = sqlglot.parse_one(f"SELECT {text}", dialect=WeftSql)
    except SqlglotError as error:
        raise SpecError.of(f"It does not parse: {_first(error)}.") from None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or tree.args.get("from_"):
        raise SpecError.of(f"{text!r} is not one SQL expression.")
    found: exp.Expr = tree.expressions[0]
    if columns is None:
        return found
    known = {name.lower() for name in columns}
    local = {str(name.name).lower() for part in found.find_all(exp.Lambda) for name in part.expressions}
    for column in found.find_all(exp.Column):
        name = str(column.parts[0].name)
        if not isinstance(column.this, exp.Star) and name.lower() not in known | local:
            raise UnknownColumn.of(f"There is no column {name!r}.", f"There are: {', '.join(columns)}.")
    return found


def selected_columns(items: Sequence[str], columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names that a selection gives; None when that cannot be known."""
    names: list[str] = []
    for item in items:
        tree = check_expression(item, columns)
        if tree.is_star:
            if columns is None:
                return None
            names += columns
        else:
            names.append(str(tree.alias_or_name or item.strip()))
    return tuple(names)


def _first(error: SqlglotError) -> str:
    details = getattr(error, "errors", None)
    if details:
        near = str(details[0].get("highlight") or "").strip()
        what = str(details[0].get("description") or "").rstrip(".")
        return f"{what[:1].lower()}{what[1:]}" + (f", near {near!r}" if near else "")
    return "a quote or a bracket is not closed"
