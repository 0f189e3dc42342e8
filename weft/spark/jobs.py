"""Running a job: a quiet session, the streams, the query, and its progress batch by batch.

The command line says what to run in plain values; everything that needs pyspark is here.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from weft.errors import JobError, WeftError
from weft.planner import Explanation, explain_join
from weft.spark.build import Built, JoinOptions, build
from weft.spark.hooks import weft_error
from weft.spark.packages import with_packages
from weft.spark.session import session
from weft.spark.state_place import missing_state, read_checkpoint
from weft.spark.topics import create_topics, decoded, encoded, look_at_source, look_at_topic
from weft.spec import JoinSpec
from weft.state import StateStore, read_sealed

__all__ = [
    "Built",
    "JoinOptions",
    "Progress",
    "Source",
    "belongs",
    "carry",
    "create_topics",
    "explained_join",
    "follow",
    "joined",
    "look_at_source",
    "look_at_topic",
    "quiet_session",
    "read_stream",
    "start",
    "with_packages",
]


_DDL = "write names and types as in CREATE TABLE, such as 'id long, ts timestamp, v1 double'."
_SQL = "it is Spark SQL over the columns of the source: check the spelling of functions and columns."


class Source(Protocol):
    """What a job says of a source: format and options as Spark takes them, schema in DDL, a filter, a selection."""

    @property
    def format(self) -> str: ...
    @property
    def options(self) -> dict[str, str]: ...
    @property
    def schema(self) -> str | None: ...
    @property
    def where(self) -> str | None: ...
    @property
    def select(self) -> tuple[str, ...] | None: ...
    @property
    def value(self) -> str | None: ...


@dataclass(frozen=True)
class Progress:
    """One finished batch as Spark saw it; `pairs` only where they are counted behind a residual condition."""

    batch: int
    seconds: float
    read: int
    pairs: int | None


def quiet_session(
    name: str, *, master: str | None, state: str | None, conf: dict[str, str], log: Path
) -> SparkSession:  # fmt: skip
    """Start Spark with everything that the JVM and the Python workers write to stderr going to a file."""
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        # PySpark logs an analysis error as JSON, with the JVM's stack, before it raises it; we tell it in our own words.
        PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL)
    settings = (
        {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
        if (master or "local").startswith("local")
        else {}
    )
    try:
        with _stderr_to(log):
            spark = session(name, master=master, state=state, conf={**settings, **conf})
            spark.sparkContext.setLogLevel("WARN")
    except (PySparkException, Py4JJavaError, OSError, RuntimeError) as error:
        reason = _reason(error, log)
        raise WeftError.of(
            f"Spark did not start: {reason}", f"Its log is {log}.", _start_hint(reason, master)
        ) from None
    return spark


def _start_hint(reason: str, master: str | None) -> str:
    if "unresolved dependency" in reason:
        return 'name versions that your repository has: [spark].conf "spark.jars.packages", or jars of your own: "spark.jars".'
    here = (master or "local").startswith("local")
    return "`weft doctor` checks Java, PySpark and memory." if here else f"see whether a master listens at {master}."


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Let child processes inherit a file as stderr; ours stays as it is."""
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(file, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(file)


def _reason(error: Exception, log: Path) -> str:
    """Return why the JVM failed: its exception's own message, or the first complaint in the log of one that never ran."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    given_up = [line for line in lines if "Application has been killed. Reason: " in line]
    if given_up:  # no master, or none that takes us: what follows are complaints that the context is gone
        return given_up[-1].rpartition("Reason: ")[2].strip()
    if isinstance(error, Py4JJavaError):
        return _sentence(error)
    found = next(
        (line for line in lines if re.search(r"\b(Exception|Error)\b.*:|\w(Exception|Error): |^Error", line)), ""
    )
    first = (str(error).splitlines() or [type(error).__name__])[0]
    return f"{re.sub(r'^Exception in thread .main. ', '', found).strip()} ({first})" if found else first


def read_stream(spark: SparkSession, source: Source, name: str) -> DataFrame:
    """Open a source; `name` is its table in the job file."""
    there_is = f"Its format is {source.format!r}."
    with _spark_says(f"{name}.format", f"Spark cannot read [{name}]", there_is):
        reader = spark.readStream.format(source.format).options(**source.options)
    if source.schema and source.value is None:
        with _spark_says(f"{name}.schema", "Spark rejects this schema", f"It is: {source.schema}.", _DDL):
            reader = reader.schema(source.schema)
    with _spark_says(name, f"Spark cannot read [{name}]", there_is):
        frame = reader.load()
    if source.value is not None and source.schema:
        with _spark_says(f"{name}.schema", "Spark rejects this schema", f"It is: {source.schema}.", _DDL):
            frame = decoded(frame, source.value, source.schema)
    have = f"There are: {', '.join(frame.columns)}."
    if source.where:
        with _spark_says(f"{name}.where", "Spark rejects this condition", have, _SQL):
            frame = frame.where(source.where)
    if source.select:
        with _spark_says(f"{name}.select", "Spark rejects this selection", have, _SQL):
            frame = frame.selectExpr(*source.select)
    elif source.value is not None:
        frame = frame.drop("kafka")
    return frame


@contextmanager
def _spark_says(key: str, what: str, there_is: str, hint: str = "") -> Iterator[None]:
    """Tell what Spark refuses as an error of the job file, which knows the key."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        told = JobError.of(f"{what}: {_sentence(error)}", there_is, hint or _hint(error))
        told.argument = key
        raise told from None


def joined(left: DataFrame, right: DataFrame | None, asked: JoinOptions) -> Built:
    """Build the join of two streams, or of one with itself (`right` None); without a state path it is only explained."""
    other = left if right is None else right
    return build(left, other, asked, itself=right is None, explaining=asked.state is None)


def explained_join(built: Built) -> Explanation:
    """Explain a join that was built."""
    return explain_join(built.spec, built.choice, built.tasks, streaming=True)


def belongs(spark: SparkSession, checkpoint: str, state: str, spec: JoinSpec) -> str:
    """Say whether this join starts anew or goes on; refuse state of another join, and a checkpoint without its state."""
    with _spark_says(
        "checkpoint", "Spark cannot open the checkpoint", f"It is {checkpoint!r}.", "give another folder."
    ):
        query, done = read_checkpoint(spark, checkpoint)
    if query is None:
        return "a new query"
    store = StateStore(state, query, spec.fingerprint())
    if not store.folder.exists("spec.json"):
        if not done:
            return f"query {query[:8]}, before its first batch"
        raise missing_state(checkpoint, query, state, max(done))
    store.check(str(read_sealed(store.folder, "spec.json")["fingerprint"]), spec.identity())
    after = f"continues after batch {max(done)}" if done else "before its first batch"
    return f"query {query[:8]}, {after}; its state belongs to this join"


def start(
    built: Built, *, format: str, options: dict[str, str], mode: str, partition_by: Sequence[str], checkpoint: str,  # noqa: A002
    trigger: dict[str, str | bool], name: str | None = None, value: str | None = None, key: str | None = None,
) -> StreamingQuery:  # fmt: skip
    """Start the query; with `value`, rows are written as records of a topic."""
    frame = built.frame()
    if value is not None:
        with _spark_says("sink.key" if key else "sink", "Spark cannot make records", f"The value is {value!r}."):
            frame = encoded(frame, value, key)
    there_is = f"Its format is {format!r}."
    with _spark_says("sink", "Spark cannot write [sink]", there_is), _checkpoint_apart(checkpoint):
        writer = frame.writeStream.format(format).outputMode(mode).options(**options)
        writer = writer.option("checkpointLocation", checkpoint)
        if partition_by:
            writer = writer.partitionBy(*partition_by)
        if trigger:
            writer = writer.trigger(**trigger)  # type: ignore[arg-type]
        return (writer.queryName(name) if name else writer).start()


def carry(
    frame: DataFrame, format: str, options: dict[str, str], checkpoint: str, *, value: str | None = None,  # noqa: A002
    seconds: float | None = None,
) -> StreamingQuery:  # fmt: skip
    """Start a query that hands rows on as they come, every so many seconds, or once all that is there."""
    rows = frame if value is None else encoded(frame, value, None)
    trigger: dict[str, Any] = {"availableNow": True} if seconds is None else {"processingTime": f"{seconds} seconds"}
    with _spark_says("sink", "Spark cannot write", f"The format is {format!r}."):
        writer = rows.writeStream.format(format).options(**options).option("checkpointLocation", checkpoint)
        return writer.trigger(**trigger).start()


@contextmanager
def _checkpoint_apart(checkpoint: str) -> Iterator[None]:
    """Starting a query writes its checkpoint first: what fails there is no fault of the sink."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if "Multiple streaming queries are concurrently using" in str(error):
            raise WeftError.of(
                "Another run of this job is active.",
                f"It uses the checkpoint {checkpoint!r}; two at once would write every pair twice.",
                "stop it, or wait until it ends; this command then continues from there.",
            ) from None
        if checkpoint not in str(error) and "checkpoint" not in _sentence(error).lower():
            raise
        told = JobError.of(
            f"Spark cannot write the checkpoint: {_sentence(error)}",
            f"It is {checkpoint!r}.",
            "give a folder that Spark can write.",
        )
        told.argument = "checkpoint"
        raise told from None


def follow(query: StreamingQuery, stop: Callable[[int], bool], poll: float = 0.2) -> Iterator[Progress]:
    """Yield each finished batch until the query ends, or `stop` (asked with the rows read so far) says so."""
    seen, read = -1, 0
    while True:
        active = query.isActive
        for progress in query.recentProgress:
            data: dict[str, Any] = json.loads(progress.json)
            if int(data["batchId"]) > seen and "addBatch" in data.get("durationMs", {}):
                seen = int(data["batchId"])
                read += int(data["numInputRows"])
                yield _progress(data)
        if active and stop(read):
            query.stop()
        elif not active:
            break
        else:
            time.sleep(poll)
    error = query.exception()
    if error is not None:
        raise cause(str(error)) from None


def _progress(data: dict[str, Any]) -> Progress:
    counted = (data.get("observedMetrics") or {}).get("weft.pairs")
    pairs = counted.get("pairs") if isinstance(counted, dict) else None
    seconds = float(data["durationMs"].get("triggerExecution", 0)) / 1000
    return Progress(int(data["batchId"]), seconds, int(data["numInputRows"]), None if pairs is None else int(pairs))


def cause(text: str) -> WeftError:
    """Return the WeftError that a task raised, found in Spark's report of it; else Spark's first sentence."""
    found = weft_error(text)
    if found is not None:
        return found
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    python = next((line for line in reversed(lines) if re.match(r"\w+(\.\w+)*(Error|Exception): ", line)), "")
    return WeftError.of(
        f"The query failed: {lines[0] if lines else 'no reason given'}", python, "Spark's log says more."
    )


def _sentence(error: PySparkException | Py4JJavaError) -> str:
    text = str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error)
    first = text.split("SQLSTATE", maxsplit=1)[0].strip().splitlines()[0]
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", first)


def _hint(error: PySparkException | Py4JJavaError) -> str:
    if "Failed to find the data source" in str(error):
        return 'check the format, or add its package: [spark].conf with "spark.jars.packages".'
    return "check format, path, options and schema in the job file."
