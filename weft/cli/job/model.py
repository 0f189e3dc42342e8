"""What a job file may say: its keys, of which type, with an example of each; the job that comes of it; and its mistakes.

Keys are data, read by the checks and by their hints. Masters and formats, which only Spark knows for sure, are judged by their
form. A job is frozen data. Of its mistakes all are told at once, each with key, line, and what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from typing_extensions import Self

from weft.errors import JobError
from weft.index import GROUP, INDEXES
from weft.routing import PLUGINS, SCHEMES
from weft.spec import Window

__all__ = [
    "FILES", "SINKS", "SOURCES", "SYNONYMS", "TABLES", "WINDOWS", "CheckedJob", "Field", "JobMistakes", "Mistake",
    "SinkPart", "SourcePart", "format_trouble", "master_trouble",
]  # fmt: skip


@dataclass(frozen=True)
class Field:
    """One key: its type in TOML, an example, and whether it must be there."""

    kind: str
    example: str
    required: bool = False
    choices: tuple[str, ...] = ()
    settings: bool = False
    """Whether a choice may carry settings in brackets, which are looked at later."""
    plugins: str = ""
    """The entry points of other packages that offer further choices."""


_SOURCE = {
    "format": Field("text", '"parquet"', required=True),
    "path": Field("text", '"data/left"'),
    "options": Field("table", '{ startingOffsets = "earliest" }'),
    "schema": Field("text", '"id long, ts timestamp, v1 double"'),
    "where": Field("text", '"v1 IS NOT NULL"'),
    "select": Field("texts", '["id", "ts", "v1 * 1000 AS mv"]'),
    "max_files_per_trigger": Field("count", "10"),
    "topic": Field("text", '"readings"'),
    "servers": Field("text", '"localhost:9092"'),
    "value": Field("text", '"json"', choices=("json", "avro")),
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
        "how": Field("text", '"left"'),
        "window": Field(
            "table", '{ kind = "within", span = "10 seconds", on = "ts", delay = "5 seconds" }', required=True
        ),
        "state": Field("text", '"out/state"'),
        "scheme": Field("text", '"auto"', choices=("auto", *SCHEMES), settings=True, plugins=PLUGINS),
        "index": Field("text", '"auto"', choices=("auto", *INDEXES), settings=True, plugins=GROUP),
        "tasks": Field("count", "4"),
        "select": Field("texts", '["l.id AS left_id", "r.*"]'),
        "suffix": Field("text", '"_right"'),
        "unordered": Field("switch", "true"),
        "pair_id": Field("text", '"pair_id"'),
    },
    "sink": {
        "format": Field("text", '"parquet"', required=True),
        "path": Field("text", '"out/pairs"'),
        "options": Field("table", '{ compression = "zstd" }'),
        "mode": Field("text", '"append"', choices=("append",)),
        "partition_by": Field("texts", '["day"]'),
        "topic": Field("text", '"pairs"'),
        "servers": Field("text", '"localhost:9092"'),
        "value": Field("text", '"json"', choices=("json", "avro")),
        "key": Field("text", '"pair_id"'),
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
    "bootstrap_servers": "servers", "brokers": "servers", "topics": "topic", "subscribe": "topic",
}  # fmt: skip
"""What people write instead."""


FILES = ("parquet", "json", "csv", "orc", "avro", "xml", "text")
"""Formats that are folders of files."""

_PACKAGED = ("kafka", "delta", "iceberg", "hudi", "pulsar", "kinesis", "eventhubs", "pubsub", "mongodb")
"""Formats that come with a package, and are often met."""

SOURCES = (*FILES, "binaryFile", "rate", "rate-micro-batch", "socket", *_PACKAGED)
SINKS = (*FILES, "console", "noop", "memory", "foreach", "foreachBatch", *_PACKAGED)

_NEAR = 0.75
"""How alike a format and a known one must be to be taken for a slip: json and jsn are, a package's own name is not."""

_MASTER = re.compile(
    r"local|local\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\]|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn"
    r"|spark://[^,:/\s]+:\d+(,[^,:/\s]+:\d+)*|k8s://\S+|(?!spark:|k8s:)[A-Za-z][A-Za-z0-9+.-]*://\S+"
)


