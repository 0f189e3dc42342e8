"""Write a job file from a few answers, and from what a folder of files tells: its format and columns need not be asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from weft.errors import JobError

__all__ = ["Found", "JobAnswers", "SourceAnswer", "compose", "ddl", "look_into"]


@dataclass(frozen=True)
class SourceAnswer:
    """One stream of files: where it is, and how it is read."""

    path: str
    format: str
    schema: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JobAnswers:
    """What a job file is made of. `right` is None for a self join; `time` has the time column of each side."""

    left: SourceAnswer
    right: SourceAnswer | None
    on: str
    out: str
    how: str = "inner"
    within: str = ""
    delay: str = ""
    time: tuple[str, str] = ("", "")
    last: int = 0
    live: bool = False
    schema: str = ""
    """The schema file that editors find beside the job file, if there is one."""


def compose(answers: JobAnswers) -> str:
    """Return the text of the job file.

    >>> one = SourceAnswer("left", "parquet", "id long")
    >>> print(compose(JobAnswers(one, None, "a.id < b.id", "out", last=100)).partition("[join]")[2].strip().split("[sink]")[0])
    on = "a.id < b.id"
    window = { kind = "last", rows = 100 }
    state = "out/state"                    # rows that can still match; all executors must be able to write it
    <BLANKLINE>
    """
    first = f"#:schema {answers.schema}\n" if answers.schema else ""
    itself = answers.right is None
    head = f"{first}# Check it: weft run JOB --check.  See how it would run: weft explain JOB.  Run it: weft run JOB"
    checkpoint = f"checkpoint = {_text(f'{answers.out}/checkpoint')}"
    parts = [
        head,
        f"{checkpoint:<38} # Spark's own; a restart needs it and the state",
        _source("stream" if itself else "left", answers.left),
        *([] if answers.right is None else [_source("right", answers.right)]),
        _join(answers),
        f'[sink]\nformat = "parquet"                     # any Spark sink\npath = {_text(f"{answers.out}/pairs")}',
        '[trigger]\nprocessing_time = "5 seconds"' if answers.live
        else '[trigger]\navailable_now = true                   # stop when all data is joined; or processing_time = "5 seconds"',
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _source(table: str, source: SourceAnswer) -> str:
    lines = [
        f"[{table}]",
        f"format = {_text(source.format)}",
        f"path = {_text(source.path)}",
        f"schema = {_text(source.schema)}",
    ]
    if source.options:
        lines.append(
            "options = { " + ", ".join(f"{key} = {_text(value)}" for key, value in source.options.items()) + " }"
        )
    return "\n".join(lines)


def _join(answers: JobAnswers) -> str:
    lines = ["[join]", f"on = {_text(answers.on)}"]
    if answers.how != "inner":
        lines.append(f"how = {_text(answers.how)}")
    lines.append(f"window = {_window(answers)}")
    state = f"state = {_text(f'{answers.out}/state')}"
    lines.append(f"{state:<38} # rows that can still match; all executors must be able to write it")
    return "\n".join(lines)


def _window(answers: JobAnswers) -> str:
    if answers.last:
        return f'{{ kind = "last", rows = {answers.last} }}'
    left, right = answers.time
    columns = f"on = {_text(left)}" if left == right else f"left = {_text(left)}, right = {_text(right)}"
    delay = f", delay = {_text(answers.delay)}" if answers.delay else ""
    return f'{{ kind = "within", span = {_text(answers.within)}, {columns}{delay} }}'


def _text(value: str) -> str:
    """Quote a text for TOML, whose basic strings have JSON's escapes."""
    return json.dumps(value, ensure_ascii=False)


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
