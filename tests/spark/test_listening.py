"""Where a session listens: a local one on loopback alone, unless somebody said otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.jvm import without_collector
from weft.spark.session import LOOPBACK, addresses, for_jvm, said_outside

module = import_module("weft.spark.session")  # `weft.spark.session` is the function

SCRIPT = '''
import json, os, sys
import weft

spark = weft.session(master=sys.argv[1] or None, conf=json.loads(sys.argv[2]))
spark.range(100, numPartitions=4).mapInArrow(lambda batches: batches, "id long").collect()  # Python workers run too

def children(process):
    """What the threads of a process have started; threads and processes may end while we look."""
    for thread in seen(os.listdir, f"/proc/{process}/task"):
        yield from seen(lambda path: open(path).read().split(), f"/proc/{process}/task/{thread}/children")

def seen(look, path):
    try:
        return look(path)
    except OSError:
        return []

def family(process):
    return [process] + [found for child in children(process) for found in family(int(child))]

listening = {}
for table in ("tcp", "tcp6"):
    for line in open(f"/proc/net/{table}").read().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A":
            listening[fields[9]] = fields[1]
found = {}
for process in family(os.getpid()):
    for handle in seen(os.listdir, f"/proc/{process}/fd"):
        link = seen(os.readlink, f"/proc/{process}/fd/{handle}") or ""
        if link[8:-1] in listening:
            address, port = listening[link[8:-1]].split(":")
            found[int(port, 16)] = ".".join(str(b) for b in reversed(bytes.fromhex(address[-8:])))
page = int(spark.sparkContext.uiWebUrl.rpartition(":")[2])
beans = spark._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
said = {"page": found.pop(page), "others": sorted(set(found.values())), "collector": beans[0].getName()[:2]}
unix = spark.sparkContext.getConf().get("spark.python.unix.domain.socket.enabled", "nothing")
print("SAID", json.dumps({**said, "unix sockets": unix}))
assert "SPARK_LOCAL_IP" not in os.environ or sys.argv[3]
'''


def listening(tmp_path: Path, *, master: str = "", said: str = "", ip: str = "", **conf: str) -> dict[str, object]:
    """Start a session in a process of its own and return where its page and its other sockets listen."""
    if not Path("/proc/net/tcp").exists():
        pytest.skip("only Linux tells who listens where")
    keep = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_LOCAL", "SPARK_SUBMIT"))}
    environment = {
        **keep, "SPARK_SUBMIT_OPTS": without_collector(), "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        **({"PYSPARK_SUBMIT_ARGS": f"{said} pyspark-shell"} if said else {}), **({"SPARK_LOCAL_IP": ip} if ip else {}),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, master, json.dumps(conf), ip], env=environment, cwd=tmp_path,
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    found = [line.removeprefix("SAID ") for line in done.stdout.splitlines() if line.startswith("SAID ")]
    assert found, done.stderr
    return dict(json.loads(found[0]))


@pytest.mark.spark
def test_a_local_session_listens_on_loopback_alone(tmp_path) -> None:
    found = listening(tmp_path)
    assert (found["page"], found["others"]) == (LOOPBACK, [LOOPBACK])
    assert (found["collector"], found["unix sockets"]) == ("PS", "true")  # Java's parallel one


@pytest.mark.spark
def test_the_environment_says_otherwise(tmp_path) -> None:
    """And in passing: sockets and pipelined UDFs are not set together, because Spark 4.3 loses its workers then."""
    pipelined = {"spark.python.udf.pipelined.enabled": "true"}
    found = listening(tmp_path, ip="127.0.0.2", master="local[1]", **pipelined)
    assert (found["page"], found["others"]) == ("127.0.0.2", [LOOPBACK, "127.0.0.2"])
    assert found["unix sockets"] == "nothing"


@pytest.mark.spark
def test_spark_submit_says_otherwise(tmp_path) -> None:
    found = listening(tmp_path, said="--master local[1] --conf spark.driver.bindAddress=0.0.0.0")
    assert found["page"] == "0.0.0.0"
    assert "0.0.0.0" in str(found["others"])


@pytest.fixture
def unsaid(monkeypatch, tmp_path) -> None:
    for name in ("SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME", "MASTER", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))


def test_only_a_local_master_is_kept_on_loopback(unsaid, monkeypatch) -> None:
    monkeypatch.setattr(module, "_closed", [])
    here = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    assert addresses("local[*]", {}) == addresses("local", {}) == here
    assert addresses("local[*]", {"spark.driver.host": "10.0.0.1"}) == {}
    for master in ("spark://host:7077", "yarn", "k8s://https://host:443"):
        assert addresses(master, {}) == {}


def test_a_cluster_behind_a_local_session_reaches_the_driver(unsaid, monkeypatch) -> None:
    """The JVM is the same, and listens on loopback unless it is told where."""
    monkeypatch.setattr(module, "_closed", [True])
    monkeypatch.setattr(module, "_own_address", lambda: "10.0.0.7")
    assert set(addresses("spark://host:7077", {}).values()) == {"10.0.0.7"}


@pytest.mark.parametrize(
    ("master", "asked", "kept"),
    [
        (None, {}, True),
        ("local[2]", {"spark.driver.host": "127.0.0.1"}, True),
        ("local[2]", {"spark.driver.host": "10.0.0.1"}, False),
        ("spark://host:7077", {}, False),
        (None, {"spark.master": "yarn"}, False),
    ],
)
def test_the_jvm_is_told_by_its_environment(unsaid, monkeypatch, master, asked, kept) -> None:
    monkeypatch.setattr(module, "_closed", [])
    with for_jvm(master, asked):
        assert os.environ.get("SPARK_LOCAL_IP") == (LOOPBACK if kept else None)
    assert "SPARK_LOCAL_IP" not in os.environ
    assert bool(module._closed) == kept


def test_a_jvm_of_spark_submit_is_left_alone(unsaid, monkeypatch) -> None:
    monkeypatch.setattr(module, "_closed", [])
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "12345")
    with for_jvm(None, {}):
        assert "SPARK_LOCAL_IP" not in os.environ
    assert addresses("yarn", {}) == {}


def test_what_was_said_outside_is_known_before_the_jvm_runs(unsaid, monkeypatch, tmp_path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# ours\nspark.master   yarn\nspark.driver.host = 10.0.0.1\n\n")
    assert said_outside() == {"spark.master": "yarn", "spark.driver.host": "10.0.0.1"}
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master=local[3] --conf spark.driver.host=10.0.0.2 pyspark-shell")
    assert said_outside() == {"spark.master": "local[3]", "spark.driver.host": "10.0.0.2"}
