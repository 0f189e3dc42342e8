"""Topics of a job: values into columns and back, and what a look at a topic tells before the query starts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.errors import JobError

__all__ = ["SeenTopic", "create_topics", "decoded", "encoded", "look_at_source", "look_at_topic"]

_SERVERS = "kafka.bootstrap.servers"
_METADATA = ("key", "topic", "partition", "offset", "timestamp", "headers")
_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}
"""How times are written; left alone, Spark cuts them to milliseconds."""
_SAMPLE = 50
"""Records of each partition that are looked at."""
_PATIENCE = 10_000
"""Milliseconds that a broker has to answer."""


def decoded(frame: DataFrame, value: str, schema: str) -> DataFrame:
    """Return the columns of the values, and `kafka`, a struct of what a record has beside them."""
    beside = F.struct(*(name for name in _METADATA if name in frame.columns)).alias("kafka")
    return frame.select(_row(value, schema).alias("row"), beside).select("row.*", "kafka")


def _row(value: str, schema: str) -> Column:
    if value == "avro":
        from pyspark.sql.avro.functions import from_avro

        return from_avro(F.col("value"), schema, {"mode": "PERMISSIVE"})
    return F.from_json(F.col("value").cast("string"), schema)


def encoded(frame: DataFrame, value: str, key: str | None) -> DataFrame:
    """Return rows as records: all columns in the value, and one of them as the key."""
    row = F.struct(*(F.col(f"`{name}`") for name in frame.columns))
    if value == "avro":
        from pyspark.sql.avro.functions import to_avro

        body = to_avro(row)
    else:
        body = F.to_json(row, _TIMES)
    keys = [] if key is None else [F.col(f"`{key}`").cast("string").alias("key")]
    return frame.select(*keys, body.alias("value"))


def create_topics(spark: SparkSession, servers: str, names: Sequence[str], partitions: int) -> None:
    """Make topics."""
    jvm: Any = spark._jvm
    new = [jvm.org.apache.kafka.clients.admin.NewTopic(name, partitions, -1) for name in names]
    with _answering({_SERVERS: servers}, "kafka") as conf:
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(conf)
        with closing(admin):
            admin.createTopics(new).all().get()


@dataclass(frozen=True)
class SeenTopic:
    """What a topic holds: partitions, records, and how many of a few records were read with the schema."""

    name: str
    partitions: int
    records: int
    looked_at: int = 0

    def __str__(self) -> str:
        parts = f"{self.partitions} partition{'' if self.partitions == 1 else 's'}"
        seen = f"; the schema reads the last {self.looked_at:,}" if self.looked_at else ""
        return f"topic {self.name}: {parts}, {self.records:,} records{seen}"


def look_at_topic(spark: SparkSession, options: Mapping[str, str], topic: str, where: str) -> SeenTopic | None:
    """Return how large a topic is, None if there is no such topic."""
    with _client(spark, options, where) as consumer:
        ends = _ends(spark, consumer, topic)
    return None if ends is None else SeenTopic(topic, len(ends), sum(last - first for first, last in ends.values()))


def look_at_source(
    spark: SparkSession, options: Mapping[str, str], value: str | None, schema: str | None, where: str
) -> list[SeenTopic]:
    """Look at the topics of `[where]`: that they are there, and that the schema reads their newest values."""
    seen = []
    for topic in filter(None, (part.strip() for part in options.get("subscribe", "").split(","))):
        with _client(spark, options, where) as consumer:
            ends = _ends(spark, consumer, topic)
            if ends is None:
                names = sorted(str(name) for name in consumer.listTopics() if not str(name).startswith("__"))
                raise _no_topic(topic, names, where)
        records = sum(last - first for first, last in ends.values())
        looked = 0
        if value is not None and schema is not None and records:
            looked = _check_values(_newest(spark, options, topic, ends), value, schema, topic, where)
        seen.append(SeenTopic(topic, len(ends), records, looked))
    return seen


def _no_topic(topic: str, names: list[str], where: str) -> JobError:
    near = get_close_matches(topic, names, n=1)
    error = JobError.of(
        f"The broker has no topic {topic!r}.",
        f"It has: {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}." if names else "It has no topics.",
        f"did you mean {near[0]!r}?" if near else "create it first, or name another one.",
    )
    error.argument = f"{where}.topic"
    return error


@contextmanager
def _client(spark: SparkSession, options: Mapping[str, str], where: str) -> Iterator[Any]:
    """Open a consumer with the options of a source or sink; tell if no broker answers."""
    jvm: Any = spark._jvm
    bytes_ = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    with _answering(options, where) as conf:
        conf |= {"key.deserializer": bytes_, "value.deserializer": bytes_}
        with closing(jvm.org.apache.kafka.clients.consumer.KafkaConsumer(conf)) as consumer:
            yield consumer


@contextmanager
def _answering(options: Mapping[str, str], where: str) -> Iterator[dict[str, str]]:
    """Yield the settings of a client; tell if no broker answers it."""
    conf = {key.removeprefix("kafka."): text for key, text in options.items() if key.startswith("kafka.")}
    conf |= {"default.api.timeout.ms": str(_PATIENCE), "request.timeout.ms": str(_PATIENCE)}
    try:
        yield conf
    except Py4JJavaError as error:
        cause = error.java_exception.getCause() or error.java_exception
        told = JobError.of(
            f"Kafka does not answer: {cause.getMessage()}",
            f"The brokers are {conf.get('bootstrap.servers')!r}.",
            "check the address, and options such as kafka.security.protocol.",
        )
        told.argument = f"{where}.servers"
        raise told from None


def _ends(spark: SparkSession, consumer: Any, topic: str) -> dict[int, tuple[int, int]] | None:
    """Return the first and the next offset of every partition."""
    jvm: Any = spark._jvm
    if topic not in {str(name) for name in consumer.listTopics()}:
        return None
    parts = [
        jvm.org.apache.kafka.common.TopicPartition(topic, one.partition()) for one in consumer.partitionsFor(topic)
    ]
    first, last = consumer.beginningOffsets(parts), consumer.endOffsets(parts)
    return {int(part.partition()): (int(first[part]), int(last[part])) for part in parts}


def _newest(
    spark: SparkSession, options: Mapping[str, str], topic: str, ends: Mapping[int, tuple[int, int]]
) -> DataFrame:
    """Return the newest records of a topic."""
    begin = {str(number): max(first, last - _SAMPLE) for number, (first, last) in ends.items()}
    end = {str(number): last for number, (_, last) in ends.items()}
    mine = {key: text for key, text in options.items() if key.startswith("kafka.")}
    reader = spark.read.format("kafka").options(**mine).option("subscribe", topic)
    offsets = {"startingOffsets": begin, "endingOffsets": end}
    return reader.options(**{key: json.dumps({topic: part}) for key, part in offsets.items()}).load()


def _check_values(frame: DataFrame, value: str, schema: str, topic: str, where: str) -> int:
    """Refuse a schema that does not read what is there; return how many values it was tried on."""
    rows = frame.select("value", _row(value, schema).alias("row")).where("value IS NOT NULL").collect()
    if not rows:
        return 0
    trouble = _json_trouble(rows) if value == "json" else _avro_trouble(rows)
    if trouble:
        what, there_is, hint = trouble
        error = JobError.of(f"{what} in the last {len(rows)} records of topic {topic!r}.", there_is, hint)
        error.argument = f"{where}.schema"
        raise error
    return len(rows)


def _json_trouble(rows: list[Any]) -> tuple[str, str, str] | None:
    objects = [found for found in (_object(row["value"]) for row in rows) if found is not None]
    first = bytes(rows[-1]["value"])[:80].decode("utf-8", "replace")
    if not objects:
        return "There is no JSON object", f"The newest value is: {first}", 'write value = "avro" for Avro.'
    names = sorted({name for found in objects for name in found})
    columns = rows[0]["row"].__fields__ if rows[0]["row"] is not None else []
    for column in columns:
        if column not in names:
            near = get_close_matches(column, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "remove the column from the schema."
            return f"There is no {column!r}", f"The values have: {', '.join(names)}.", hint
        given = [(row["row"], (_object(row["value"]) or {}).get(column)) for row in rows if row["row"] is not None]
        there = [(row[column], text) for row, text in given if text is not None]
        if there and all(read is None for read, _ in there):
            return (
                f"The schema reads no {column!r}",
                f"A value of it is {there[-1][1]!r}.",
                "correct its type in schema.",
            )
    return None


def _object(value: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(bytes(value))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _avro_trouble(rows: list[Any]) -> tuple[str, str, str] | None:
    if any(row["row"] is not None and any(field is not None for field in row["row"]) for row in rows):
        return None
    registry = all(bytes(row["value"])[:1] == b"\0" for row in rows)
    there_is = f"The newest value begins with the bytes {bytes(rows[-1]['value'])[:12].hex(' ')}."
    hint = "give the schema that the values were written with."
    if registry:
        hint = "a schema registry's serializer puts five bytes in front, which Spark does not read; see the guide's Kafka page."
    return "The schema reads no value", there_is, hint
