"""Where PySpark calls Weft: when a query starts, when a watermark is set behind a join, when an error comes back.

`weft.join` returns a plain DataFrame, so what is done with it later happens in PySpark. A few of its methods ask Weft too;
frames and queries without a Weft join pass through them untouched. They are put in place when the first join of streams is
built.

* `DataStreamWriter.start` and `toTable` refuse a restart with another join at once, also when there is no new data.
* `DataStreamWriter.foreachBatch` fails a batch of which some join task was never read, before Spark commits it.
* `DataFrame.withWatermark` behind a join replaces Weft's own watermark, because Spark takes one, unless it is too short.
* Errors that a task raised begin with Weft's own three lines, and Spark's report follows. Spark wraps what a Python worker
  raises into its own exceptions, and puts ids, a traceback and the whole plan into the text; PySpark turns those into Python's
  at two places, and both call `told`.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

from pyspark.errors.exceptions import captured
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from weft.engine import Job
from weft.errors import WeftError, WeftWarning
from weft.planner import Explanation
from weft.spark.analysis import DELAY, ENDLESS, LAG, functions_in, spark_delay, stripped
from weft.spark.front import front_of
from weft.spark.journal import keep_journal
from weft.spark.observed import follow_late_rows, report_name
from weft.spark.state_place import JOIN, StatePlace, check_restart, check_whole
from weft.spark.way_back import with_way_back
from weft.spec.disorder import readable
from weft.spec.options import show_duration

__all__ = [
    "Around", "Registered", "around_starts", "enough", "install", "joins_of", "register", "state_paths", "told", "weft_error",
]  # fmt: skip


@dataclass(frozen=True)
class Registered:
    """A join of streams that was built: what it joins, where it keeps its state, and how it is explained."""

    where: StatePlace
    job: Job
    explain: Callable[[], Explanation] | None = None


_JOINS: dict[str, Registered] = {}
"""The joins of streams that this process has built, by their ids, which are the names of their functions in Spark's plans."""
_MOST = 10_000
"""Joins that are remembered; of a service that builds frames all the time, the oldest are forgotten."""


def register(
    spark: SparkSession, where: StatePlace, job: Job, explain: Callable[[], Explanation] | None = None
) -> None:
    """Remember a join, so that a query that holds it can be checked when it starts."""
    _JOINS[where.join] = Registered(where, job, explain)
    if len(_JOINS) > _MOST:
        _JOINS.pop(next(iter(_JOINS)))
    front_of(spark).hook()


_PLACES: dict[str, tuple[str, ...]] = {}
"""Where the joins of queries that this process has started keep their state, by the ids of the queries."""


def state_paths(query: StreamingQuery) -> tuple[str, ...]:
    """Return the state paths of the joins of a query that this process has started, () if it has none."""
    return _PLACES.get(str(query.id), ())


Around = Callable[[DataFrame], AbstractContextManager[Callable[[StreamingQuery], None]]]
"""What is opened around the start of a query, given what it writes; what it returns is told of the query once that runs."""
_AROUND: list[Around] = []


def around_starts(around: Around) -> None:
    """Let something be done around every start of a query."""
    if around not in _AROUND:
        _AROUND.append(around)
    install()


def joins_of(frame: DataFrame) -> list[Registered]:
    """Return the joins of streams that a frame stands on."""
    return [_JOINS[join] for join in functions_in(front_of(frame).plan(frame), JOIN) if join in _JOINS]


@functools.cache
def install() -> None:
    """Put Weft in place in PySpark's classic classes."""
    for writer in ("start", "toTable"):
        setattr(DataStreamWriter, writer, _checked(getattr(DataStreamWriter, writer)))
    DataStreamWriter.foreachBatch = _read_whole(DataStreamWriter.foreachBatch)  # type: ignore[method-assign]
    ClassicDataFrame.withWatermark = enough(ClassicDataFrame.withWatermark)  # type: ignore[method-assign]
    StreamingQuery.exception = _begun(StreamingQuery.exception)  # type: ignore[method-assign]
    captured.convert_exception = _begun(captured.convert_exception)


def _checked(start: Callable[..., StreamingQuery]) -> Callable[..., StreamingQuery]:
    @functools.wraps(start)
    def checked(writer: Any, *args: Any, **kwargs: Any) -> StreamingQuery:
        joins = joins_of(writer._df)
        with ExitStack() as opened:
            begun = [opened.enter_context(around(writer._df)) for around in _AROUND]
            query = start(writer, *args, **kwargs)
            for tell in begun:
                tell(query)
        if joins:
            try:
                for join in joins:
                    check_restart(query, join.where.store(join.job, query.id), join.job.spec)
            except BaseException:
                query.stop()
                raise
            spark = writer._df.sparkSession
            follow_late_rows(spark, query, {join.where.name: join.job.spec for join in joins})
            _PLACES[str(query.id)] = tuple(dict.fromkeys(join.where.folder(str(query.id)) for join in joins))
            for join in joins:
                folder = join.where.store(join.job, query.id).folder
                keep_journal(spark, query, folder, report_name(join.where.name), join.explain)
        return query

    return checked