def master_trouble(master: str) -> tuple[str, str] | None:
    """Return what is wrong with a master and what would be right, None if its form is sound.

    >>> master_trouble("local[2]"), master_trouble("lokal[2]")[1]
    (None, 'write "local[2]".')
    """
    if _MASTER.fullmatch(master.strip()):
        return None
    forms = "local, local[4], local[*], spark://host:7077, yarn, k8s://https://host:443"
    word, _, rest = master.partition("[") if "[" in master else master.partition("://")
    near = get_close_matches(word.strip().lower(), ("local", "spark", "yarn", "k8s"), n=1)
    right = f"write one such as {forms.split(', ')[1]!r}."
    if near:
        bracket = rest if re.fullmatch(r"(\*|[1-9]\d*)\]", rest) else "*]"
        host = rest.split("/")[0].split(":")[0] or "host"
        told = {
            "local": f"local[{bracket}",
            "spark": f"spark://{host}:7077",
            "yarn": "yarn",
            "k8s": "k8s://https://host:443",
        }
        right = f'write "{told[near[0]]}".'
    return f"{master!r} is not a master that Spark knows. Masters are: {forms}.", right


def format_trouble(name: str, known: Sequence[str], conf: Mapping[str, str]) -> tuple[str, str] | None:
    """Return what is wrong with a format, and what would be right; None where only Spark can tell."""
    brought = any(key.startswith("spark.jars") for key in conf) or "." in name
    if brought or name.lower() in {one.lower() for one in known}:
        return None
    near = get_close_matches(name.lower(), known, n=1, cutoff=_NEAR)
    if not near:
        return None
    right = f'did you mean "{near[0]}"? A format of a package needs [spark].conf "spark.jars.packages", or its class.'
    return f"Spark has no format {name!r}. Formats are: {', '.join(known)}.", right


@dataclass(frozen=True)
class SourcePart:
    """A stream to read: `[left]`, `[right]` or `[stream]`."""

    format: str
    options: dict[str, str]
    schema: str | None = None
    where: str | None = None
    select: tuple[str, ...] | None = None
    value: str | None = None
    """What the values of a topic are, "json" or "avro"; None where they are left as they are."""


@dataclass(frozen=True)
class SinkPart:
    """Where the pairs go: `[sink]`."""

    format: str
    options: dict[str, str]
    mode: str = "append"
    partition_by: tuple[str, ...] = ()
    value: str | None = None
    """As what rows are written into a topic; None where the selection has made the values."""
    key: str | None = None
    """The column that is the key of a record."""


@dataclass(frozen=True)
class CheckedJob:
    """A job file that holds together. `right` is None for a self join."""

    path: Path
    left: SourcePart
    right: SourcePart | None
    on: str
    window: Window
    sink: SinkPart
    checkpoint: str
    state: str
    scheme: str = "auto"
    index: str = "auto"
    tasks: int | None = None
    select: tuple[str, ...] | None = None
    suffix: str = "_right"
    unordered: bool = False
    how: str = "inner"
    pair_id: str | None = None
    trigger: dict[str, str | bool] = field(default_factory=dict)
    master: str | None = None
    conf: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    """The line of every key, by its dotted path: what Spark finds wrong later is told with it."""

    @property
    def formats(self) -> tuple[str, ...]:
        """Return the formats that it reads and writes, those of values too."""
        parts: list[SourcePart | SinkPart] = [*self.sources.values(), self.sink]
        return tuple(name.lower() for part in parts for name in (part.format, part.value) if name)

    @property
    def sources(self) -> dict[str, SourcePart]:
        """Return what is read, by the name of its table."""
        return {"stream": self.left} if self.right is None else {"left": self.left, "right": self.right}


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong: its key as `[join].on`, its line (0 if the key is not there), and what would be right."""

    key: str
    line: int
    what: str
    right: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the mistake as JSON data."""
        return dict(self.__dict__)

    def __str__(self) -> str:
        place = f"line {self.line}, {self.key}" if self.line else self.key
        return f"{place}: {self.what}" + (f"\n    -> {self.right}" if self.right else "")


class JobMistakes(JobError):
    """Everything that is wrong with one job file."""

    path: str
    mistakes: tuple[Mistake, ...]

    @classmethod
    def found(cls, path: Path, mistakes: list[Mistake]) -> Self:
        """Sort the mistakes by line and say how many there are."""
        ordered = sorted(mistakes, key=lambda mistake: (mistake.line == 0, mistake.line))
        count = f"{len(ordered)} mistakes" if len(ordered) > 1 else "a mistake"
        error = cls.of(f"{path} has {count}.", "\n".join(f"  {mistake}" for mistake in ordered))
        error.path, error.mistakes = str(path), tuple(ordered)
        return error
