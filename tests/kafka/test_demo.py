"""`weft demo --kafka`, small, against a real broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kafka.topics import Topics
from weft.cli.demo import run_demo

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]


def test_the_demo_through_topics(
    kafka: Topics, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    monkeypatch.setattr(type(spark), "stop", lambda _: None)  # the session is everybody's
    assert run_demo(seconds=6, rate=200, seed=3, out=tmp_path / "demo", kafka=kafka.address, as_json=True) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["equal"] and said["duckdb"] == said["written"] > 0
