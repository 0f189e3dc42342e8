"""Job files between topics of a real broker: `--check` looks at topics and schemas, `run` joins."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.cli.test_kafka_job import JOB as WHOLE
from tests.kafka.test_streams import rows
from tests.kafka.topics import Topics
from weft.cli.job import JobMistakes
from weft.cli.run_job import run_job

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

JOB = """checkpoint = "out/checkpoint"
[left]
format = "kafka"
servers = "SERVERS"
topic = "LEFT"
value = "json"
schema = "id long, ts timestamp, x long"
options = { startingOffsets = "earliest" }
[right]
format = "kafka"
servers = "SERVERS"
topic = "RIGHT"
value = "avro"
schema = '''{"type": "record", "name": "row", "fields": [{"name": "id", "type": ["long", "null"]},
 {"name": "ts", "type": [{"type": "long", "logicalType": "timestamp-micros"}, "null"]},
 {"name": "x", "type": ["long", "null"]}]}'''
options = { startingOffsets = "earliest" }
[join]
on = "l.x = r.x"
window = { kind = "within", span = "5 seconds", on = "ts", delay = "1 minute" }
select = ["l.id AS l", "r.id AS r"]
pair_id = "pair"
state = "out/state"
[sink]
format = "kafka"
servers = "SERVERS"
topic = "OUT"
value = "json"
key = "pair"
[trigger]
available_now = true
"""


def test_a_job_from_json_and_avro_to_json(
    kafka: Topics, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    from pyspark.sql.avro.functions import to_avro

    assert WHOLE  # its mistakes are in tests/cli
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)  # the session is everybody's
    left, right, out = (kafka.create(name) for name in ("left", "right", "out"))
    names = {"SERVERS": kafka.address, "LEFT": left, "RIGHT": right, "OUT": out}
    text = JOB
    for name, value in names.items():
        text = text.replace(f'"{name}"', f'"{value}"')
    kafka.send(left, rows(0, 40, 7))
    ours = spark.createDataFrame(
        [(row["id"], row["ts"], row["x"]) for row in rows(0, 40, 7)], "id long, ts string, x long"
    )
    records = ours.withColumn("ts", F.col("ts").cast("timestamp")).select(
        to_avro(F.struct("id", "ts", "x")).alias("value")
    )
    records.write.format("kafka").option("kafka.bootstrap.servers", kafka.address).option("topic", right).save()
    job = tmp_path / "job.toml"
    far = '{"type": "fixed", "name": "far", "size": 99}'

    def mistake(old: str, new: str) -> str:
        job.write_text(text.replace(old, new))
        with pytest.raises(JobMistakes) as caught:
            run_job(job, check=True, master=None, as_json=False)
        return str(caught.value)

    job.write_text(text)
    assert run_job(job, check=True, master=None, as_json=False) == 0
    said = capsys.readouterr().out
    assert f"topic {left}: 2 partitions, 40 records; the schema reads the last 40" in said and "no mistakes" in said
    assert not (tmp_path / "out").exists(), "a check leaves nothing behind"
    assert f"did you mean '{left}'?" in mistake(f'"{left}"', f'"{left}x"')
    assert "There is no 'y'" in mistake("ts timestamp, x long", "ts timestamp, x long, y long")
    assert "The schema reads no 'x'" in mistake("ts timestamp, x long", "ts timestamp, x date")
    assert "The schema reads no value" in mistake('"id", "type": ["long", "null"]', f'"id", "type": {far}')
    assert "Kafka does not answer" in mistake(
        f'"{kafka.address}"\ntopic = "{left}"', f'"127.0.0.1:9"\ntopic = "{left}"'
    )

    job.write_text(text)
    assert run_job(job, check=False, master=None, as_json=False) == 0
    found = kafka.rows(out)
    assert sorted((row["l"], row["r"]) for row in found) == [(i, i) for i in range(40)]
    assert len({row["_key"] for row in found}) == 40 and all(row["_key"] == row["pair"] for row in found)
