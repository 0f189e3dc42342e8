"""From a TOML file to a job: every check that needs no Spark, all mistakes at once."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from sqlglot import exp

from weft.cli.job.expressions import (
    FIXED,
    NEEDS_SCHEMA,
    check_condition,
    check_expression,
    has_equality,
    schema_types,
    selected_columns,
    selected_types,
)
from weft.cli.job.folders import Place, check_apart, check_readable, check_writable, home
from weft.cli.job.kafka import METADATA, check_topics_apart, kafka_options, kafka_sink, kafka_values
from weft.cli.job.model import (
    FILES,
    SINKS,
    SOURCES,
    CheckedJob,
    JobMistakes,
    Mistake,
    SinkPart,
    SourcePart,
    format_trouble,
    master_trouble,
)
from weft.cli.job.reader import JobReader, doubled, key_lines, shown
from weft.cli.job.windows import read_window
from weft.errors import JobError, SpecError, WeftError
from weft.routing import Need, Scheme, scheme_named
from weft.spec import INNER, Kind, Tumbling, TumblingRows, Window, Within, kind_named, unbounded
from weft.spec.kinds import check_ends, check_unordered, right_selected
from weft.spec.options import microseconds
from weft.spec.parse import check_syntax
from weft.state import open_folder

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["load_job"]

_STORES = ("file", "hdfs", "viewfs", "s3", "gs", "gcs", "abfs", "abfss")
"""File systems that pyarrow opens by their URI."""
_HOW = "`weft run --help` shows a whole job file."


def load_job(path: Path, *, reads: bool = False, writes: bool = False) -> CheckedJob:
    """Read and check a job file; raise JobError with all its mistakes.

    With `reads` the local folders of its sources must be there, with `writes` those of sink, checkpoint and state
    must be writable: what starting the job would find out.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise JobError.of(f"There is no job file {path}.", "", _HOW) from None
    except (OSError, UnicodeDecodeError) as error:
        raise JobError.of(f"The job file {path} cannot be read: {error}.", "", _HOW) from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, text, error) from None
    reader = JobReader(data, key_lines(text))
    job = _job(path, reader)
    places = _places(reader, job)
    check_apart(reader, places)
    check_topics_apart(reader, job)
    if reads:
        check_readable(reader, places, job.conf)
    if writes:
        check_writable(reader, places, job.conf)
    if reader.mistakes:
        raise JobMistakes.found(path, _without_echo(reader.mistakes))
    return job


def _not_toml(path: Path, text: str, error: tomllib.TOMLDecodeError) -> JobError:
    twice = doubled(text)
    if twice and re.search("overwrite|twice|uplicate|mutate", str(error)):
        key, first, second = twice
        what = f"It is given twice: on line {first} and on line {second}."
        return JobMistakes.found(path, [Mistake(shown(key), second, what, "keep one of them.")])
    return JobError.of(f"{path} is not TOML: {error}.", "", _HOW)


def _places(reader: JobReader, job: CheckedJob) -> list[Place]:
    """Return the folders of a job, each with the key that names it."""
    sources = {"left" if job.right is not None else "stream": job.left, "right": job.right}
    found = [
        Place(_path_key(reader, name), "source", part.options["path"])
        for name, part in sources.items()
        if part is not None and part.options.get("path")
    ]
    if job.sink.options.get("path"):
        found.append(Place(_path_key(reader, "sink"), "sink", job.sink.options["path"]))
    if job.checkpoint:
        found.append(Place("checkpoint", "checkpoint", job.checkpoint))
    if job.state:
        key = "join.state" if "join.state" in reader.lines else "spark.conf.spark.weft.state"
        found.append(Place(key, "state", job.state))
    return found


def _path_key(reader: JobReader, table: str) -> str:
    return f"{table}.path" if f"{table}.path" in reader.lines else f"{table}.options.path"


def _without_echo(mistakes: list[Mistake]) -> list[Mistake]:
    return list(dict.fromkeys(mistakes))