def _read_whole(foreach_batch: Callable[..., DataStreamWriter]) -> Callable[..., DataStreamWriter]:
    @functools.wraps(foreach_batch)
    def read_whole(writer: Any, func: Callable[[DataFrame, int], None]) -> DataStreamWriter:
        joins = joins_of(writer._df)

        @functools.wraps(func)
        def whole(frame: DataFrame, batch: int) -> None:
            func(frame, batch)
            query = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
            for join in joins if query else []:  # unknown where Python and JVM threads are not paired
                check_whole(join.where.store(join.job, str(query)), batch, join.job.tasks)

        return foreach_batch(writer, whole if joins else func)

    return read_whole


def enough(with_watermark: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    """Let a watermark behind a join replace Weft's own, unless it is too short."""

    @functools.wraps(with_watermark)
    def set_enough(frame: Any, eventTime: str, delayThreshold: str) -> DataFrame:  # noqa: N803 (PySpark's own names)
        if not (frame.isStreaming and joins_of(frame)):
            return with_watermark(frame, eventTime, delayThreshold)
        bare, stays = stripped(frame)
        if stays:  # Spark's own operators in between need the watermark that is there, and Spark takes no other
            return with_watermark(frame, eventTime, delayThreshold)
        made = with_watermark(bare, eventTime, delayThreshold)
        (timed,) = (field for field in made.schema if DELAY in field.metadata)  # Spark takes one, however it was named
        lag, given = timed.metadata.get(LAG, ENDLESS), int(timed.metadata[DELAY])
        ours = any(DELAY in field.metadata for field in frame.schema if field.name == timed.name)
        if lag == ENDLESS:
            warnings.warn(
                f"Weft does not know how far out of order {eventTime!r} is: it is computed, or comes from a Weft join "
                f"that has no delay or counts rows. Later operators drop rows more than {delayThreshold} behind. If you select "
                "a time column of a join over time that has a delay, it carries the watermark it needs.",
                WeftWarning, stacklevel=2,
            )  # fmt: skip
        elif given < spark_delay(lag):
            warnings.warn(
                f"A watermark of {delayThreshold} is too short for {eventTime!r}: it comes from a Weft join and can be "
                f"{show_duration(readable('time', lag))} out of order. The watermark that Weft has computed takes precedence.",
                WeftWarning, stacklevel=2,
            )  # fmt: skip
            return frame if ours else with_watermark(bare, eventTime, f"{spark_delay(lag)} milliseconds")
        return frame if ours and given == spark_delay(lag) else made

    return set_enough


def _begun(convert: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(convert)
    def begun(*args: Any) -> Any:
        return told(convert(*args))

    return begun


_RAISED = re.compile(r"weft\.errors\.(\w+): (.*?)(?=\n\s*\n|\n\s+at |\s+SQLSTATE|\n=== |\Z)", re.DOTALL)


def weft_error(text: str) -> WeftError | None:
    """Return the error that a task raised, found in Spark's report of it.

    >>> weft_error("Job aborted due to stage failure: weft.errors.StateError: 1.json is missing.")
    StateError('1.json is missing.')
    """
    found = _RAISED.search(text)
    if found is None:
        return None
    kind = next((kind for kind in _kinds(WeftError) if kind.__name__ == found[1]), WeftError)
    return kind(found[2].strip())


def _kinds(root: type[WeftError]) -> Iterator[type[WeftError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _kinds(kind)


def told(error: Any) -> Any:
    """Return an exception of PySpark's that is also the Weft error behind it and begins with its message."""
    report = getattr(error, "_desc", None)
    if not isinstance(error, captured.CapturedException) or isinstance(error, WeftError) or not isinstance(report, str):
        return error
    cause = weft_error(report)
    if cause is None:
        return error
    query = re.search(r"Query \[id = ([^,\]]*)[^\]]*\]", report)
    if query:
        cause = with_way_back(cause, query[1], (join.where.path for join in _JOINS.values()))
    known = captured.CapturedException if isinstance(error, captured.UnknownException) else type(error)
    mixed: Any = type(type(cause).__name__, (known, type(cause)), {"__module__": type(cause).__module__})
    new = mixed.__new__(mixed)
    new.__dict__.update(error.__dict__)
    new._desc = f"{cause}\n\nRaised in a task of {query[0] if query else 'Spark'}. Its log has the traceback."
    return new.with_traceback(error.__traceback__)
