"""The JSON Schema of job files: editors complete keys with it, and mark mistakes while one types.

It is made from the tables that `weft run --check` reads, so both know the same keys, and from a sentence that says what each key
means, which the reference shows too. The schema judges one key at a time; what needs several (columns of the condition, folders
inside each other) is left to the check.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.cli.job.model import SINKS, SOURCES, TABLES, WINDOWS, Field
from weft.spec import KINDS
from weft.spec.names import installed

__all__ = ["KEYS", "WINDOW_KEYS", "WINDOW_KINDS", "job_schema"]

_SOURCE = {
    "format": "The format of the stream, as in Spark's readStream.",
    "path": "The folder, or a pattern of folders, where files arrive.",
    "options": "Options of the format, as in Spark.",
    "schema": "The columns and their types, as SQL writes them. Required for files.",
    "where": "A filter on the rows of this source.",
    "select": "The columns of this source, as SQL expressions; by default all.",
    "max_files_per_trigger": "How many files one batch reads at most.",
    "topic": "Of Kafka: the topic, or several with commas between them.",
    "servers": "Of Kafka: the addresses of brokers.",
    "value": "Of Kafka: what the values are, json or avro. Without it, the source has the connector's own columns.",
}

KEYS: dict[str, dict[str, str]] = {
    "": {
        "checkpoint": "Spark's checkpoint folder. Keep it together with the state: a restart needs both.",
        "left": "The left stream, `l` in the condition.",
        "right": "The right stream, `r` in the condition.",
        "stream": "The stream of a self join, `a` and `b` in the condition; instead of left and right.",
        "join": "The join.",
        "sink": "Where the result goes.",
        "trigger": "When batches run; without it, one after the other.",
        "spark": "The Spark session.",
    },
    "left": _SOURCE,
    "right": _SOURCE,
    "stream": _SOURCE,
    "join": {
        "on": "The condition, SQL over `l` and `r`; in a self join over `a` and `b`.",
        "how": "The kind of join; by default inner.",
        "window": "Which rows are close enough to pair.",
        "state": "The folder where Weft keeps rows that can still match. The driver and all executors must be able to write it.",
        "scheme": "How the join is spread over tasks; by default Weft chooses.",
        "index": "How a task finds matches; by default Weft chooses.",
        "tasks": "The number of join tasks; by default one per core.",
        "select": "The columns of the result, as SQL expressions over `l` and `r`; by default all.",
        "suffix": "What is added to a right column that has the name of a left one.",
        "unordered": "In a self join: return each pair once, not in both orders.",
        "pair_id": "The name of a column that identifies each row of the result and stays the same when a batch runs again.",
    },
    "sink": {
        "format": "The format of the sink, as in Spark's writeStream.",
        "path": "The folder of the result.",
        "options": "Options of the format, as in Spark.",
        "mode": "The output mode.",
        "partition_by": "Columns by which the files are put into folders.",
        "topic": "Of Kafka: the topic of the result.",
        "servers": "Of Kafka: the addresses of brokers.",
        "value": "Of Kafka: as what rows are written, json or avro. Without it, the selection makes key and value.",
        "key": "Of Kafka: the column that becomes the key of the record.",
    },
    "trigger": {
        "available_now": "Process all data that is there, in several batches, then stop.",
        "processing_time": "Start a batch this often.",
        "once": "Process all data that is there in one batch, then stop.",
    },
    "spark": {
        "master": "Where Spark runs; by default all cores of this machine.",
        "conf": "Further settings of Spark, and those of Weft.",
    },
}
"""The meaning of each key, by table; "" is the top of the file."""

_TIME = {
    "kind": "The kind of window.",
    "on": "The time column of both sides.",
    "left": "The column of the left side, if the sides have different names for it.",
    "right": "The column of the right side, if the sides have different names for it.",
    "delay": "How late a row may be, behind the newest row of its stream. Later rows are dropped and counted.",
    "left_delay": "The delay of the left side alone.",
    "right_delay": "The delay of the right side alone.",
}
_ROWS = {**_TIME, "order": "The column that orders the rows of both sides; by default their arrival."}

WINDOW_KEYS: dict[str, dict[str, str]] = {
    "within": {
        **_TIME,
        "span": "How far apart the two times may be.",
        "before": "How much earlier the right row may be; instead of span.",
        "after": "How much later the right row may be; instead of span.",
    },
    "last": {**_ROWS, "rows": "How many rows of the other stream a row can meet."},
    "tumbling": {**_TIME, "size": "The length of a window, counted from the epoch."},
    "tumbling_rows": {**_ROWS, "rows": "How many rows of each stream make a group."},
    "unbounded": _TIME,
}
"""The meaning of each key of a window, by its kind."""

WINDOW_KINDS = {
    "within": "Rows whose times are at most a span apart.",
    "last": "Each row with the last rows of the other stream.",
    "tumbling": "Rows whose times fall into the same window.",
    "tumbling_rows": "Rows that are in the same group of rows, counted on each side.",
    "unbounded": "All rows. The state grows without bound.",
}


_SETTING = {"type": ["string", "number", "boolean", "object"]}
"""A value of options and conf; `a.b = 1` without quotes is a table to TOML, and one key to Spark."""

_NOT_BLANK = r"\S"

_KNOWN: dict[str, tuple[str, ...]] = {
    "left.format": SOURCES,
    "right.format": SOURCES,
    "stream.format": SOURCES,
    "sink.format": tuple(name for name in SINKS if name not in ("memory", "foreach", "foreachBatch")),
    "join.how": tuple(KINDS),
}
"""Names to complete; Spark may know more of them."""

_EITHER = [
    {"required": ["left", "right"], "not": {"required": ["stream"]}},
    {"required": ["stream"], "not": {"anyOf": [{"required": ["left"]}, {"required": ["right"]}]}},
]
"""A job has two streams or joins one with itself."""


def job_schema() -> dict[str, Any]:
    """Return the schema as JSON data.

    >>> schema = job_schema()
    >>> schema["required"], schema["$defs"]["trigger"]["properties"]["available_now"]["type"]
    (['checkpoint', 'join', 'sink'], 'boolean')
    """
    below = {name: _table(name, fields, KEYS.get(name, {})) for name, fields in TABLES.items() if name}
    below["join"]["properties"]["window"] = {"description": KEYS["join"]["window"], **_windows()}
    top = _table("", TABLES[""], KEYS[""])
    for name in below:
        top["properties"][name] = {"$ref": f"#/$defs/{name}", "description": KEYS[""].get(name, "")}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",  # what editors for TOML read
        "title": "Weft job file",
        "description": "Two streams, a join and a sink, for `weft run`.",
        **top,
        "oneOf": _EITHER,
        "$defs": below,
    }


def _table(name: str, fields: Mapping[str, Field], about: Mapping[str, str]) -> dict[str, Any]:
    prefix = f"{name}." if name else ""
    table: dict[str, Any] = {
        "type": "object",
        "properties": {key: _value(f"{prefix}{key}", field, about.get(key, "")) for key, field in fields.items()},
        "additionalProperties": False,
    }
    required = [key for key, field in fields.items() if field.required]
    return table | ({"required": required} if required else {})


def _value(path: str, field: Field, about: str) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = {
        "text": {"type": "string", "pattern": _NOT_BLANK},
        "texts": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "switch": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 1},
        "duration": {"type": ["string", "integer"]},
        "table": {"type": "object", "additionalProperties": _SETTING},
    }
    value: dict[str, Any] = kinds[field.kind]
    if field.choices:
        value = _choice(field)
    elif path in _KNOWN:
        value = {"anyOf": [{"enum": list(_KNOWN[path])}, value]}
    return {**({"description": about} if about else {}), **value}


def _choice(field: Field) -> dict[str, Any]:
    """Return one of several names; with settings in brackets where a choice takes them, or one that a package brings."""
    names = [*field.choices, *(installed(field.plugins) if field.plugins else ())]
    names = list(dict.fromkeys(names))
    if not field.settings:
        return {"enum": names}
    return {"anyOf": [{"enum": names}, {"type": "string", "pattern": rf"^\s*({'|'.join(names)})\s*\(.*$"}]}


def _windows() -> dict[str, Any]:
    """Return the schema of `[join].window`: the keys depend on the kind."""
    kinds = []
    for kind, fields in WINDOWS.items():
        table = _table("", fields, WINDOW_KEYS.get(kind, {}))
        table["properties"]["kind"] = {"const": kind, "description": WINDOW_KINDS.get(kind, "")}
        kinds.append({"title": kind, "description": WINDOW_KINDS.get(kind, ""), **table})
    return {"type": "object", "required": ["kind"], "oneOf": kinds}