def _job(path: Path, reader: JobReader) -> CheckedJob:
    top = reader.table("")
    self_join = "stream" in reader.data
    names = ("stream",) if self_join else ("left", "right")
    if self_join and ("left" in reader.data or "right" in reader.data):
        reader.wrong("stream", "A job has either [stream] (a self join) or [left] and [right].", "remove one of them.")
    for name in names:
        if name not in reader.data:
            right = "add [left] and [right], or [stream] for a self join."
            reader.wrong(name, "It is missing.", right)
    sources = {name: _source(name, reader) for name in names if isinstance(reader.data.get(name), dict)}
    columns = [sources[name].columns if name in sources else None for name in names] * (2 if self_join else 1)
    types = [sources[name].types if name in sources else {} for name in names] * (2 if self_join else 1)
    join = reader.table("join") if isinstance(reader.data.get("join"), dict) else {}
    aliases = ("a", "b") if self_join else ("l", "r")
    window = read_window(reader, columns, types) if "window" in join else None
    scheme = _scheme(reader, join)
    if "on" in join:
        try:
            condition = check_syntax(join["on"], aliases, columns[0], columns[1])
        except WeftError as error:
            reader.complain("join.on", error)
        else:
            _check_served(reader, join, window, has_equality(condition), scheme)
    if "unordered" in join and not self_join:
        reader.wrong("join.unordered", "Only a self join has pairs of one stream.", "remove it, or write [stream].")
    _join_select(reader, join.get("select"), aliases, columns, _kind(reader, join, window))
    spark = reader.table("spark")
    conf = reader.strings("spark.conf", spark.get("conf", {}))
    for key, master in (("spark.master", spark.get("master")), ("spark.conf.spark.master", conf.get("spark.master"))):
        trouble = master_trouble(master) if master else None
        if trouble:
            reader.wrong(key, *trouble)
    for name in names:
        if name in sources:
            _format(reader, f"{name}.format", sources[name].part.format, SOURCES, conf)
    sink = _sink(reader, join)
    _format(reader, "sink.format", sink.format, SINKS, conf)
    empty = SourcePart("", {})
    return CheckedJob(
        path=path,
        left=sources[names[0]].part if names[0] in sources else empty,
        right=None if self_join else sources["right"].part if "right" in sources else empty,
        on=join.get("on", ""),
        window=window or unbounded(),
        sink=sink,
        checkpoint=str(top.get("checkpoint", "")),
        state=_state(reader, join, conf),
        scheme=join.get("scheme", "auto"),
        index=join.get("index", "auto"),
        tasks=join.get("tasks"),
        select=tuple(join["select"]) if "select" in join else None,
        suffix=join.get("suffix", "_right"),
        unordered=join.get("unordered", False),
        how=join.get("how", "inner"),
        pair_id=join.get("pair_id"),
        trigger=_trigger(reader),
        master=spark.get("master"),
        conf=conf,
        lines=reader.lines,
    )


def _format(reader: JobReader, path: str, name: str, known: Sequence[str], conf: dict[str, str]) -> None:
    trouble = format_trouble(name, known, conf) if name else None
    if trouble:
        reader.wrong(path, *trouble)


def _scheme(reader: JobReader, join: dict[str, Any]) -> Scheme | None:
    """Return the scheme that is asked for, with its settings; None where Weft chooses, or it cannot be made."""
    if join.get("scheme", "auto") == "auto":
        return None
    try:
        return scheme_named(join["scheme"])
    except WeftError as error:
        reader.complain("join.scheme", error)
        return None


def _check_served(
    reader: JobReader, join: dict[str, Any], window: Window | None, equality: bool, scheme: Scheme | None
) -> None:  # fmt: skip
    """Refuse what cannot serve the join, as far as condition and window tell; the number of a tumbling window is an equal key."""
    if window is None:
        return
    equality = equality or isinstance(window, (Tumbling, TumblingRows))
    condition, told = f"{join['on']!r} has none", f"the window is {window}"
    met = {
        Need.EQUALITY: (equality, condition),
        Need.WINDOW_IN_TIME: (isinstance(window, Within), told),
        Need.EVENT_TIME: (isinstance(window, (Within, Tumbling)), told),
    }
    for need in () if scheme is None else scheme.needs:
        has, what = met.get(need, (True, ""))
        if not has:
            right = 'write scheme = "auto", or "matrix", which supports any condition.'
            reader.wrong("join.scheme", f"It needs {need.what}, and {what}.", right)
    if join.get("index") == "hash" and not equality:
        what = f"It needs {Need.EQUALITY.what}, and {condition}."
        reader.wrong("join.index", what, 'write index = "auto", or "runs", which supports any condition.')


