"""Topics of a broker as tests use them: made, filled and read back through the Kafka client in the session's JVM."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

__all__ = ["Topics", "as_json"]


@dataclass(frozen=True)
class Topics:
    """A session, and the broker that it talks to."""

    spark: SparkSession
    address: str

    def create(self, name: str = "topic", partitions: int = 2) -> str:
        """Make a topic whose name nobody else has."""
        name = f"{name}-{uuid.uuid4().hex[:8]}"
        jvm: Any = self.spark._jvm
        with closing(self._admin()) as admin:
            new = jvm.org.apache.kafka.clients.admin.NewTopic(name, partitions, 1)
            admin.createTopics([new]).all().get()
        return name

    def grow(self, topic: str, partitions: int) -> None:
        """Add partitions."""
        jvm: Any = self.spark._jvm
        more = jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(partitions)
        with closing(self._admin()) as admin:
            admin.createPartitions({topic: more}).all().get()

    def forget(self, topic: str, partition: int, before: int) -> None:
        """Delete the records of a partition before an offset, as the broker does when their time is over."""
        jvm: Any = self.spark._jvm
        part = jvm.org.apache.kafka.common.TopicPartition(topic, partition)
        # A static method that a getter has the name of: only reflection finds it.
        kind = jvm.org.apache.kafka.clients.admin.RecordsToDelete._java_lang_class
        gateway: Any = self.spark.sparkContext._gateway
        types, given = gateway.new_array(jvm.java.lang.Class, 1), gateway.new_array(jvm.java.lang.Object, 1)
        types[0], given[0] = jvm.java.lang.Long.TYPE, jvm.java.lang.Long.valueOf(before)
        until = kind.getMethod("beforeOffset", types).invoke(None, given)
        with closing(self._admin()) as admin:
            admin.deleteRecords({part: until}).all().get()

    def send(self, topic: str, rows: Iterable[Mapping[str, Any]], partition: int | None = None) -> None:
        """Send rows as JSON, in turns to the topic's partitions unless one is named; return when the broker has them."""
        jvm: Any = self.spark._jvm
        text = "org.apache.kafka.common.serialization.StringSerializer"
        with closing(jvm.org.apache.kafka.clients.producer.KafkaProducer(self._conf(text))) as producer:
            parts = int(producer.partitionsFor(topic).size())
            for number, row in enumerate(rows):
                part = number % parts if partition is None else partition
                value = json.dumps(row)
                producer.send(jvm.org.apache.kafka.clients.producer.ProducerRecord(topic, part, None, value))
            producer.flush()

    def stream(self, topic: str, schema: str, **options: str) -> DataFrame:
        """Return the stream of a topic of JSON values."""
        settings = {"startingOffsets": "earliest", **options}
        frame = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.address)
        found = frame.option("subscribe", topic).options(**settings).load()
        return found.select(F.from_json(F.col("value").cast("string"), schema).alias("row")).select("row.*")

    def rows(self, topic: str) -> list[dict[str, Any]]:
        """Return the values of all records of a topic; each has its key as `_key`."""
        frame = self.spark.read.format("kafka").option("kafka.bootstrap.servers", self.address)
        found = frame.option("subscribe", topic).option("startingOffsets", "earliest").load()
        records = found.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)").collect()
        return [{**json.loads(record["value"]), "_key": record["key"]} for record in records]

    def _conf(self, serializer: str = "") -> dict[str, str]:
        more = {"key.serializer": serializer, "value.serializer": serializer} if serializer else {}
        return {"bootstrap.servers": self.address, **more}

    def _admin(self) -> Any:
        jvm: Any = self.spark._jvm
        return jvm.org.apache.kafka.clients.admin.AdminClient.create(self._conf())


def as_json(frame: DataFrame, key: str, columns: Sequence[str] = ()) -> DataFrame:
    """Return rows as records of a topic: a key, and the rest as JSON."""
    return frame.select(F.col(key).alias("key"), F.to_json(F.struct(*(columns or frame.columns))).alias("value"))
