"""What the joins of this package are given: schemas, tables and text, refused by name where they are of another kind."""

from __future__ import annotations

import pyarrow as pa

from weft.errors import SpecError

__all__ = ["check_fed", "check_table", "check_text", "check_types", "shown"]


def check_table(side: str, table: object) -> None:
    """Refuse what is no pyarrow Table."""
    if not isinstance(table, pa.Table):
        raise SpecError.of(
            f"The {side} side is a {type(table).__name__}.",
            "weft.local takes pyarrow Tables.",
            "convert it (pa.Table.from_pandas for pandas, .to_arrow() for Polars); Spark DataFrames go to weft.join.",
        )


def check_fed(side: str, table: object, schema: pa.Schema) -> None:
    """Refuse a table that is not of the declared schema."""
    check_table(side, table)
    assert isinstance(table, pa.Table)
    if not table.schema.equals(schema):
        raise SpecError.of(
            f"A table fed on the {side} side has other columns than the join was made for.",
            f"It has: {shown(table.schema)}. Declared: {shown(schema)}.",
            "select and cast its columns first: table.select(names).cast(schema).",
        )


def check_types(side: str, schema: object) -> None:
    """Refuse what is no pyarrow Schema, and columns that Arrow cannot gather."""
    if not isinstance(schema, pa.Schema):
        hint = "give the table's .schema." if isinstance(schema, pa.Table) else "write pa.schema({'x': pa.int64()})."
        raise SpecError.of(f"The {side} side is a {type(schema).__name__}.", "It is a pyarrow Schema.", hint)
    for field in schema:
        if pa.types.is_string_view(field.type) or pa.types.is_binary_view(field.type):
            raise SpecError.of(
                f"Column {field.name!r} of the {side} side is {field.type}.",
                "Arrow cannot gather rows of view types.",
                "cast it to string or binary first.",
            )


def check_text(name: str, text: object, example: str) -> None:
    """Refuse what is no text."""
    if not isinstance(text, str):
        raise SpecError.of(f"{name}={text!r}.", "It is text.", f"write {name}={example!r}.")


def shown(schema: pa.Schema) -> str:
    """Return the columns of a schema, with their types."""
    return ", ".join(f"{field.name} {field.type}" for field in schema)
