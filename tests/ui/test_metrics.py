"""Metrics: what is exported is what is documented, and a real Prometheus scrapes it and raises the alarm."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.ui.hot_stream import hot_stream, wait_for
from weft.errors import SpecError
from weft.observe import address_of, prometheus
from weft.observe.prometheus import METRICS, Exporter
from weft.spark.measured import JoinBatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "monitoring"
PROMETHEUS = shutil.which("prometheus")
KNOWN = {metric.name for metric in METRICS} | {"weft_batch_seconds_bucket"}


def scraped(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line.startswith("weft"))}


def test_the_guide_lists_the_metrics_as_they_are() -> None:
    page = (ROOT / "docs" / "guide" / "watching.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(weft_\w+)` \| (\w+) \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    assert rows == [(one.name, one.kind, ", ".join(f"`{label}`" for label in one.labels), one.help) for one in METRICS]


@pytest.mark.parametrize("file", ["grafana.json", "alerts.yml"])
def test_dashboard_and_rules_use_metrics_that_there_are(file: str) -> None:
    text = (EXAMPLES / file).read_text(encoding="utf-8")
    used = set(re.findall(r"\bweft_\w+", text))
    assert len(used) > 4 and used <= KNOWN
    if file == "grafana.json":
        assert {metric.name.removesuffix("_total") for metric in METRICS} - {name.removesuffix("_total").removesuffix("_bucket")
                for name in used} == set(), "a metric is not on the dashboard"  # fmt: skip
        assert len({panel["id"] for panel in json.loads(text)["panels"]}) == len(json.loads(text)["panels"])


def test_batches_become_metrics() -> None:
    exporter = Exporter("127.0.0.1", 0)
    try:
        counts = {"left_rows": 5, "right_rows": 7, "left_late": 2, "state_rows": 100, "state_bytes": 9, "state_fullest": 50,
                  "state_tasks": 4, "migrations": 1}  # fmt: skip
        for number in (3, 4):
            exporter.batch(JoinBatch("ticks", "id-1", "weft", number, 2.0, 1.0, 11, counts))
        exporter.ended("id-1", "it broke")
        found = scraped(exporter.port)
        labels = '{id="id-1",join="weft",query="ticks"'
        assert found[f'weft_rows_total{labels},side="right"}}'] == 14
        assert found[f'weft_late_rows_total{labels},side="left"}}'] == 4
        assert found[f"weft_pairs_total{labels}}}"] == 22
        assert found[f"weft_imbalance{labels}}}"] == 2.0
        assert found[f"weft_last_batch{labels}}}"] == 4
        assert (found[f"weft_up{labels}}}"], found[f"weft_failures_total{labels}}}"]) == (0, 1)
        names = {re.split(r"[{ ]", name)[0] for name in found}
        told = {re.sub(r"_(bucket|sum|count)$", "", name) for name in names if not name.endswith("_created")}
        assert told == {one.name for one in METRICS}
    finally:
        exporter.stop()


def test_addresses_are_read_or_refused() -> None:
    assert address_of("[::1]:80") == ("::1", 80)
    with pytest.raises(SpecError, match="is not an address to listen at"):
        address_of("nowhere")
    taken = Exporter("127.0.0.1", 0)
    try:
        with pytest.raises(SpecError, match=f"Nothing can listen at 127.0.0.1:{taken.port}"):
            Exporter("127.0.0.1", taken.port)
    finally:
        taken.stop()


@pytest.mark.skipif(PROMETHEUS is None, reason="no Prometheus is installed (Debian: apt install prometheus)")
@pytest.mark.timeout(600)
def test_prometheus_scrapes_a_join_and_an_alert_fires(spark: SparkSession, tmp_path: Path) -> None:
    exporter = prometheus(spark, ":0")
    rules = (EXAMPLES / "alerts.yml").read_text(encoding="utf-8")
    (tmp_path / "alerts.yml").write_text(rules, encoding="utf-8")
    (tmp_path / "prometheus.yml").write_text(
        (EXAMPLES / "prometheus.yml").read_text(encoding="utf-8").replace("127.0.0.1:9095", f"127.0.0.1:{exporter.port}")
        .replace("15s", "500ms"), encoding="utf-8",
    )  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [str(PROMETHEUS), f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}",
         f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"], cwd=tmp_path,
    )  # fmt: skip

    def asked(path: str, **query: str) -> Any:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=5
            ) as told:
                return json.load(told)["data"]
        except OSError:
            return None

    def firing() -> bool:
        found = asked("alerts")
        return bool(found) and any(
            one["labels"]["alertname"] == "WeftLateRows" and one["state"] == "firing" for one in found["alerts"]
        )

    def value(expression: str) -> float | None:
        found = asked("query", query=expression)
        return float(found["result"][0]["value"][1]) if found and found["result"] else None

    try:
        home = tmp_path / "join"
        home.mkdir()
        with hot_stream(spark, home, "watched") as stream:
            stream.feed(hot=False)
            wait_for(lambda: value('weft_rows_total{query="watched",side="left"}') == 1500, "the first scrape")
            assert not firing()
            stream.feed(hot=False)
            stream.feed(hot=False, late=5)
            wait_for(firing, "the alert of late rows")
            assert value('weft_late_rows_total{query="watched",side="right"}') == 5
            assert value('weft_tasks{query="watched"}') == 4
            imbalance = value('weft_imbalance{query="watched"}')
            assert imbalance is not None and 1.0 <= imbalance < 4.0
        wait_for(lambda: value('weft_up{query="watched"}') == 0, "the end of the query")
    finally:
        server.terminate()
        server.wait(20)
        exporter.stop()
