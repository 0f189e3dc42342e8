"""The door for data: whatever speaks Arrow's PyCapsule interface comes in as a pyarrow Table, without a copy where it can.

Polars, pandas, DuckDB relations, record batches and their readers all have `__arrow_c_stream__` or `__arrow_c_array__`, and all
of them take the pyarrow Table that comes out. Only columns of Arrow's view types, in which Polars has its text, are copied:
Arrow cannot gather their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.types as pt

from weft.errors import SpecError

__all__ = ["Batches", "Tabular", "as_schema", "as_table", "fed_parts", "fed_table", "joined_batches", "shown"]


class _Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class _Array(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...


Tabular = _Stream | _Array
"""A table of any library that speaks Arrow."""
Batches = Tabular | Iterable[Tabular]
"""A stream of record batches: a reader, anything else that streams Arrow, or an iterable of tables."""

_SPEAKS = "__arrow_c_stream__", "__arrow_c_array__"
_THERE_IS = (
    "weft.local takes what speaks Arrow's PyCapsule interface: pyarrow, Polars, pandas and DuckDB tables, record batches and "
    "their readers."
)
_COPIED = (
    (pt.is_string_view, pa.string()), (pt.is_binary_view, pa.binary()),
)  # fmt: skip


def as_table(side: str, given: object) -> pa.Table:
    """Return a table, whatever it came in as; refuse what is none.

    >>> as_table("left", pa.record_batch({"x": [1, 2]})).to_pydict()
    {'x': [1, 2]}
    """
    return given if isinstance(given, pa.Table) and not _copied(given.schema) else _plain(_taken(side, given))


def _taken(side: str, given: object) -> pa.Table:
    if isinstance(given, pa.Table):
        return given
    if type(given).__module__.startswith("pyspark."):  # it may speak Arrow too, and would be collected in silence
        raise SpecError.of(
            f"The {side} side is a {type(given).__name__} of Spark.",
            "weft.local joins tables in this process.",
            "use weft.join, or collect it first: frame.toArrow().",
        )
    if not any(hasattr(given, method) for method in _SPEAKS) or isinstance(given, (type, pa.Schema)):
        raise _no_table(side, given)
    try:
        return _without_index(pa.table(given))
    except (pa.ArrowInvalid, TypeError) as error:
        raise _no_table(side, given, str(error)) from None


def _no_table(side: str, given: object, why: str = "") -> SpecError:
    column = "non-struct" in why or isinstance(given, (pa.Array, pa.ChunkedArray))
    what = "a single column" if column else f"a {type(given).__name__}"
    if hasattr(given, "collect"):
        hint = "collect it first: frame.collect()."
    elif column:
        hint = "give it a name: pa.table({'x': column})."
    else:
        hint = "convert it, for example with pa.Table.from_pylist(rows)."
    return SpecError.of(f"The {side} side is {what}, not a table.", _THERE_IS, hint)


def _without_index(table: pa.Table) -> pa.Table:
    """Leave out pandas' index where it has no name: no condition could speak of it."""
    kept = [name for name in table.column_names if not name.startswith("__index_level_")]
    return table.select(kept) if len(kept) < table.num_columns else table


def as_schema(side: str, given: object) -> pa.Schema:
    """Return the schema that the tables of a side will have here: of a schema, or of a table that has it.

    >>> as_schema("left", pa.schema({"s": pa.string_view()}))
    s: string
    """
    own = getattr(given, "schema", None)
    if isinstance(own, pa.Schema):  # a reader's rows stay unread
        return _plain_schema(own)
    if hasattr(given, "__arrow_c_schema__") and not isinstance(given, (pa.DataType, pa.Field)):
        try:
            return _plain_schema(pa.schema(given))
        except (pa.ArrowInvalid, TypeError, ValueError):
            raise _no_schema(side, given) from None
    if any(hasattr(given, method) for method in _SPEAKS):
        return as_table(side, given).schema
    raise _no_schema(side, given)