def _kind(reader: JobReader, join: dict[str, Any], window: Window | None) -> Kind:
    """Return the kind of join that is asked for, an inner one if it is wrong; refuse a window that does not serve it."""
    key, kind = "join.how", INNER
    try:
        kind = kind_named(join.get("how", INNER.name))
        if window is not None:
            check_ends(kind, window)
        key = "join.unordered"
        check_unordered(kind, join.get("unordered", False))
    except SpecError as error:
        reader.complain(key, error)
    return kind


class _Source(NamedTuple):
    """A source, the columns it will have (None where only Spark can tell), and the types that are known."""

    part: SourcePart
    columns: tuple[str, ...] | None
    types: dict[str, str]


def _source(name: str, reader: JobReader) -> _Source:
    table = reader.table(name)
    form = str(table.get("format", "")).lower()
    options = reader.strings(f"{name}.options", table.get("options", {}))
    if "path" in table:
        options["path"] = table["path"]
    elif form in FILES and "path" not in options and "path" not in reader.data[name]:
        reader.wrong(f"{name}.path", "It is missing: a stream of files needs its folder.", 'write path = "data/left".')
    if "max_files_per_trigger" in table:
        options["maxFilesPerTrigger"] = str(table["max_files_per_trigger"])
    kafka_options(reader, name, table, options, kafka=form == "kafka")
    types = FIXED.get(form, {})
    columns = tuple(types) or None
    schema, value = table.get("schema"), table.get("value") if form == "kafka" else None
    if form == "kafka":
        schema, types = kafka_values(reader, name, table)
        columns = tuple(types) or None
        if value is not None and columns is not None:
            types, columns = {**types, METADATA: "STRUCT"}, (*columns, METADATA)
    elif schema is not None:
        try:
            types = schema_types(schema)
            columns = tuple(types)
        except SpecError as error:
            reader.wrong(f"{name}.schema", str(error), 'write a schema such as "id long, ts timestamp, v1 double".')
    elif form in NEEDS_SCHEMA and "schema" not in reader.data[name]:
        right = 'write schema = "id long, ts timestamp, v1 double".'
        reader.wrong(f"{name}.schema", f"It is missing: a stream of {form} files needs a schema.", right)
    if "where" in table:
        try:
            check_condition(table["where"], columns)
        except SpecError as error:
            reader.complain(f"{name}.where", error)
    if "select" in table:
        try:
            columns = selected_columns(table["select"], columns)
            types = selected_types(table["select"], types)
        except SpecError as error:
            reader.complain(f"{name}.select", error)
    elif value is not None and columns is not None:
        columns = tuple(column for column in columns if column != METADATA)
    where, select = table.get("where"), tuple(table["select"]) if "select" in table else None
    return _Source(SourcePart(table.get("format", ""), options, schema, where, select, value), columns, types)


def _join_select(
    reader: JobReader, select: list[str] | None, aliases: tuple[str, str], columns: Sequence[Sequence[str] | None],
    kind: Kind,
) -> None:  # fmt: skip
    """Check that a selection parses and that its columns exist, as far as the columns of the sides are known."""
    known = dict(zip(aliases, columns, strict=True))
    for item in select or ():
        try:
            tree = check_expression(item, None)
        except SpecError as error:
            reader.complain("join.select", error)
            continue
        if not kind.pairs and any(column.table.lower() == aliases[1] for column in tree.find_all(exp.Column)):
            reader.complain("join.select", right_selected(aliases))
        local = {str(name.name).lower() for part in tree.find_all(exp.Lambda) for name in part.expressions}
        for column in tree.find_all(exp.Column):
            parts = [part.name for part in column.parts]
            if isinstance(column.this, exp.Star) or parts[0].lower() in local:
                continue
            own = parts[0].lower() in known and len(parts) > 1
            sides = [known[parts[0].lower()]] if own else [*known.values()]
            _known_column(reader, item, parts[1] if own else parts[0], parts[0] if own else "", sides)


