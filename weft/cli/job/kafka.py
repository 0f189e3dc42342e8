"""Topics in a job file: what has to be there, and which columns the values give, as far as the file tells."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.cli.job.expressions import FIXED, schema_types, selected_columns
from weft.cli.job.model import CheckedJob, SinkPart, SourcePart
from weft.cli.job.reader import JobReader, shown
from weft.errors import SpecError

__all__ = ["KEYS", "METADATA", "check_topics_apart", "kafka_options", "kafka_sink", "kafka_values"]

KEYS = ("topic", "servers", "value", "key")
"""Keys of a job file that only topics have."""

METADATA = "kafka"
"""The column of a decoded source that holds what the record has beside its value."""

_SERVERS = "kafka.bootstrap.servers"
_WHICH = ("subscribe", "subscribePattern", "assign")
_AVRO = {
    "long": "BIGINT", "int": "INT", "double": "DOUBLE", "float": "FLOAT", "string": "TEXT", "boolean": "BOOLEAN",
    "bytes": "BINARY", "record": "STRUCT", "array": "ARRAY", "map": "MAP", "enum": "TEXT", "fixed": "BINARY",
}  # fmt: skip
_LOGICAL = {
    "timestamp-millis": "TIMESTAMPTZ", "timestamp-micros": "TIMESTAMPTZ", "local-timestamp-millis": "TIMESTAMP",
    "local-timestamp-micros": "TIMESTAMP", "date": "DATE", "decimal": "DECIMAL",
}  # fmt: skip


def kafka_options(
    reader: JobReader, name: str, table: Mapping[str, Any], options: dict[str, str], *, kafka: bool
) -> None:
    """Turn the keys of a topic into Spark's options; `kafka` tells whether the format is Kafka's."""
    if not kafka:
        for key in KEYS:
            if key in table:
                reader.wrong(f"{name}.{key}", "Only topics have it.", f'write format = "kafka", or remove {key}.')
        return
    source = name != "sink"
    if "servers" in table:
        options[_SERVERS] = table["servers"]
    elif _SERVERS not in options and "servers" not in reader.data[name]:
        what = "It is missing: a topic needs the addresses of its brokers."
        reader.wrong(f"{name}.servers", what, 'write servers = "localhost:9092".')
    if "topic" in table:
        options["subscribe" if source else "topic"] = table["topic"]
    elif source and not any(key in options for key in _WHICH) and "topic" not in reader.data[name]:
        reader.wrong(f"{name}.topic", "It is missing: which topic is read?", 'write topic = "readings".')


def kafka_values(
    reader: JobReader, name: str, table: Mapping[str, Any]
) -> tuple[str | None, dict[str, str]]:  # fmt: skip
    """Return the schema of a topic's values as Spark is told, and the columns that they give with their types."""
    value, schema = table.get("value"), table.get("schema")
    if value is None and "value" in reader.data[name]:  # it is told what is wrong with it
        return None, {}
    if value is None:
        if schema is not None:
            what = "Without value, a topic has Spark's own columns: key, value, topic, partition, offset, timestamp."
            reader.wrong(f"{name}.schema", what, 'add value = "json", or remove schema.')
        return None, FIXED["kafka"]
    if schema is None:
        if "schema" not in reader.data[name]:
            example = '"id long, ts timestamp, v1 double"' if value == "json" else '"reading.avsc"'
            reader.wrong(
                f"{name}.schema", f"It is missing: what do the {value} values hold?", f"write schema = {example}."
            )
        return None, {}
    try:
        return (schema, schema_types(schema)) if value == "json" else _avro(schema)
    except SpecError as error:
        right = "id long, ts timestamp, v1 double" if value == "json" else "reading.avsc"
        reader.wrong(f"{name}.schema", str(error), f'write a schema such as "{right}".')
        return None, {}


def _avro(schema: str) -> tuple[str, dict[str, str]]:
    """Read an Avro schema: the file of that name, or the text itself."""
    text = schema
    if not schema.lstrip().startswith("{"):
        try:
            text = Path(schema).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError.of(f"The file {schema} cannot be read: {error}.") from None
    try:
        record = json.loads(text)
        return text, {str(field["name"]): _kind(field["type"]) for field in record["fields"]}
    except (ValueError, KeyError, TypeError):
        raise SpecError.of(f"{schema} is not an Avro schema of a record.") from None


def _kind(kind: Any) -> str:
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        return _kind(others[0]) if len(others) == 1 else ""
    if isinstance(kind, dict):
        return _LOGICAL.get(str(kind.get("logicalType"))) or _kind(kind.get("type"))
    return _AVRO.get(str(kind), "")


def kafka_sink(reader: JobReader, sink: SinkPart, join: Mapping[str, Any]) -> None:
    """Refuse a topic without values, and a key that is no column of the result."""
    select: Sequence[str] | None = join.get("select")
    try:
        columns = None if select is None else selected_columns(select, None)
    except SpecError:  # told where the selection is checked
        return
    if columns is not None and "pair_id" in join:
        columns = (*columns, str(join["pair_id"]))
    if sink.value is None:
        if sink.key is not None:
            reader.wrong("sink.key", "It needs value.", 'add value = "json".')
        elif columns is not None and "value" not in columns:
            what = f"It is missing: a record needs a value, and the selection has {', '.join(columns)}."
            reader.wrong("sink.value", what, 'write value = "json".')
    elif sink.key is not None and columns is not None and sink.key not in columns:
        reader.wrong("sink.key", f"The result has no column {sink.key!r}. It has: {', '.join(columns)}.")


def check_topics_apart(reader: JobReader, job: CheckedJob) -> None:
    """Refuse a sink topic that is also read: pairs would come back as rows."""
    sources: dict[str, SourcePart | None] = {
        "left" if job.right is not None else "stream": job.left,
        "right": job.right,
    }
    out = _topics(job.sink.options, "topic")
    for name, part in sources.items():
        if part is not None and part.format.lower() == job.sink.format.lower() == "kafka":
            same_broker = part.options.get(_SERVERS) == job.sink.options.get(_SERVERS)
            if same_broker and out & _topics(part.options, "subscribe"):
                line = reader.line(f"{name}.topic")
                what = f"It is the topic of {shown(f'{name}.topic')} (line {line}): pairs would come back as rows."
                reader.wrong("sink.topic", what, 'give it its own topic, such as topic = "pairs".')


def _topics(options: Mapping[str, str], key: str) -> set[str]:
    return {topic.strip() for topic in options.get(key, "").split(",") if topic.strip()}
