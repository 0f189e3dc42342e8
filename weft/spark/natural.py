"""`weft.natural_join` on Spark: documents are read and coded where they are, and travel as coded pairs.

The same route, step, control and state as `weft.local.natural_join`; from Spark only `mapInArrow`, `unionAll` and
`repartitionById`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DateType, StringType, StructField, StructType, TimestampType

from weft.documents import Reader, check_documents
from weft.engine import Header, Job, pack_delivery, pack_header
from weft.engine.natural import (
    INDEX,
    DocumentRouter,
    NaturalWorker,
    as_times,
    document_inputs,
    document_payload,
    either_way,
    light,
    natural_spec,
    whole,
)
from weft.errors import SpecError, UnknownColumn
from weft.routing import Plan
from weft.routing.documents import DocumentPlan, DocumentScheme, document_scheme
from weft.spark.arrow import arrow_schema
from weft.spark.hooks import register
from weft.spark.inputs import check_is_window, check_time_columns, day_as
from weft.spark.place import JOIN, Where, name_for, tasks_for, where_for
from weft.spark.reports import counted_pairs, observed_routes
from weft.spark.rollcall import roll_call
from weft.spark.shuttle import SHIPPED_DDL, Inbox, Outbox, Stamp, open_route, pieces
from weft.spark.standing import report_state
from weft.spark.watermarks import Carried, actual_name, quoted, stripped, time_orders
from weft.spec import Tumbling, Unbounded, Window, Within, unbounded, with_delays
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
        Two streaming DataFrames, or two static ones, with a column of documents: JSON text, structs or maps. Without `right`
        the documents of one frame join each other, each pair once, the earlier document on the left.
    column, id
        The names of the documents and of what identifies them in the result.
    window, tasks, state, name
        As in `weft.join`.
    scheme
        "auto", "association", "disjoint", "set-cover", "everywhere", or a configured one.
    nulls, arrays
        null is "absent" or a "value"; arrays compare as "whole" values or as "sets".

    Returns
    -------
    DataFrame
        One row per pair: `left_id`, `right_id`, `shared` (the attributes in common), `merged` (the united document as text);
        where the window is one of time, also `left_time` and `right_time`.
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
    spark, reader, single = left.sparkSession, Reader(nulls, arrays), right is None
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
    job = Job(spec, document_scheme(scheme), INDEX, number, payload)
    where = where_for(spark, state, name or name_for(left, frames["right"])) if streaming else None
    # A static join has no batches to learn from: every pair belongs to the task that its hash names.
    plan = None if streaming else DocumentPlan(number, spread=True)
    sides: tuple[Side, ...] = ("left",) if single else SIDES
    times = _times(window, frames)
    bare = {side: stripped(spark, frames[side]) for side in sides}
    carried = Carried.of(
        spark, window, frames, times, one_stream=single,
        taken=any(stayed for _, stayed in bare.values()),
    )  # fmt: skip
    routed = [
        _selected(bare[side][0], column, id, window, side, frames[other(side)]).mapInArrow(
            DocumentRouteTask(job, side, reader, where, plan), SHIPPED_DDL
        )
        for side in sides
    ]
    output = StructType([
        StructField("left_id", fields["left"].dataType), StructField("right_id", fields["right"].dataType),
        StructField("shared", ArrayType(StringType())), StructField("merged", StringType()),
        *(_time_field(time, frames, carried, streaming) for time in times),
    ])  # fmt: skip
    task = DocumentJoinTask(job, where, arrow_schema(spark, output), plan, _zone(spark, frames, times))
    if where is None:
        routes = reduce(DataFrame.unionAll, routed)
        return routes.repartitionById(number, F.col("task")).mapInArrow(task, output)
    timed = [carried.with_node(part, side) for part, side in zip(routed, sides, strict=True)]
    routes = observed_routes(reduce(DataFrame.unionAll, [*timed, roll_call(spark, number)]), where.name)
    register(where, job)
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
    """Return the rows of a frame, streaming or not, whose document `natural_join` cannot read, with the `reason`.

    The join itself counts them (`refused` in the metrics of each batch) and goes on without them; write this frame to a
    sink of its own to keep them.
    """
    if not isinstance(frame, DataFrame):
        raise SpecError.of(
            f"The frame is a {type(frame).__name__}.",
            "weft.refused_documents takes a PySpark DataFrame.",
            "give it one.",
        )
    if column not in frame.columns:
        raise UnknownColumn.on_side("left", column, frame.columns)
    output = StructType([*frame.schema.fields, StructField("reason", StringType())])
    task = RefuseTask(Reader(nulls, arrays), frame.columns.index(column), arrow_schema(frame.sparkSession, output))
    return frame.mapInArrow(task, output)


@dataclass(frozen=True)
class RefuseTask:
    """Keeps the rows that are no documents."""

    reader: Reader
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
    name = None if isinstance(window, Unbounded) else window.left if side == "left" else window.right
    if name is not None:
        time = F.col(quoted(name))
        if isinstance(frame.select(time).schema[0].dataType, DateType):
            time = time.cast(day_as(window, facing, other(side)))
        columns.append(time.alias("time"))
    return frame.select(*columns)


@dataclass(frozen=True)
class DocumentRouteTask:
    """Reads the documents of a map partition and cuts them into one block per join task."""

    job: Job
    side: Side
    reader: Reader
    where: Where | None
    plan: Plan | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Route one partition."""
        (here, pinned), spec = open_route(self.job, self.where, self.plan), self.job.spec
        router: DocumentRouter | None = None
        outbox, refused = Outbox(here.partition, self.side), 0
        for piece, table in enumerate(pieces(batches, whole=spec.counted)):
            if router is None:
                inputs = document_inputs(table.num_columns > 2)
                router = DocumentRouter(spec, self.side, inputs, pinned, here.batch or 0, here.partition)
            coded, unread = self._coded(table)
            refused += unread
            packed = [
                (d.task, partial(pack_delivery, delivery=light(d), partition=here.partition, piece=piece))
                for d in router.route(coded)
            ]
            yield from outbox.ship(packed, Stamp.of(self.side, router.header(), pinned.clock, told=False))
        header = Header(here.partition, 0) if router is None else router.header()
        newest = Stamp.of(self.side, header, pinned.clock, told=False).newest
        yield from report_state(self.job, self.where, here, pinned, outbox, newest)
        if router is not None:
            roles: tuple[Side, ...] = SIDES if spec.self_join else (self.side,)
            header = replace(router.header(), refused=refused)
            for role in roles:  # one stream has one clock: both sides of it advance
                write = partial(pack_header, side=role, header=header, pinned=pinned.mark)
                stamp = Stamp.of(role, header, pinned.clock)
                yield from outbox.ship(((task, write) for task in range(pinned.plan.tasks)), stamp)

    def _coded(self, table: pa.Table) -> tuple[pa.Table, int]:
        """Return the documents as coded pairs, and how many lines are none."""
        payload = self.job.payload[self.side]
        read = self.reader.read(table.column(1))
        columns = [table.column(0).cast(payload.field(0).type), *read.coded.to_table().columns]
        made = pa.table([*columns, *table.columns[2:]], names=[*payload.names, *table.column_names[2:]])
        return made, len(read.refused)


@dataclass(frozen=True)
class DocumentJoinTask:
    """Joins what was shipped to one task."""

    job: Job
    where: Where | None
    output: pa.Schema
    plan: Plan | None = None
    zone: str = ""
    """Where the midnights are that days are kept as; "" if they have no zone."""

    @property
    def __name__(self) -> str:
        """Return how Spark's plans call this function."""
        return JOIN + (self.where.join if self.where is not None else "static")

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        inbox = Inbox.open(self.job, self.where, batches)
        worker = NaturalWorker(self.job, inbox.store, inbox.task, inbox.batch, self.plan, time.perf_counter)
        for table in worker.join(map(whole, inbox.shipments())):
            columns = table.columns
            columns[4:] = [
                as_times(column, field.type, self.zone)
                for column, field in zip(columns[4:], list(self.output)[4:], strict=True)
            ]
            yield from pa.table(columns, names=self.output.names).cast(self.output).to_batches()
