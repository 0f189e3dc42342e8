"""From a TOML file to a job: every check that needs no Spark, all mistakes at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.cli.job.lines import key_lines
from weft.cli.job.model import Job, JobMistakes, Mistake, SinkPart, SourcePart
from weft.cli.job.reader import Reader
from weft.cli.job.sql import FIXED, NEEDS_SCHEMA, check_expression, schema_columns, selected_columns
from weft.cli.job.windows import read_window
from weft.errors import JobError, SpecError, WeftError
from weft.spec import unbounded
from weft.spec.duration import microseconds
from weft.spec.parse import check_syntax
from weft.state import open_folder

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["load_job"]

_FILES = ("parquet", "json", "csv", "orc", "avro", "xml", "text")
_HOW = "`weft run --help` shows a whole job file."


def load_job(path: Path) -> Job:
    """Read and check a job file; raise JobError with all its mistakes."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise JobError.of(f"There is no job file {path}.", "", _HOW) from None
    except (OSError, UnicodeDecodeError) as error:
        raise JobError.of(f"The job file {path} cannot be read: {error}.", "", _HOW) from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise JobError.of(f"{path} is not TOML: {error}.", "", _HOW) from None
    reader = Reader(data, key_lines(text))
    job = _job(path, reader)
    if reader.mistakes:
        raise JobMistakes.found(path, _without_echo(reader.mistakes))
    return job


def _without_echo(mistakes: list[Mistake]) -> list[Mistake]:
    return list(dict.fromkeys(mistakes))


def _job(path: Path, reader: Reader) -> Job:
    top = reader.table("")
    self_join = "stream" in reader.data
    names = ("stream",) if self_join else ("left", "right")
    if self_join and ("left" in reader.data or "right" in reader.data):
        reader.wrong(
            "stream", "A job has either [stream] (a self join) or [left] and [right].", "take one of them out."
        )
    for name in names:
        if name not in reader.data:
            right = "add [left] and [right], or [stream] for a self join."
            reader.wrong(name, "It is missing.", right)
    sources = {name: _source(name, reader) for name in names if isinstance(reader.data.get(name), dict)}
    columns = [sources[name][1] if name in sources else None for name in names] * (2 if self_join else 1)
    join = reader.table("join") if isinstance(reader.data.get("join"), dict) else {}
    aliases = ("a", "b") if self_join else ("l", "r")
    if "on" in join:
        try:
            check_syntax(join["on"], aliases, columns[0], columns[1])
        except WeftError as error:
            reader.complain("join.on", error)
    if "unordered" in join and not self_join:
        reader.wrong("join.unordered", "Only a self join has pairs of one stream.", "take it out, or write [stream].")
    window = read_window(reader, columns) if "window" in join else None
    _join_select(reader, join.get("select"), aliases, columns)
    spark = reader.table("spark")
    conf = reader.strings("spark.conf", spark.get("conf", {}))
    empty = SourcePart("", {})
    return Job(
        path, sources[names[0]][0] if names[0] in sources else empty,
        None if self_join else sources["right"][0] if "right" in sources else empty,
        join.get("on", ""), window or unbounded(), _sink(reader), str(top.get("checkpoint", "")), _state(reader, join, conf),
        join.get("scheme", "auto"), join.get("index", "auto"), join.get("tasks"),
        tuple(join["select"]) if "select" in join else None, join.get("suffix", "_right"), join.get("unordered", False),
        _trigger(reader), spark.get("master"), conf,
    )  # fmt: skip


