"""What every test may ask for: Spark (one JVM, only when asked), the real data, golden texts; and how Hypothesis looks."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.connect_session import _connect_session, connect  # noqa: F401  (fixtures)
from tests.jvm import start_quickly
from tests.kafka.broker import Broker
from tests.kafka.jars import WHY, broker_jars, connector_jars, spark_jars
from tests.kafka.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
SPARK = re.compile(r"\bspark\b|SparkSession|weft\.session")

# The first call of a Numba kernel compiles for seconds: no deadline, and slow data is no fault of the test.
settings.register_profile(
    "default", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
# The same examples every time, so that a red run is red again.
settings.register_profile("ci", settings.get_profile("default"), max_examples=60, derandomize=True)
settings.register_profile("quick", settings.get_profile("default"), max_examples=8)
settings.register_profile("long", settings.get_profile("default"), max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Python workers are this Python, whatever `python3` means to the JVM.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
start_quickly()

SMALL = {
    "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "2g",
    "spark.default.parallelism": "2", "spark.sql.shuffle.partitions": "3", "spark.sql.streaming.minBatchesToRetain": "3",
    # Code that is made for a plan pays off after thousands of rows; sessions of other tests make it.
    "spark.sql.codegen.wholeStage": "false",
    # For Spark's page, which is not there: plans as text, and tasks while they run.
    "spark.sql.ui.explainMode": "simple", "spark.ui.liveUpdate.period": "-1",
    # The other one starts `readlink` in a process of its own, forty times a batch; here nobody writes a log twice.
    "spark.sql.streaming.checkpointFileManagerClass":
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
}  # fmt: skip
"""What the shared session has besides the settings that Weft recommends; crash tests run with Spark's own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden from what the tests produce")


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they ask for; the long ones run first, so that the workers of xdist end together."""
    for item in items:
        asked = getattr(item, "fixturenames", ())
        for fixture, mark in (("spark", "spark"), ("data_dir", "data")):
            if fixture in asked:
                item.add_marker(mark)
        if isinstance(item, pytest.DoctestItem) and any(SPARK.search(line.source) for line in item.dtest.examples):
            item.add_marker("spark")

    def lane(item: pytest.Item) -> int:
        marks = {mark.name for mark in item.iter_markers()}
        return 0 if marks & {"crash", "slow"} else 1 if marks & {"spark", "data"} else 2

    items.sort(key=lane)


@pytest.fixture(scope="session")
def spark_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the working directory of the shared JVM: relative paths that Spark is given are under it."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def _spark_session(spark_home: Path) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    from weft.spark.session import SETTINGS

    here = Path.cwd()
    os.chdir(spark_home)  # the JVM takes it over, so no derby.log or spark-warehouse lands in the repository
    try:
        builder = SparkSession.builder.master("local[2]").appName("weft tests").config(map={
            **SETTINGS, **SMALL, "spark.sql.warehouse.dir": (spark_home / "warehouse").as_uri(),
            "spark.local.dir": str(spark_home / "local"), **spark_jars(),
            "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": "0",  # tests/connect
        })  # fmt: skip
        session = builder.getOrCreate()
    finally:
        os.chdir(here)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def spark(_spark_session: SparkSession) -> Iterator[SparkSession]:
    """Return the one Spark session of the run; confs, views and queries of a test end with it."""
    before = dict(_spark_session.conf.getAll)
    yield _spark_session
    for query in _spark_session.streams.active:
        query.stop()
    for table in _spark_session.catalog.listTables():
        if table.isTemporary:
            _spark_session.catalog.dropTempView(table.name)
    after = dict(_spark_session.conf.getAll)
    for key in after.keys() - before.keys():
        if key.startswith("spark.weft.") or _spark_session.conf.isModifiable(key):  # Spark knows only its own keys
            _spark_session.conf.unset(key)
    for key, value in before.items():
        if after.get(key) != value and _spark_session.conf.isModifiable(key):
            _spark_session.conf.set(key, value)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Return a running Kafka broker; skip where its jars are not in the cache."""
    if not broker_jars() or not connector_jars():
        pytest.skip(WHY)
    one = Broker(tmp_path_factory.mktemp("kafka") / "broker")
    one.start()
    yield one
    one.kill()


@pytest.fixture
def kafka(spark: SparkSession, broker: Broker) -> Topics:
    """Return the topics of the broker, through the shared session."""
    return Topics(spark, broker.address)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of real data sets; skip where there is none."""
    folder = Path(os.environ.get("WEFT_TEST_DATA") or ROOT / ".." / "shared" / "data").resolve()
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} does not exist; name another folder with WEFT_TEST_DATA")
    return folder


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return `golden(name, text)`: compare with tests/golden/<name>, or rewrite it with --update-golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not path.exists():
            pytest.fail(
                f"tests/golden/{name} does not exist; look at the text below, then run with --update-golden\n{text}"
            )
        assert text == path.read_text(encoding="utf-8"), f"differs from tests/golden/{name} (--update-golden accepts)"

    return compare
