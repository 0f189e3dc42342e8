"""Topics in job files: what is read, and every mistake with its key and what would be right. No broker is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.cli.job import CheckedJob, JobMistakes, load_job
from weft.spark.packages import with_packages

JOB = """checkpoint = "out/checkpoint"
[left]
format = "kafka"
servers = "localhost:9092"
topic = "readings"
value = "json"
schema = "id long, ts timestamp, x double"
where = "kafka.partition < 4"
[right]
format = "kafka"
servers = "localhost:9092"
topic = "limits"
value = "avro"
schema = "limit.avsc"
[join]
on = "l.x > r.y"
window = { kind = "within", span = "10 seconds", on = "ts", delay = "5 seconds" }
select = ["l.id", "r.id AS other"]
pair_id = "pair"
state = "out/state"
[sink]
format = "kafka"
servers = "localhost:9092"
topic = "pairs"
value = "json"
key = "pair"
"""
LIMIT = {
    "type": "record", "name": "limit",
    "fields": [
        {"name": "id", "type": "long"}, {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "y", "type": ["null", "double"]},
    ],
}  # fmt: skip


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "limit.avsc").write_text(json.dumps(LIMIT))

    def read(text: str = JOB) -> CheckedJob:
        (tmp_path / "job.toml").write_text(text, encoding="utf-8")
        return load_job(Path("job.toml"))

    return read


def test_a_job_between_topics(load) -> None:
    job = load()
    assert job.left.options == {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "readings"}
    assert (job.left.value, job.left.schema) == ("json", "id long, ts timestamp, x double")
    assert job.right.value == "avro" and json.loads(job.right.schema) == LIMIT
    assert job.sink.options == {"kafka.bootstrap.servers": "localhost:9092", "topic": "pairs"}
    assert (job.sink.value, job.sink.key, job.pair_id) == ("json", "pair", "pair")
    assert set(job.formats) == {"kafka", "json", "avro"}


def test_a_topic_without_values_has_sparks_own_columns(load) -> None:
    plain = 'format = "kafka"\nservers = "h:1"\ntopic = "a"\nselect = ["CAST(value AS DOUBLE) AS x", "timestamp AS ts", "offset AS id"]\n'
    left = JOB[JOB.index("[left]") : JOB.index("[right]")]
    assert load(JOB.replace(left, f"[left]\n{plain}")).left.value is None


# ruff: noqa: E501  one mistake per line reads as a table
MISTAKES = {
    "no topic": (('topic = "readings"\n', ""), "[left].topic", "which topic is read"),
    "no servers": (('format = "kafka"\nservers = "localhost:9092"\ntopic = "readings"', 'format = "kafka"\ntopic = "readings"'), "[left].servers", 'write servers = "localhost:9092"'),
    "no schema": (('schema = "id long, ts timestamp, x double"\n', ""), "[left].schema", "what do the json values hold?"),
    "schema without value": (('value = "json"\nschema', "schema"), "[left].schema", 'add value = "json"'),
    "no such value": (('value = "json"\nschema', 'value = "jsn"\nschema'), "[left].value", "did you mean 'json'?"),
    "no schema file": (('"limit.avsc"', '"limits.avsc"'), "[right].schema", "The file limits.avsc cannot be read"),
    "no avro schema": (('"limit.avsc"', "'{\"a\": 1}'"), "[right].schema", "is not an Avro schema"),
    "column of a value": (("r.y", "r.z"), "[join].on", "The right side has no column 'z'. It has: id, ts, y"),
    "metadata is not selected by itself": (("l.x > r.y", "l.kafka > r.y"), "[join].on", "has no column 'kafka'"),
    "key": (('key = "pair"', 'key = "pairs"'), "[sink].key", "It has: id, other, pair."),
    "key without value": (('value = "json"\nkey', "key"), "[sink].key", "It needs value"),
    "sink without value": (('value = "json"\nkey = "pair"\n', ""), "[sink].value", "a record needs a value, and the selection has id, other, pair"),
    "sink is source": (('topic = "pairs"', 'topic = "limits"'), "[sink].topic", "It is the topic of [right].topic (line 12)"),
    "topic of files": (('format = "kafka"\nservers = "localhost:9092"\ntopic = "pairs"', 'format = "parquet"\npath = "out/pairs"\ntopic = "pairs"'), "[sink].topic", "Only topics have it"),
    "other name of a key": (("servers = \"localhost:9092\"\ntopic = \"pairs\"", "brokers = \"localhost:9092\"\ntopic = \"pairs\""), "[sink].brokers", "did you mean 'servers'?"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_is_told(load, name: str) -> None:
    (old, new), key, said = MISTAKES[name]
    assert JOB.count(old) == 1
    with pytest.raises(JobMistakes) as caught:
        load(JOB.replace(old, new))
    found = {mistake.key: f"{mistake.what} {mistake.right}" for mistake in caught.value.mistakes}
    assert said in found[key]


def test_packages_are_those_of_the_running_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.spark.packages.version", lambda _: "4.2.1")
    monkeypatch.setattr("weft.spark.packages.said_outside", dict)
    kafka, avro = (f"org.apache.spark:{name}_2.13:4.2.1" for name in ("spark-sql-kafka-0-10", "spark-avro"))
    assert with_packages({}, ["parquet"]) == {}
    assert with_packages({}, ["kafka", "json", "kafka"]) == {"spark.jars.packages": kafka}
    assert with_packages({"spark.jars.packages": "a:b:1"}, ["kafka", "avro"]) == {
        "spark.jars.packages": f"a:b:1,{kafka},{avro}"
    }
    own = {"spark.jars": "/opt/spark-sql-kafka-0-10_2.13-4.1.1.jar"}
    assert with_packages(own, ["kafka"]) == own
