"""Metrics of joins for Prometheus: an endpoint that is scraped, filled from what Spark tells after every batch.

`METRICS` is the list that the guide prints and the dashboard and the alert rules are checked against.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from weft.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["METRICS", "Exporter", "Metric", "address_of", "prometheus"]

PORT = 9095
SIDES = ("left", "right")


@dataclass(frozen=True)
class Metric:
    """One metric. All have the labels `query` (name or id), `id` (Spark's id of the query) and `join`; some have more."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


METRICS = (
    Metric("weft_rows_total", "counter", "Rows that reached the join.", ("side",)),
    Metric("weft_late_rows_total", "counter", "Rows that were dropped because they came too late.", ("side",)),
    Metric("weft_pairs_total", "counter", "Pairs that left the join; behind a look-up in a table, rows."),
    Metric(
        "weft_migrations_total", "counter", "Batches that began with another plan, so that rows moved between tasks."
    ),
    Metric("weft_batch_seconds", "histogram", "Time of a batch, from its trigger to its commit."),
    Metric("weft_last_batch_seconds", "gauge", "Time of the newest batch."),
    Metric("weft_last_batch", "gauge", "Number of the newest batch."),
    Metric("weft_trigger_seconds", "gauge", "Trigger interval that was asked for; 0 if batches follow each other."),
    Metric("weft_state_rows", "gauge", "Rows that all tasks held when the newest batch began, copies included."),
    Metric("weft_state_bytes", "gauge", "Bytes of these rows on the state path."),
    Metric("weft_tasks", "gauge", "Tasks of the join."),
    Metric("weft_imbalance", "gauge", "Rows of the fullest task over the mean of all tasks; 1 is even."),
    Metric("weft_up", "gauge", "1 while the query runs, 0 when it was stopped or has failed."),
    Metric("weft_failures_total", "counter", "Runs of the query that ended with an error."),
)

_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250)
_COMMON = ("query", "id", "join")


def prometheus(spark: SparkSession, address: str | int = f"127.0.0.1:{PORT}") -> Exporter:
    """Serve metrics of all joins of a session for Prometheus to scrape, until the exporter is stopped.

    Parameters
    ----------
    spark
        The session; queries that already run are heard of from their next batch on.
    address
        Where to listen: a port on loopback, or `host:port`. It tells names of queries and numbers, never data.
    """
    from weft.spark import measured

    host, port = address_of(address)
    exporter = Exporter(host, port)
    measured.listen_to_joins(spark, exporter.batch, exporter.ended)
    return exporter


def address_of(address: str | int) -> tuple[str, int]:
    """Read `host:port`; without a host, loopback.

    >>> address_of(":9095"), address_of(9095), address_of("0.0.0.0:9095")
    (('127.0.0.1', 9095), ('127.0.0.1', 9095), ('0.0.0.0', 9095))
    """
    host, _, port = str(address).rpartition(":")
    if not port.isdigit() or int(port) > 65_535:
        hint = "write :9095 for this machine, or 0.0.0.0:9095 for all that can reach it."
        raise SpecError.of(f"{address!r} is not an address to listen at.", "It is a port, or host:port.", hint)
    return host.strip("[]") or "127.0.0.1", int(port)


class Exporter:
    """Holds the metrics of all joins and serves them. `port` is where; `stop()` ends the server."""

    def __init__(self, host: str, port: int) -> None:
        client = _client()
        self._registry = client.CollectorRegistry()
        kinds: dict[str, Callable[..., Any]] = {
            "counter": client.Counter, "gauge": client.Gauge, "histogram": client.Histogram,
        }  # fmt: skip
        self._metrics = {
            one.name: kinds[one.kind](
                one.name.removesuffix("_total"), one.help, (*_COMMON, *one.labels), registry=self._registry,
                **({"buckets": _BUCKETS} if one.kind == "histogram" else {}),
            )
            for one in METRICS
        }  # fmt: skip
        self._known: dict[str, set[tuple[str, str, str]]] = {}
        self._lock = threading.Lock()
        try:
            self._server, self._thread = client.start_http_server(port, host, self._registry)
        except OSError as error:
            hint = "give another port; 0 takes any that is free."
            raise SpecError.of(
                f"Nothing can listen at {host}:{port}: {error}.", "Another program may use it.", hint
            ) from None
        self.host, self.port = host, int(self._server.server_port)

    def batch(self, told: Any) -> None:
        """Count one batch of one join."""
        labels = (told.query, told.id, told.join)
        with self._lock:
            self._known.setdefault(told.id, set()).add(labels)
        counts: dict[str, int] = told.counts
        for side in SIDES:
            self._of("weft_rows_total", *labels, side).inc(counts.get(f"{side}_rows", 0))
            self._of("weft_late_rows_total", *labels, side).inc(counts.get(f"{side}_late", 0))
        self._of("weft_pairs_total", *labels).inc(told.pairs)
        self._of("weft_migrations_total", *labels).inc(counts.get("migrations", 0))
        self._of("weft_failures_total", *labels)
        self._of("weft_batch_seconds", *labels).observe(told.seconds)
        tasks, held = counts.get("state_tasks", 0), counts.get("state_rows", 0)
        gauges = {
            "weft_last_batch_seconds": told.seconds, "weft_last_batch": told.batch, "weft_trigger_seconds": told.trigger,
            "weft_state_rows": held, "weft_state_bytes": counts.get("state_bytes", 0), "weft_tasks": tasks,
            "weft_imbalance": counts.get("state_fullest", 0) * tasks / held if held else 1.0, "weft_up": 1,
        }  # fmt: skip
        for name, value in gauges.items():
            self._of(name, *labels).set(value)

    def ended(self, query: str, error: str | None) -> None:
        """Note that a query no longer runs, and whether it failed."""
        with self._lock:
            known = self._known.pop(query, set())
        for labels in known:
            self._of("weft_up", *labels).set(0)
            if error:
                self._of("weft_failures_total", *labels).inc()

    def _of(self, name: str, *labels: str) -> Any:
        return self._metrics[name].labels(*labels)

    def stop(self) -> None:
        """End the server; what is counted afterwards nobody sees."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)

    def __repr__(self) -> str:
        return f"metrics at http://{self.host}:{self.port}/metrics"


def _client() -> Any:
    try:
        import prometheus_client
    except ImportError:
        raise SpecError.of(
            "Metrics need prometheus_client, which is not installed.", "It is part of the extra `metrics`.",
            "pip install 'weft[metrics]'",
        ) from None  # fmt: skip
    return prometheus_client
