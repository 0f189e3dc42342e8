"""The commands that start Spark, in processes of their own: what they print, what they write, how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SEVERAL = Path(__file__).with_name("several.py")
PLANT = (Path(__file__).parent / "plant.toml").read_text(encoding="utf-8")
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROWS = 60


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def commands(folder: Path, *several: str) -> list[Done]:
    """Run commands one after the other in a new process: they share its JVM."""
    env = {**os.environ, "COLUMNS": "110", "SPARK_LOCAL_IP": "127.0.0.1"}
    said = folder / "said"
    said.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, str(SEVERAL), str(said)], input=json.dumps([words.split() for words in several]), cwd=folder,
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    texts = [
        [(said / f"{number}.{kind}").read_text() for kind in ("code", "out", "err")] for number in range(len(several))
    ]
    return [Done(int(code), out, err) for code, out, err in texts]


@pytest.fixture
def job(tmp_path) -> Path:
    """Return a folder with a job and four files of each side; one row a second, values that cross."""
    return write_job(tmp_path)


def write_job(folder: Path) -> Path:
    for side, number in (("left", 1), ("right", 2)):
        (folder / "data" / side).mkdir(parents=True)
        for part in range(4):
            ids = range(part * ROWS // 4, (part + 1) * ROWS // 4)
            times = pa.array([START + timedelta(seconds=i) for i in ids], pa.timestamp("us", "UTC"))
            volts = [float((i * 7 + number) % 10) for i in ids]
            amperes = [float((i * 3 + number) % 10) for i in ids]
            table = pa.table({"id": list(ids), "ts": times, f"v{number}": volts, f"i{number}": amperes})
            file = folder / "data" / side / f"{part}.parquet"
            pq.write_table(table, file)
            os.utime(file, (1_700_000_000 + part,) * 2)  # a stream of files takes the oldest first
    text = PLANT.replace("[right]", "max_files_per_trigger = 1\n[right]")
    (folder / "job.toml").write_text(
        text + '[trigger]\navailable_now = true\n[spark]\nmaster = "local[2]"\n', encoding="utf-8"
    )
    return folder


def expected() -> int:
    def value(factor: int, number: int, i: int) -> int:
        return (i * factor + number) % 10

    pairs = [(i, j) for i in range(ROWS) for j in range(ROWS) if abs(i - j) <= 10]
    return sum(value(7, 1, i) > value(7, 2, j) and value(3, 1, i) < value(3, 2, j) for i, j in pairs)


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> tuple[Path, dict[str, Done]]:
    """Return a folder, and what commands said that were run there one after the other, in one process."""
    folder = write_job(tmp_path_factory.mktemp("ran"))
    text = (folder / "job.toml").read_text(encoding="utf-8")
    (folder / "other.toml").write_text(text.replace("l.i1 < r.i2", "l.i1 <= r.i2"), encoding="utf-8")
    (folder / "bad.toml").write_text(text.replace("[right]", 'where = "nofun(v1) > 1"\n[right]'), encoding="utf-8")
    (folder / "unwritten.toml").write_text(text.replace("out/", "unwritten/"), encoding="utf-8")
    words = {
        "run": "run job.toml --json", "again": "run job.toml", "refused": "run other.toml",
        "listed": "state ls out/state --json", "explain": "explain unwritten.toml --json", "bad": "run bad.toml --json",
        "doctor": "doctor --master local[2] --state state --json",
    }  # fmt: skip
    return folder, dict(zip(words, commands(folder, *words.values()), strict=True))


def test_a_job_runs_goes_on_and_refuses_another_join(ran) -> None:
    folder, said = ran
    done, again, refused, listed = (said[name] for name in ("run", "again", "refused", "listed"))
    assert done.code == 0, done.out + done.err
    *batches, last = [json.loads(line) for line in done.out.splitlines()]
    assert len(batches) == 4 and last["summary"]["batches"] == 4
    assert sum(batch["rows_left"] for batch in batches) == sum(batch["rows_right"] for batch in batches) == ROWS
    assert (last["summary"]["late_left"], last["summary"]["late_right"]) == (0, 0)
    assert last["summary"]["pairs"] == sum(batch["pairs"] for batch in batches) == expected()
    assert pq.ParquetDataset(folder / "out" / "pairs").read().num_rows == expected()
    assert again.code == 0, again.out + again.err
    assert "continues after batch 3; its state belongs to this join" in again.err
    assert f"{last['summary']['state_rows']:,} rows" in again.out  # no new batch: what was held is held
    assert refused.code == 2
    told = " ".join(refused.err.split())  # lines are cut where the folder's name lets them end
    assert "belongs to another join" in told and "Traceback" not in told
    assert [(line["batch"], line["tasks"]) for line in json.loads(listed.out)] == [(3, 2)]


def test_explain_tells_scheme_index_and_state(ran) -> None:
    folder, done = ran[0], ran[1]["explain"]
    assert done.code == 0, done.out + done.err
    parts = json.loads(done.out)
    assert parts["scheme"].startswith("slices over 2 tasks") and "15 seconds" in parts["state"]
    assert not (folder / "unwritten").exists()


def test_what_only_spark_can_see_is_an_error_of_the_job(ran) -> None:
    done = ran[1]["bad"]
    assert done.code == 2 and not done.err  # neither a traceback nor PySpark's own log of it
    (mistake,) = json.loads(done.out)["mistakes"]
    assert (mistake["key"], mistake["line"]) == ("[left].where", 9)
    assert "Spark rejects this condition" in mistake["what"] and "nofun" in mistake["what"]


def test_doctor_asks_the_executors(ran) -> None:
    done = ran[1]["doctor"]
    data = json.loads(done.out)
    assert done.code == (0 if data["ok"] else 1)
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
        running.send_signal(signal.SIGINT)
        rest, errors = running.communicate(timeout=120)
    assert running.returncode == 0, errors
    assert first["batch"] == 0
    assert json.loads(rest.splitlines()[-1])["summary"]["batches"] >= 1
