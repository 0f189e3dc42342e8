"""The JSON Schema of job files: editors complete keys with it, and mark mistakes while one types.

It is made from the tables that `weft run --check` reads, so both know the same keys. The schema judges one key at a time; what
needs several (columns of the condition, folders inside each other) is left to the check.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.cli.job.described import KEYS, WINDOW_KEYS, WINDOW_KINDS
from weft.cli.job.model import SINKS, SOURCES, TABLES, WINDOWS, Field
from weft.spec import KINDS
from weft.spec.names import installed

__all__ = ["job_schema"]

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