def _known_column(
    reader: JobReader, item: str, name: str, alias: str, sides: Sequence[Sequence[str] | None]
) -> None:  # fmt: skip
    if any(have is None or name.lower() in {one.lower() for one in have} for have in sides):
        return
    have = [one for side in sides for one in side or ()]
    near = get_close_matches(name, have, n=1)
    who = f"{alias} has no column {name!r}. It has" if alias else f"neither side has a column {name!r}. There are"
    names = ", ".join(dict.fromkeys(have))
    right = f"did you mean {near[0]!r}?" if near else "name columns of the sources, such as l.id."
    reader.wrong("join.select", f"{item!r}: {who}: {names}.", right)


def _sink(reader: JobReader, join: dict[str, Any]) -> SinkPart:
    table = reader.table("sink") if isinstance(reader.data.get("sink"), dict) else {}
    form = str(table.get("format", ""))
    options = reader.strings("sink.options", table.get("options", {}))
    if "path" in table:
        options["path"] = table["path"]
    elif form.lower() in FILES and "path" not in options and "path" not in reader.data["sink"]:
        reader.wrong("sink.path", "It is missing: a sink of files needs its folder.", 'write path = "out/pairs".')
    if form.lower() in ("memory", "foreachbatch", "foreach"):
        right = 'write format = "parquet", "kafka", "console" or "noop".'
        reader.wrong("sink.format", f"A {form} sink works only in a Python program, not in a job.", right)
    kafka = form.lower() == "kafka"
    kafka_options(reader, "sink", table, options, kafka=kafka)
    value, key = (table.get("value"), table.get("key")) if kafka else (None, None)
    sink = SinkPart(form, options, table.get("mode", "append"), tuple(table.get("partition_by", ())), value, key)
    if kafka:
        kafka_sink(reader, sink, join)
    return sink


def _trigger(reader: JobReader) -> dict[str, str | bool]:
    table = reader.table("trigger")
    for key in ("available_now", "once"):
        if table.get(key) is False:
            del table[key]
    if len(table) > 1:
        reader.wrong("trigger", f"It has both {' and '.join(table)}.", "keep one of them.")
    if "processing_time" in table:
        try:
            microseconds("processing_time", table["processing_time"])
        except SpecError as error:
            reader.complain("trigger.processing_time", error)
    names = {"available_now": "availableNow", "processing_time": "processingTime", "once": "once"}
    return {names[key]: value for key, value in table.items()}


def _state(reader: JobReader, join: dict[str, Any], conf: dict[str, str]) -> str:
    """Return the state path, made absolute when it is a relative local one: executors have other working folders."""
    path = str(join.get("state") or conf.get("spark.weft.state") or "")
    given = reader.data.get("join", {})
    if not path and isinstance(given, dict) and "state" not in given:
        right = 'write state = "out/state": a folder that the driver and every executor can write.'
        reader.wrong("join.state", "It is missing: Weft persists the rows that can still match there.", right)
        return ""
    if path and "://" not in path and not path.startswith("file:"):
        return str(Path(home(path)).absolute())
    scheme = path.partition(":")[0].lower()
    if path and scheme not in _STORES:
        right = (
            f'write state = "s3{path[len(scheme) :]}".'
            if scheme in ("s3a", "s3n")
            else 'write state = "file:///var/weft".'
        )
        reader.wrong("join.state", f"Weft opens no {scheme}://. It opens local paths and: {', '.join(_STORES)}.", right)
        return ""
    if scheme == "file":  # the others may have to be asked over the network
        try:
            open_folder(path)
        except SpecError as error:
            reader.complain("join.state", error)
            return ""
    return path
