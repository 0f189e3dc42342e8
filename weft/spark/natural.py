"""`weft.natural_join` on Spark: documents are read and coded where they are, and travel as coded pairs.

The same route, step, control and state as `weft.local.natural_join`; from Spark only `mapInArrow`, `unionAll` and
`repartitionById`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DateType, StringType, StructField, StructType, TimestampType

from weft.documents import DocumentReader, check_documents
from weft.engine import Inputs, Job
from weft.engine.natural import (
    INDEX,
    DocumentJoiner,
    TreeCache,
    as_typed,
    code_documents,
    document_inputs,
    document_payload,
    either_way,
    natural_spec,
)
from weft.errors import SpecError, UnknownColumn
from weft.routing.documents import DocumentPlan, DocumentScheme, document_scheme
from weft.spark.analysis import (
    Again,
    Carried,
    actual_name,
    arrow_schema,
    check_is_window,
    check_time_columns,
    day_as,
    quoted,
    stripped,
    time_orders,
    when_computed_again,
)
from weft.spark.front import front_of
from weft.spark.hooks import register
from weft.spark.join_task import JoinTask
from weft.spark.observed import counted_pairs, observed_routes
from weft.spark.route_task import RouteTask
from weft.spark.shuttle import SHIPPED_DDL
from weft.spark.state_place import name_for, state_place, tasks_for
from weft.spec import Last, Tumbling, TumblingRows, Window, Within, unbounded, window_column, with_delays
from weft.types import SIDES, Side, other

__all__ = ["natural_join", "refused_documents"]


def natural_join(
    left: DataFrame, right: DataFrame | None = None, *, column: str = "document", id: str,  # noqa: A002
    window: Window | None = None, scheme: str | DocumentScheme = "auto", tasks: int | None = None, nulls: str = "absent",
    arrays: str = "whole", state: str | None = None, name: str | None = None,
) -> DataFrame:  # fmt: skip
    """Join documents that share at least one attribute-value pair and agree on every attribute they have in common.

    Parameters
    ----------
    left, right
        Two streaming DataFrames, or two static ones, with a column of documents: JSON text, structs or maps. Without `right`,
        the documents of one frame join each other; each pair appears once, the earlier document on the left.
    column, id
        The column of documents, and the column that identifies them in the result.
    window, tasks, state, name
        As in `weft.join`.
    scheme
        "auto", "association" or an object from `weft.schemes`.
    nulls, arrays
        A null is "absent" or a "value"; arrays compare as "whole" values or as "sets".

    Returns
    -------
    DataFrame
        One row per pair: `left_id`, `right_id`, `shared` (the attributes in common) and `merged` (the combined document as
        text). With a time window, also `left_time` and `right_time`.
    """
    frames: dict[Side, DataFrame] = {"left": left, "right": left if right is None else right}
    for side in SIDES:
        if not isinstance(frames[side], DataFrame):
            raise SpecError.of(
                f"The {side} side is a {type(frames[side]).__name__}.", "weft.natural_join takes PySpark DataFrames.",
                "for pyarrow tables use weft.local.natural_join.",
            )  # fmt: skip
        for wanted in (column, id):
            if wanted not in frames[side].columns:
                raise UnknownColumn.on_side(side, wanted, frames[side].columns)
    streaming = left.isStreaming
    if streaming != frames["right"].isStreaming or (streaming and window is None):
        raise SpecError.of(
            "A natural join of streams takes two streams and a window.",
            "There are: within, last, tumbling, tumbling_rows, unbounded.", "write window=weft.tumbling_rows(10_000).",
        )  # fmt: skip
    window = window if window is not None else unbounded()
    check_is_window(window)
    check_time_columns(window, frames)
    spark, reader, single = left.sparkSession, DocumentReader(nulls, arrays), right is None
    if streaming:
        window = with_delays(window, time_orders(window, frames), one_stream=single)
    if single:
        window = either_way(window)
    for side in SIDES:
        check_documents(arrow_schema(spark, StructType([frames[side].schema[column]])).field(0).type)
    number = tasks_for(spark, tasks)
    fields = {side: StructField("id", frames[side].schema[id].dataType) for side in SIDES}
    kinds = {side: arrow_schema(spark, StructType([fields[side]])).field(0).type for side in SIDES}
    spec = natural_spec(window, (kinds["left"], kinds["right"]), f"nulls {nulls}, arrays {arrays}", single)
    payload = {side: document_payload(kinds[side]) for side in SIDES}
    joiner = DocumentJoiner(Job(spec, document_scheme(scheme), INDEX, number, payload), TreeCache(time.perf_counter))
    where = state_place(spark, state, name or name_for(left, frames["right"])) if streaming else None
    # A static join has no batches to learn from: every pair belongs to the task that its hash names.
    plan = None if streaming else DocumentPlan(number, spread=True)
    sides: tuple[Side, ...] = ("left",) if single else SIDES
    times = _times(window, frames)
    bare = {side: stripped(frames[side]) for side in sides}
    streams = {side: frame for side, (frame, _) in bare.items()}
    carried = Carried.of(
        spark, window, frames, times, one_stream=single,
        taken=any(stayed for _, stayed in bare.values()),
    )  # fmt: skip
    inputs = document_inputs(window_column(window, "left") is not None)
    sources = {side: DocumentLines(inputs, payload[side], reader) for side in sides}
    routed = [
        _selected(streams[side], column, id, window, side, frames[other(side)]).mapInArrow(
            RouteTask(joiner, {side: sources[side]}, where, plan, _again(streams[side], window, side)), SHIPPED_DDL
        )
        for side in sides
    ]
    output = StructType([
        StructField("left_id", fields["left"].dataType), StructField("right_id", fields["right"].dataType),
        StructField("shared", ArrayType(StringType())), StructField("merged", StringType()),
        *(_time_field(time, frames, carried, streaming) for time in times),
    ])  # fmt: skip
    shown = partial(as_typed, schema=arrow_schema(spark, output), zone=_zone(spark, frames, times))
    task = JoinTask(joiner, where, shown, plan)
    if where is None:
        routes = reduce(DataFrame.unionAll, routed)
        return routes.repartitionById(number, F.col("task")).mapInArrow(task, output)
    timed = [carried.with_node(part, side) for part, side in zip(routed, sides, strict=True)]
    routes = observed_routes(reduce(DataFrame.unionAll, [*timed, front_of(spark).roll_call(spark, number)]), where.name)
    register(spark, where, joiner.job)
    return counted_pairs(routes.repartitionById(number, F.col("task")).mapInArrow(task, output), where.name)


def _times(window: Window, frames: dict[Side, DataFrame]) -> list[tuple[Side, str]]:
    """Return the time columns of both sides that the result holds: those of a time window."""
    if not isinstance(window, (Within, Tumbling)):
        return []
    return [("left", actual_name(frames["left"], window.left)), ("right", actual_name(frames["right"], window.right))]


def _zone(spark: SparkSession, frames: dict[Side, DataFrame], times: list[tuple[Side, str]]) -> str:
    """Return the zone of days that face timestamps, "" if there are none (`day_as`)."""
    kinds = [frames[side].select(F.col(quoted(name))).schema[0].dataType for side, name in times]
    zoned = any(isinstance(kind, TimestampType) for kind in kinds)
    return str(spark.conf.get("spark.sql.session.timeZone")) if zoned else ""


def _time_field(
    time: tuple[Side, str], frames: dict[Side, DataFrame], carried: Carried, streaming: bool
) -> StructField:  # fmt: skip
    side, name = time
    kind = frames[side].select(F.col(quoted(name))).schema[0].dataType
    return StructField(f"{side}_time", kind, metadata=carried.metadata(time) if streaming else {})


def refused_documents(
    frame: DataFrame, *, column: str = "document", nulls: str = "absent", arrays: str = "whole"
) -> DataFrame:
    """Return the rows whose document `natural_join` cannot read, with the `reason`. The frame may be streaming or static.

    The join itself counts them (`refused` in the metrics of each batch) and continues without them. To keep them, write
    this frame to a separate sink.
    """
    if not isinstance(frame, DataFrame):
        raise SpecError.of(
            f"The frame is a {type(frame).__name__}.",
            "weft.refused_documents takes a PySpark DataFrame.",
            "pass a DataFrame.",
        )
    if column not in frame.columns:
        raise UnknownColumn.on_side("left", column, frame.columns)
    output = StructType([*frame.schema.fields, StructField("reason", StringType())])
    task = RefuseTask(
        DocumentReader(nulls, arrays), frame.columns.index(column), arrow_schema(frame.sparkSession, output)
    )
    return frame.mapInArrow(task, output)


@dataclass(frozen=True)
class RefuseTask:
    """Keeps the rows that are no documents."""

    reader: DocumentReader
    column: int
    output: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read one partition."""
        for batch in batches:
            read = self.reader.read(pa.chunked_array([batch.column(self.column)]))
            if len(read.refused):
                kept = batch.take(pa.array(read.refused))
                yield pa.record_batch([*kept.columns, pa.array(read.reasons, pa.string())], schema=self.output)


