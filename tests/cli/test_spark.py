"""The commands that start Spark, each in a process of its own: what they print, what they write, how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PLANT = (Path(__file__).parent / "plant.toml").read_text(encoding="utf-8")
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROWS = 60


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLUMNS": "110", "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(
        [sys.executable, "-m", "weft", *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture
def job(tmp_path) -> Path:
    """Return a folder with a job and four files of each side; one row a second, values that cross."""
    for side, number in (("left", 1), ("right", 2)):
        (tmp_path / "data" / side).mkdir(parents=True)
        for part in range(4):
            ids = range(part * ROWS // 4, (part + 1) * ROWS // 4)
            times = pa.array([START + timedelta(seconds=i) for i in ids], pa.timestamp("us", "UTC"))
            volts = [float((i * 7 + number) % 10) for i in ids]
            amperes = [float((i * 3 + number) % 10) for i in ids]
            table = pa.table({"id": list(ids), "ts": times, f"v{number}": volts, f"i{number}": amperes})
            file = tmp_path / "data" / side / f"{part}.parquet"
            pq.write_table(table, file)
            os.utime(file, (1_700_000_000 + part,) * 2)  # a stream of files takes the oldest first
    text = PLANT.replace("[right]", "max_files_per_trigger = 1\n[right]")
    (tmp_path / "job.toml").write_text(
        text + '[trigger]\navailable_now = true\n[spark]\nmaster = "local[2]"\n', encoding="utf-8"
    )
    return tmp_path


def expected() -> int:
    def value(factor: int, number: int, i: int) -> int:
        return (i * factor + number) % 10

    pairs = [(i, j) for i in range(ROWS) for j in range(ROWS) if abs(i - j) <= 10]
    return sum(value(7, 1, i) > value(7, 2, j) and value(3, 1, i) < value(3, 2, j) for i, j in pairs)


def test_a_job_runs_goes_on_and_refuses_another_join(job) -> None:
    done = command(job, "run", "job.toml", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    *batches, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(batches) == 4 and last["summary"]["batches"] == 4
    assert sum(batch["rows_left"] for batch in batches) == sum(batch["rows_right"] for batch in batches) == ROWS
    assert (last["summary"]["late_left"], last["summary"]["late_right"]) == (0, 0)
    assert last["summary"]["pairs"] == sum(batch["pairs"] for batch in batches) == expected()
    assert pq.ParquetDataset(job / "out" / "pairs").read().num_rows == expected()
    again = command(job, "run", "job.toml")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "goes on after batch 3; its state belongs to this join" in again.stderr
    assert f"{last['summary']['state_rows']:,} rows" in again.stdout  # no new batch: what was held is held
    text = (job / "job.toml").read_text(encoding="utf-8")
    (job / "job.toml").write_text(text.replace("l.i1 < r.i2", "l.i1 <= r.i2"), encoding="utf-8")
    refused = command(job, "run", "job.toml")
    assert refused.returncode == 2
    assert "belongs to another join" in refused.stderr and "Traceback" not in refused.stderr
    listed = json.loads(command(job, "state", "ls", "out/state", "--json").stdout)
    assert [(line["batch"], line["tasks"]) for line in listed] == [(3, 2)]


def test_explain_tells_scheme_index_and_state(job) -> None:
    done = command(job, "explain", "job.toml", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    parts = json.loads(done.stdout)
    assert parts["scheme"].startswith("slices over 2 tasks") and "15 seconds" in parts["state"]
    assert not (job / "out").exists()


def test_what_only_spark_can_see_is_an_error_of_the_job(job) -> None:
    text = (job / "job.toml").read_text(encoding="utf-8")
    (job / "job.toml").write_text(text.replace("[right]", 'where = "nofun(v1) > 1"\n[right]'), encoding="utf-8")
    done = command(job, "run", "job.toml", "--json")
    assert done.returncode == 2 and not done.stderr  # neither a traceback nor PySpark's own log of it
    (mistake,) = json.loads(done.stdout)["mistakes"]
    assert (mistake["key"], mistake["line"]) == ("[left].where", 9)
    assert "Spark does not take this condition" in mistake["what"] and "nofun" in mistake["what"]


def test_doctor_asks_the_executors(tmp_path) -> None:
    done = command(tmp_path, "doctor", "--master", "local[2]", "--state", str(tmp_path / "state"), "--json")
    data = json.loads(done.stdout)
    assert done.returncode == (0 if data["ok"] else 1)
    executors = [check for check in data["checks"] if check["where"].startswith("executor")]
    assert {"Python", "pyspark", "memory", "state path"} <= {check["name"] for check in executors}
    assert {check["verdict"] for check in executors if check["name"] == "state path"} == {"ok"}


def test_ctrl_c_stops_a_query_and_sums_it_up(job) -> None:
    text = (
        (job / "job.toml").read_text(encoding="utf-8").replace("available_now = true", 'processing_time = "1 second"')
    )
    (job / "job.toml").write_text(text, encoding="utf-8")
    words = [sys.executable, "-m", "weft", "run", "job.toml", "--json"]
    with subprocess.Popen(words, cwd=job, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        first = json.loads(running.stdout.readline())
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        rest, errors = running.communicate(timeout=120)
    assert running.returncode == 0, errors
    assert first["batch"] == 0
    assert json.loads(rest.splitlines()[-1])["summary"]["batches"] >= 1