def _source(name: str, reader: Reader) -> tuple[SourcePart, tuple[str, ...] | None]:
    """Return a source and the columns it will have, None where only Spark can tell."""
    table = reader.table(name)
    form = str(table.get("format", "")).lower()
    options = reader.strings(f"{name}.options", table.get("options", {}))
    if "path" in table:
        options["path"] = table["path"]
    elif form in _FILES and "path" not in options and "path" not in reader.data[name]:
        reader.wrong(f"{name}.path", "It is missing: a stream of files needs its folder.", 'write path = "data/left".')
    if "max_files_per_trigger" in table:
        options["maxFilesPerTrigger"] = str(table["max_files_per_trigger"])
    columns = FIXED.get(form)
    schema = table.get("schema")
    if schema is not None:
        try:
            columns = schema_columns(schema)
        except SpecError as error:
            reader.wrong(f"{name}.schema", str(error), 'write a schema such as "id long, ts timestamp, v1 double".')
    elif form in NEEDS_SCHEMA and "schema" not in reader.data[name]:
        right = 'write schema = "id long, ts timestamp, v1 double".'
        reader.wrong(f"{name}.schema", f"It is missing: a stream of {form} files must be told its columns.", right)
    if "where" in table:
        _expression(reader, f"{name}.where", table["where"], columns)
    if "select" in table:
        try:
            columns = selected_columns(table["select"], columns)
        except SpecError as error:
            reader.complain(f"{name}.select", error)
    where, select = table.get("where"), tuple(table["select"]) if "select" in table else None
    return SourcePart(table.get("format", ""), options, schema, where, select), columns


def _expression(reader: Reader, path: str, text: str, columns: Sequence[str] | None) -> None:
    try:
        check_expression(text, columns)
    except SpecError as error:
        reader.complain(path, error)


def _join_select(
    reader: Reader, select: list[str] | None, aliases: tuple[str, str], columns: Sequence[Sequence[str] | None]
) -> None:
    """Check that a selection parses and that `alias.column` exists; names without an alias are left to Spark."""
    for item in select or ():
        try:
            tree = check_expression(item, None)
        except SpecError as error:
            reader.complain("join.select", error)
            continue
        for column in tree.find_all(_column_type()):
            parts = [part.name for part in column.parts]
            known = dict(zip(aliases, columns, strict=True))
            if len(parts) > 1 and parts[0].lower() in known:
                have = known[parts[0].lower()]
                if have is not None and parts[1] != "*" and parts[1].lower() not in {name.lower() for name in have}:
                    reader.wrong(
                        "join.select", f"{item!r}: {parts[0]} has no column {parts[1]!r}. It has: {', '.join(have)}."
                    )


def _column_type() -> Any:
    from sqlglot import exp

    return exp.Column


def _sink(reader: Reader) -> SinkPart:
    table = reader.table("sink") if isinstance(reader.data.get("sink"), dict) else {}
    form = str(table.get("format", ""))
    options = reader.strings("sink.options", table.get("options", {}))
    if "path" in table:
        options["path"] = table["path"]
    elif form.lower() in _FILES and "path" not in options and "path" not in reader.data["sink"]:
        reader.wrong("sink.path", "It is missing: a sink of files needs its folder.", 'write path = "out/pairs".')
    if form.lower() in ("memory", "foreachbatch", "foreach"):
        right = 'write format = "parquet", "kafka", "console" or "noop".'
        reader.wrong("sink.format", f"A {form} sink lives inside a Python program, not in a job.", right)
    return SinkPart(form, options, table.get("mode", "append"), tuple(table.get("partition_by", ())))


def _trigger(reader: Reader) -> dict[str, str | bool]:
    table = reader.table("trigger")
    for key in ("available_now", "once"):
        if table.get(key) is False:
            del table[key]
    if len(table) > 1:
        reader.wrong("trigger", f"It says both {' and '.join(table)}.", "keep one of them.")
    if "processing_time" in table:
        try:
            microseconds("processing_time", table["processing_time"])
        except SpecError as error:
            reader.complain("trigger.processing_time", error)
    names = {"available_now": "availableNow", "processing_time": "processingTime", "once": "once"}
    return {names[key]: value for key, value in table.items()}


def _state(reader: Reader, join: dict[str, Any], conf: dict[str, str]) -> str:
    """Return the state path, made absolute when it is a relative local one: executors have other working folders."""
    path = str(join.get("state") or conf.get("spark.weft.state") or "")
    if not path and "state" not in reader.data.get("join", {}):
        right = 'write state = "out/state": a folder that the driver and every executor can write.'
        reader.wrong("join.state", "It is missing: the rows that may still find partners are kept there.", right)
        return ""
    if path and "://" not in path and not path.startswith("file:"):
        return str(Path(path).expanduser().absolute())
    try:
        if path.startswith("file:"):
            open_folder(path)
    except SpecError as error:
        reader.complain("join.state", error)
    return path