def _selected(
    frame: DataFrame, column: str, id: str, window: Window, side: Side, facing: DataFrame  # noqa: A002
) -> DataFrame:  # fmt: skip
    """Return id, document and the window's column; a day as the time at which it begins."""
    columns = [F.col(quoted(id)).alias("id"), F.col(quoted(column)).alias("document")]
    name = window_column(window, side)
    if name is not None:
        time = F.col(quoted(name))
        if isinstance(frame.select(time).schema[0].dataType, DateType):
            time = time.cast(day_as(window, facing, other(side)))
        columns.append(time.alias("time"))
    return frame.select(*columns)


def _again(frame: DataFrame, window: Window, side: Side) -> Again:
    """Tell what may differ when the documents of a side are computed again."""
    by_arrival = isinstance(window, (Last, TumblingRows)) and window_column(window, side) is None
    return when_computed_again(frame, by_arrival=by_arrival)


@dataclass(frozen=True)
class DocumentLines:
    """Reads the documents of a map partition, which are there as `_selected` has them."""

    inputs: Inputs
    payload: pa.Schema
    reader: DocumentReader

    def prepare(self, table: pa.Table) -> tuple[pa.Table, int]:
        """Return the documents, coded, and how many lines are none."""
        made, read = code_documents(self.reader, self.payload, table)
        return made, len(read.refused)
