"""Look into a folder of files: which format they have, and which columns; `weft new` need not ask for what the data tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from weft.errors import JobError

__all__ = ["Found", "ddl", "look_into"]

_SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json",
}  # fmt: skip
_PACKED = (".gz", ".bz2", ".zst")
_SCHEMA = 'say the columns: --left-schema "id long, ts timestamp, v1 double".'


@dataclass(frozen=True)
class Found:
    """What a folder holds: the format as Spark calls it, its columns in SQL, the columns that are times, options to read it."""

    format: str
    schema: str
    columns: tuple[str, ...]
    times: tuple[str, ...]
    options: dict[str, str] = field(default_factory=dict)


def look_into(folder: str) -> Found:
    """Return what the first file of a folder tells; raise JobError if it does not tell."""
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise JobError.of(
            f"There is no folder {folder}.", "A stream of files reads a folder, not a file.", "make it first."
        )
    files = sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path)))
    known = [file for file in files if _format(file)]
    if not known:
        there_is = f"It has: {', '.join(file.name for file in files[:5])}." if files else "It is empty."
        raise JobError.of(f"No file in {folder} has a format that Weft can look into.", there_is, _SCHEMA)
    file, form = known[0], _format(known[0])
    try:
        schema = _schema(file, form)
    except (OSError, pa.ArrowException) as error:
        raise JobError.of(f"{file} cannot be read as {form}: {error}.", "", _SCHEMA) from None
    times = tuple(column.name for column in schema if pa.types.is_timestamp(column.type))
    options = {"header": "true"} if form == "csv" else {}
    return Found(
        form, ", ".join(f"{_name(one.name)} {ddl(one.type)}" for one in schema), tuple(schema.names), times, options
    )


def ddl(kind: pa.DataType) -> str:
    """Write an Arrow type as Spark's SQL does.

    >>> ddl(pa.struct([("x", pa.float64()), ("tags", pa.list_(pa.string()))]))
    'struct<x: double, tags: array<string>>'
    """
    types = pa.types
    if types.is_dictionary(kind):
        return ddl(kind.value_type)
    if types.is_struct(kind):
        return f"struct<{', '.join(f'{_name(kind.field(i).name)}: {ddl(kind.field(i).type)}' for i in range(kind.num_fields))}>"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"array<{ddl(kind.value_type)}>"
    if types.is_map(kind):
        return f"map<{ddl(kind.key_type)}, {ddl(kind.item_type)}>"
    if types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if types.is_timestamp(kind):
        return "timestamp"
    return _PLAIN.get(str(kind), "string")


_PLAIN = {
    "bool": "boolean", "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "uint8": "smallint",
    "uint16": "int", "uint32": "bigint", "uint64": "decimal(20, 0)", "halffloat": "float", "float": "float", "double": "double",
    "date32[day]": "date", "date64[ms]": "date", "binary": "binary", "large_binary": "binary",
}  # fmt: skip


def _schema(file: Path, form: str) -> pa.Schema:
    if form == "parquet":
        from pyarrow import parquet

        return parquet.read_schema(file)
    if form == "csv":
        from pyarrow import csv

        with csv.open_csv(file) as reader:
            return reader.schema
    from pyarrow import json

    with pa.input_stream(file) as stream:
        head = stream.read(1 << 20)
    whole = head[: head.rfind(b"\n") + 1] or head
    return json.read_json(pa.BufferReader(whole)).schema


def _format(file: Path) -> str:
    name = file.with_suffix("") if file.suffix in _PACKED else file
    return _SUFFIXES.get(name.suffix.lower(), "")


def _hidden(path: Path) -> bool:
    """Tell whether Spark passes over a file: it, or a folder above it, begins with a dot or an underscore."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _name(name: str) -> str:
    return name if name.replace("_", "a").isalnum() and not name[0].isdigit() else f"`{name.replace('`', '``')}`"
