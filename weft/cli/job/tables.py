"""Which keys a job file may have, of which type, with an example of each: data, read by the checks and by their hints."""

from __future__ import annotations

from dataclasses import dataclass

from weft.index import INDEXES
from weft.routing.schemes import SCHEMES

__all__ = ["SYNONYMS", "TABLES", "WINDOWS", "Field"]


@dataclass(frozen=True)
class Field:
    """One key: its type in TOML, an example, and whether it must be there."""

    kind: str
    example: str
    required: bool = False
    choices: tuple[str, ...] = ()
    settings: bool = False
    """Whether a choice may carry settings in brackets, which are looked at later."""


_SOURCE = {
    "format": Field("text", '"parquet"', required=True),
    "path": Field("text", '"data/left"'),
    "options": Field("table", '{ startingOffsets = "earliest" }'),
    "schema": Field("text", '"id long, ts timestamp, v1 double"'),
    "where": Field("text", '"v1 IS NOT NULL"'),
    "select": Field("texts", '["id", "ts", "v1 * 1000 AS mv"]'),
    "max_files_per_trigger": Field("count", "10"),
}

TABLES: dict[str, dict[str, Field]] = {
    "": {
        "checkpoint": Field("text", '"out/checkpoint"', required=True),
        "left": Field("table", ""),
        "right": Field("table", ""),
        "stream": Field("table", ""),
        "join": Field("table", "", required=True),
        "sink": Field("table", "", required=True),
        "trigger": Field("table", ""),
        "spark": Field("table", ""),
    },
    "left": _SOURCE,
    "right": _SOURCE,
    "stream": _SOURCE,
    "join": {
        "on": Field("text", '"l.v1 > r.v2 AND l.i1 < r.i2"', required=True),
        "window": Field(
            "table", '{ kind = "within", span = "10 seconds", on = "ts", delay = "5 seconds" }', required=True
        ),
        "state": Field("text", '"out/state"'),
        "scheme": Field("text", '"auto"', choices=("auto", *SCHEMES)),
        "index": Field("text", '"auto"', choices=("auto", *INDEXES), settings=True),
        "tasks": Field("count", "4"),
        "select": Field("texts", '["l.id AS left_id", "r.*"]'),
        "suffix": Field("text", '"_right"'),
        "unordered": Field("switch", "true"),
    },
    "sink": {
        "format": Field("text", '"parquet"', required=True),
        "path": Field("text", '"out/pairs"'),
        "options": Field("table", '{ compression = "zstd" }'),
        "mode": Field("text", '"append"', choices=("append",)),
        "partition_by": Field("texts", '["day"]'),
    },
    "trigger": {
        "available_now": Field("switch", "true"),
        "processing_time": Field("text", '"5 seconds"'),
        "once": Field("switch", "true"),
    },
    "spark": {
        "master": Field("text", '"local[*]"'),
        "conf": Field("table", '{ "spark.driver.memory" = "4g" }'),
    },
}
"""Keys by table; "" is the top of the file."""

_SIDES = {"left": Field("text", '"ts"'), "right": Field("text", '"ts"')}
_KIND = {"kind": Field("text", '"within"', required=True)}

WINDOWS: dict[str, dict[str, Field]] = {
    "within": {
        **_KIND, "span": Field("duration", '"10 seconds"'), "before": Field("duration", '"1 minute"'),
        "after": Field("duration", '"0 seconds"'), "on": Field("text", '"ts"'), **_SIDES,
        "delay": Field("duration", '"5 seconds"'),
        "left_delay": Field("duration", '"5 seconds"'),
        "right_delay": Field("duration", '"5 seconds"'),
    },
    "last": {**_KIND, "rows": Field("count", "100_000", required=True), "order": Field("text", '"ts"'), **_SIDES},
    "tumbling": {
        **_KIND, "size": Field("duration", '"1 minute"', required=True), "on": Field("text", '"ts"'), **_SIDES,
        "delay": Field("duration", '"5 seconds"'),
        "left_delay": Field("duration", '"5 seconds"'),
        "right_delay": Field("duration", '"5 seconds"'),
    },
    "tumbling_rows": {**_KIND, "rows": Field("count", "1_000", required=True), "order": Field("text", '"ts"'), **_SIDES},
    "unbounded": _KIND,
}  # fmt: skip
"""Keys of `[join].window` by its kind."""

SYNONYMS = {
    "columns": "select", "filter": "where", "condition": "on", "predicate": "on", "output_mode": "mode",
    "outputMode": "mode", "partitionBy": "partition_by", "maxFilesPerTrigger": "max_files_per_trigger",
    "availableNow": "available_now", "processingTime": "processing_time", "checkpointLocation": "checkpoint",
    "checkpoint_location": "checkpoint", "n": "rows", "duration": "span", "watermark": "delay", "config": "conf",
}  # fmt: skip
"""What people write instead."""
