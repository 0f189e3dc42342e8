"""SQL of a job file without Spark: the columns of a schema, the columns that a selection gives, what does not parse."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from weft.errors import SpecError, UnknownColumn
from weft.spec.parse import WeftSql

__all__ = [
    "FIXED", "NEEDS_SCHEMA", "check_condition", "check_expression", "has_equality", "schema_types",
    "selected_columns", "selected_types",
]  # fmt: skip

_RATE = {"timestamp": "TIMESTAMP", "value": "BIGINT"}
FIXED: dict[str, dict[str, str]] = {
    "rate": _RATE,
    "rate-micro-batch": _RATE,
    "socket": {"value": "TEXT"},
    "kafka": {
        "key": "BINARY", "value": "BINARY", "topic": "TEXT", "partition": "INT", "offset": "BIGINT",
        "timestamp": "TIMESTAMP", "timestampType": "INT",
    },
    "text": {"value": "TEXT"},
}  # fmt: skip
"""Columns of formats that bring their own schema, with their types as sqlglot calls them."""

NEEDS_SCHEMA = ("parquet", "json", "csv", "orc", "avro", "xml")
"""File formats: a stream of files must be told its schema."""


def schema_types(ddl: str) -> dict[str, str]:
    """Return the columns of a schema in DDL with their types as sqlglot calls them; raise SpecError when it is none.

    >>> schema_types("id long, ts timestamp, place struct<x: double, y: double>")
    {'id': 'BIGINT', 'ts': 'TIMESTAMPTZ', 'place': 'STRUCT'}
    """
    try:
        table = sqlglot.parse_one(f"CREATE TABLE t ({ddl})", dialect=WeftSql)
    except SqlglotError as error:
        raise SpecError.of(f"It does not parse: {_first(error)}.") from None
    top = list(table.this.expressions) if isinstance(table, exp.Create) and isinstance(table.this, exp.Schema) else []
    loose = [column.name for column in top if not isinstance(column, exp.ColumnDef) or column.args.get("kind") is None]
    if not top or loose:
        raise SpecError.of(f"It gives no type for {', '.join(loose)}." if loose else "It names no columns.")
    names = [str(column.name) for column in top]
    twice = [name for number, name in enumerate(names) if name.lower() in {one.lower() for one in names[:number]}]
    if twice:
        raise SpecError.of(f"It has two columns named {twice[0]!r}; Spark does not tell them apart by case.")
    return {str(column.name): str(getattr(column.args["kind"].this, "value", "")) for column in top}


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
            near = get_close_matches(name, columns, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "name columns of the source."
            raise UnknownColumn.of(f"There is no column {name!r}.", f"There are: {', '.join(columns)}.", hint)
    return found


def check_condition(text: str, columns: Sequence[str] | None) -> None:
    """Check a filter of one table, which is an expression without a name."""
    if isinstance(check_expression(text, columns), exp.Alias):
        raise SpecError.of(f"{text!r} is not one condition.", "", 'write where = "v1 > 0 AND i1 IS NOT NULL".')


def has_equality(condition: exp.Expr) -> bool:
    """Tell whether a condition may hold an equality; what Spark could turn into one counts."""
    return condition.find(exp.EQ, exp.NullSafeEQ, exp.Not, exp.In, exp.Between) is not None


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


def selected_types(items: Sequence[str], types: Mapping[str, str]) -> dict[str, str]:
    """Return the types that a selection keeps; what is computed has none that could be known here."""
    kept: dict[str, str] = {}
    known = {name.lower(): kind for name, kind in types.items()}
    for item in items:
        tree = check_expression(item, None)
        if tree.is_star:
            kept |= types
        elif isinstance(tree.unalias(), exp.Column):
            kept[str(tree.alias_or_name)] = known.get(tree.unalias().name.lower(), "")
    return kept


def _first(error: SqlglotError) -> str:
    details = getattr(error, "errors", None)
    if details:
        near = str(details[0].get("highlight") or "").strip()
        what = str(details[0].get("description") or "").rstrip(".")
        if re.match(r"Required keyword: .* missing for <class", what):  # the parser's own names say nothing
            return f"something is missing behind {near!r}" if near else "it ends too early"
        return f"{what[:1].lower()}{what[1:]}" + (f", near {near!r}" if near else "")
    return "a quote or a bracket is not closed"