def _no_schema(side: str, given: object) -> SpecError:
    return SpecError.of(
        f"The {side} side is a {type(given).__name__}.",
        "It must be an Arrow schema, or a table that has one.",
        "write pa.schema({'x': pa.int64()}), or give the schema of a table.",
    )


def fed_table(side: str, given: object, schema: pa.Schema) -> pa.Table:
    """Return a table that is fed; refuse one without the columns that were declared.

    Texts may be laid out in another way than declared: libraries differ, and one library between its releases.
    """
    table = as_table(side, given)
    if table.schema.equals(schema):
        return table
    if table.column_names == schema.names and list(map(_layout, table.schema.types)) == list(
        map(_layout, schema.types)
    ):
        return table.cast(schema)
    raise SpecError.of(
        f"A table fed on the {side} side does not have the columns that the join was made for.",
        f"It has: {shown(table.schema)}. Declared: {shown(schema)}.",
        "select and cast its columns first: table.select(names).cast(schema).",
    )


def fed_parts(side: str, given: object, schema: pa.Schema) -> list[pa.Table]:
    """Return the tables of one side of one feed: one, or a sequence of them that stands for map partitions."""
    parts = given if isinstance(given, (list, tuple)) else [given]
    return [fed_table(side, part, schema) for part in parts]


def joined_batches(
    feed: Callable[..., Iterator[pa.Table]], schema: pa.Schema, streams: Iterable[tuple[str, object]],
    finish: Callable[[], Iterator[pa.Table]] | None = None,
) -> pa.RecordBatchReader:  # fmt: skip
    """Return a reader of what a join finds while it is fed from streams: the next record batch of each, until all have ended."""
    sources = [_batches(side, stream) for side, stream in streams]

    def found() -> Iterator[pa.RecordBatch]:
        for parts in zip_longest(*sources, fillvalue=()):
            for table in feed(*parts):
                yield from table.to_batches()
        for table in finish() if finish is not None else ():
            yield from table.to_batches()

    return pa.RecordBatchReader.from_batches(schema, found())


def _batches(side: str, stream: object) -> Iterator[object]:
    """Return the record batches of a stream, one by one; an iterable of tables is a stream too."""
    if hasattr(stream, "__arrow_c_stream__") and not type(stream).__module__.startswith("pyspark."):
        try:
            return iter(pa.RecordBatchReader.from_stream(stream))
        except (pa.ArrowInvalid, TypeError) as error:
            raise _no_table(side, stream, str(error)) from None
    if isinstance(stream, Iterable) and not isinstance(stream, (str, bytes, dict)):
        return iter(stream)
    return iter([as_table(side, stream)])


def shown(schema: pa.Schema) -> str:
    """Return columns and types as text."""
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _plain(table: pa.Table) -> pa.Table:
    return table.cast(_plain_schema(table.schema)) if _copied(table.schema) else table


def _copied(schema: pa.Schema) -> bool:
    return any(_plain_type(field.type) != field.type for field in schema)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type without views, at every depth."""
    return _rewritten(kind, lambda leaf: next((plain for is_view, plain in _COPIED if is_view(leaf)), leaf))


def _layout(kind: pa.DataType) -> pa.DataType:
    """Return one type for all layouts of the same texts or bytes."""
    wide = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    return _rewritten(_plain_type(kind), lambda leaf: wide.get(leaf, leaf))


def _rewritten(kind: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    if pt.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _rewritten(kind.value_type, leaf), kind.ordered)
    if pt.is_struct(kind):
        return pa.struct([field.with_type(_rewritten(field.type, leaf)) for field in kind])
    if pt.is_map(kind):
        return pa.map_(_rewritten(kind.key_type, leaf), _rewritten(kind.item_type, leaf), kind.keys_sorted)
    for is_list, made in ((pt.is_list, pa.list_), (pt.is_large_list, pa.large_list)):
        if is_list(kind):
            return made(kind.value_field.with_type(_rewritten(kind.value_type, leaf)))
    return leaf(kind)
