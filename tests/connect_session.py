"""A Spark Connect session: its server runs in the JVM of the shared session, so it costs no second one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["MODE", "_connect_session", "connect"]

MODE = "SPARK_CONNECT_MODE_ENABLED"
"""What tells PySpark that its functions make Columns for Spark Connect."""


@pytest.fixture(scope="session")
def _connect_session(_spark_session: SparkSession) -> Iterator[SparkSession]:
    pytest.importorskip("grpc", reason="Spark Connect needs the extra weft[connect]")
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    jvm = _spark_session._jvm
    service = getattr(getattr(jvm, "org.apache.spark.sql.connect.service.SparkConnectService$"), "MODULE$")
    service.start(_spark_session.sparkContext._jsc.sc())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE, "1")
        session: Any = RemoteSession.builder.remote(f"sc://127.0.0.1:{service.localPort()}").getOrCreate()
    yield session
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE, "1")
        session.stop()
    service.stop(*(getattr(service, f"stop$default${number}")() for number in (1, 2)))


@pytest.fixture
def connect(
    spark: SparkSession, _connect_session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SparkSession]:
    """Return the one Connect session of the run; queries of a test end with it."""
    monkeypatch.setenv(MODE, "1")
    yield _connect_session
    for query in _connect_session.streams.active:
        query.stop()
