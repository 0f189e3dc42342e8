"""From two frames and what was asked of them to a join that is known to be sound, and to its DataFrame.

It uses only `mapInArrow`, `unionAll` and `repartitionById`, so sinks, triggers, checkpoints and downstream operators remain
Spark's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType

from weft.engine import ROW_ID, Accept, Job, Joiner, Pairs, RowJoiner
from weft.errors import SpecError, about
from weft.kernels import words_of
from weft.planner import Choice, Explanation, check_switch, choose, explain_join
from weft.routing import Plan, Range, Scheme, TaskStats
from weft.spark.analysis import (
    SELF,
    Again,
    Analyzed,
    Carried,
    Output,
    SideInput,
    arrow_schema,
    check_is_window,
    check_time_columns,
    self_inputs,
    side_input,
    time_orders,
    when_computed_again,
)
from weft.spark.front import front_of
from weft.spark.hooks import register
from weft.spark.join_task import JoinTask
from weft.spark.observed import counted_pairs, observed_routes
from weft.spark.pair_id import COLUMN, id_columns, id_field, rows_shown, with_pair_id
from weft.spark.residual import PythonResidual
from weft.spark.route_task import RouteTask, TypedRows
from weft.spark.shuttle import SHIPPED_DDL
from weft.spark.state_place import StatePlace, name_for, state_place, tasks_for
from weft.spec import INNER, JoinSpec, Kind, Window, build_spec, unbounded, with_delays
from weft.spec.kinds import check_ends, check_unordered, right_selected
from weft.state import Derived
from weft.types import SIDES, Bools, Rows, Side

__all__ = [
    "Built", "JoinOptions", "accept_of", "build", "check_options", "check_refresh", "check_selection", "shown_columns",
    "struct_of",
]  # fmt: skip

_SAMPLE = 2_000
"""Rows of a side that a static join looks at to find the boundaries of ranges."""


@dataclass(frozen=True)
class JoinOptions:
    """What was asked of a join, as `weft.join` and `weft.self_join` describe it."""

    on: str | Column
    window: Window | None = None
    scheme: str | Scheme = "auto"
    index: str = "auto"
    tasks: int | None = None
    select: Sequence[str | Column] | None = None
    suffix: str = "_right"
    state: str | None = None
    name: str | None = None
    unordered: bool = False
    kind: Kind = INNER
    refresh: str | None = None
    pair_id: str | None = None


def build(
    left: DataFrame, right: DataFrame, asked: JoinOptions, *, itself: bool = False, explaining: bool = False
) -> Built:  # fmt: skip
    """Check a join, of two frames or of one with `itself`, and everything it rests on; nothing runs yet."""
    frames: dict[Side, DataFrame] = {"left": left, "right": right}
    _check_frames(frames, asked)
    spark, streaming = left.sparkSession, left.isStreaming
    window = asked.window if asked.window is not None else unbounded()
    check_is_window(window)
    check_options(frames, asked)
    front_of(spark).check_workers(spark)
    with about("tasks"):
        tasks = tasks_for(spark, asked.tasks)
    with about("on"):
        selected = asked.select if asked.select is not None or asked.kind.pairs else [f"{_aliases(itself)[0]}.*"]
        analyzed = front_of(left).analyze(
            left, right, asked.on, selected, asked.suffix, _aliases(itself), asked.unordered
        )
    with about("select"):
        check_selection(analyzed, asked.kind, _aliases(itself))
    analyzed = with_pair_id(analyzed, asked.pair_id)
    with about("window"):
        check_time_columns(window, analyzed.frames)
        if streaming:
            window = with_delays(window, time_orders(window, frames), one_stream=itself)
    spec = build_spec(
        analyzed.condition, window, left_schema=shown_columns(analyzed, "left"),
        right_schema=shown_columns(analyzed, "right"), self_join=itself, unordered=asked.unordered, kind=asked.kind,
    )  # fmt: skip
    with about("how"):
        if streaming:
            check_ends(asked.kind, window)
        accept = accept_of(analyzed) if asked.kind.preserved else None
    choice = choose(spec, tasks, asked.scheme, asked.index)
    sides = (
        self_inputs(analyzed, spec) if spec.self_join else {side: side_input(analyzed, spec, side) for side in SIDES}
    )
    with about("state"):
        keeps = streaming and not explaining
        where = state_place(spark, asked.state, asked.name or name_for(left, right)) if keeps else None
    carried = Carried.of(
        spark, window, frames, [output.plain for output in analyzed.outputs],
        one_stream=spec.self_join, taken=analyzed.taken, kind=asked.kind,
    )  # fmt: skip
    return Built(analyzed, spec, choice, tasks, sides, where, carried, accept, asked.pair_id)


def _check_frames(frames: dict[Side, DataFrame], asked: JoinOptions) -> None:
    """Refuse what is no frame, and streams without a window; a stream with a table is built elsewhere (`weft.spark.table`)."""
    for side, frame in frames.items():
        if not isinstance(frame, DataFrame):
            raise SpecError.of(
                f"The {side} side is a {type(frame).__name__}.",
                "weft.join takes PySpark DataFrames.",
                "for pyarrow tables use weft.local.join.",
            )
    streaming = frames["left"].isStreaming
    check_refresh(asked.refresh, streaming)
    if streaming and asked.window is None:
        raise SpecError.of(
            "A join of streams needs a window.",
            "There are: within, last, tumbling, tumbling_rows, unbounded.",
            "write window=weft.within('10 seconds', on='ts'), or weft.unbounded() to keep everything.",
        )


def check_refresh(refresh: object, streaming: bool) -> None:
    """Refuse to read a table again where there is none."""
    if refresh is not None:
        raise SpecError.of(
            f"refresh={refresh!r} needs a stream and a table.",
            f"Here both sides are {'streaming' if streaming else 'static'}.",
            "omit refresh=.",
        )


def check_options(frames: dict[Side, DataFrame], asked: JoinOptions) -> None:
    """Refuse options of the wrong type, and frames whose columns cannot be told apart."""
    check_switch("unordered", asked.unordered)
    check_unordered(asked.kind, asked.unordered)
    given: object = asked.suffix
    if not isinstance(given, str):
        raise SpecError.of(
            f"suffix={given!r} is not a string.",
            "It is added to right columns that the left side has too.",
            "write suffix='_right'.",
        )
    for side, frame in frames.items():
        twice = sorted({column for column in frame.columns if frame.columns.count(column) > 1})
        if twice:
            raise SpecError.of(
                f"The {side} side has two columns named {twice[0]!r}.",
                f"It has: {', '.join(frame.columns)}.",
                "rename one of them first: frame.toDF('a', 'b', ...).",
            )
    if isinstance(asked.select, str):
        what = f"select={asked.select!r} is a string, not a list."
        raise SpecError.of(what, "It must be a list of columns.", f"write select=[{asked.select!r}].")


def check_selection(analyzed: Analyzed, kind: Kind, aliases: tuple[str, str]) -> None:
    """Refuse right columns where left rows leave alone."""
    if not kind.pairs and "right" in analyzed.selected:
        raise right_selected(aliases)


def accept_of(analyzed: Analyzed) -> Accept | None:
    """Return what decides in the tasks what words cannot, None if they decide everything."""
    residual = front_of(analyzed.spark).residual(analyzed)
    return None if residual is None else partial(_accepted, residual)


def _accepted(residual: PythonResidual, left: pa.Table, left_rows: Rows, right: pa.Table, right_rows: Rows) -> Bools:
    return residual(left.take(pa.array(left_rows)), right.take(pa.array(right_rows)))


def _aliases(itself: bool) -> tuple[str, str]:
    return SELF if itself else ("l", "r")


def shown_columns(analyzed: Analyzed, side: Side) -> str:
    """Return the columns that are kept, with their types: what the segments hold."""
    kept = analyzed.payload[side]
    frame = analyzed.frames[side]
    columns = [(name, frame.schema[name].dataType.simpleString()) for name in kept]
    columns += [(name, "bigint") for name in ROW_ID] if analyzed.numbered else []
    return ", ".join(f"{name} {kind}" for name, kind in columns)


@dataclass(frozen=True)
class Built:
    """A join that is known to be sound."""

    analyzed: Analyzed
    spec: JoinSpec
    choice: Choice
    tasks: int
    sides: dict[Side, SideInput]
    where: StatePlace | None
    carried: Carried
    accept: Accept | None = None
    pair_id: str | None = None

    def frame(self) -> DataFrame:
        """Return the joined DataFrame."""
        payload = {side: self.sides[side].arrow for side in SIDES}
        derived: dict[Side, Derived] = {side: self.sides[side].inputs.derived(self.spec.side(side)) for side in SIDES}
        job = Job(self.spec, self.choice.scheme, self.choice.index, self.tasks, payload, derived)
        plan = None if self.where is not None else self._static_plan()
        joiner = self._joiner(job)
        routed = self._routed(joiner, plan)
        fields = [
            StructField(field.name, field.dataType, field.nullable or self.spec.kind.absent(side))
            for side in self.spec.kind.sides
            for field in self.sides[side].payload.fields[: len(self.analyzed.payload[side])]
        ]
        if self._as_it_is:
            fields = [
                StructField(output.name, field.dataType, field.nullable, self._metadata(output))
                for output, field in zip(self.analyzed.outputs, fields, strict=True)
            ]
        if self.pair_id is not None:
            fields.append(id_field(self.pair_id if self._as_it_is else COLUMN))
        if self._both_ways:
            fields.append(StructField("swapped", BooleanType()))
        output = StructType(fields)
        shown = rows_shown(arrow_schema(self.analyzed.spark, output), self.pair_id, self.where)
        task = JoinTask(joiner, self.where, shown, plan)
        joined = routed.repartitionById(self.tasks, F.col("task")).mapInArrow(task, output)
        joined = joined if self._as_it_is else self._project(joined)
        if self.where is None:
            return joined
        register(self.analyzed.spark, self.where, job, self.explanation)
        return counted_pairs(joined, self.where.name)

    def explanation(self) -> Explanation:
        """Explain the join."""
        return explain_join(self.spec, self.choice, self.tasks, streaming=self.where is not None)

    def _metadata(self, output: Output) -> dict[str, Any]:
        """Return what an output column tells of its order in time; a static result tells nothing."""
        if self.where is None:
            return {}
        first = next(each for each in self.analyzed.outputs if each.plain == output.plain) is output
        return self.carried.metadata(output.plain, first=first)

    @property
    def _as_it_is(self) -> bool:
        """Tell whether pairs leave as the tasks give them: then no projection has to copy every row once more."""
        given = [(side, name) for side in self.spec.kind.sides for name in self.analyzed.payload[side]]
        return self._residual is None and [output.plain for output in self.analyzed.outputs] == given

    @property
    def _residual(self) -> Column | None:
        """Return what Spark has to decide on the pairs that leave."""
        return None if self.spec.kind.preserved else self.analyzed.residual

    @property
    def _both_ways(self) -> bool:
        return self.spec.unordered and bool(self.spec.condition.residual)

    def _joiner(self, job: Job) -> Joiner[Pairs]:
        return RowJoiner(job, self.accept)

    def _static_plan(self) -> Plan:
        return _static_plan(self.spec, self.choice.scheme, self.tasks, self.sides)

    def _routed(self, joiner: Joiner[Pairs], plan: Plan | None) -> DataFrame:
        streams: list[Side] = ["left"] if self.spec.self_join else ["left", "right"]
        sources = {side: TypedRows(self.sides[side].inputs, joiner.job.payload[side]) for side in SIDES}
        parts = [
            self.sides[stream].frame.mapInArrow(
                RouteTask(
                    joiner,
                    {role: sources[role] for role in joiner.roles(stream)},
                    self.where,
                    plan,
                    self._again(stream),
                ),
                SHIPPED_DDL,
            )
            for stream in streams
        ]
        if self.where is None:
            return reduce(DataFrame.unionAll, parts)
        timed = [self.carried.with_node(part, stream) for part, stream in zip(parts, streams, strict=True)]
        spark = self.analyzed.spark
        called = reduce(DataFrame.unionAll, [*timed, front_of(spark).roll_call(spark, self.tasks)])
        return observed_routes(called, self.where.name)

    def _again(self, side: Side) -> Again:
        by_arrival = self.spec.counted and self.sides[side].inputs.time is None
        return when_computed_again(self.sides[side].frame, by_arrival=by_arrival)

    def _project(self, joined: DataFrame) -> DataFrame:
        """Put both rows into structs named by the aliases; then residual and selection read as the user wrote them."""
        names = _aliases(self.spec.self_join)
        structs = [
            struct_of(prefix, self.analyzed.payload[side], alias)
            for prefix, side, alias in zip("lr", SIDES, names, strict=True)
            if side in self.spec.kind.sides
        ]
        ids = id_columns(self.pair_id)
        if self._both_ways:
            joined = self._unordered(joined, structs, names, ids)
        else:
            joined = joined.select(*structs, *ids)
            if self._residual is not None:
                joined = joined.where(self._residual)
        outputs = self.analyzed.outputs
        columns = [output.column.alias(output.name, metadata=self._metadata(output)) for output in outputs]
        return joined.select(*columns, *[column.alias(str(self.pair_id)) for column in ids])

    def _unordered(
        self, joined: DataFrame, structs: list[Column], names: tuple[str, str], ids: list[Column]
    ) -> DataFrame:  # fmt: skip
        """Keep a reading with the earlier row as `a` only if the residual refuses the other reading."""
        residual = self._residual
        assert residual is not None
        one, two = names
        checked = joined.select(*structs, "swapped", *ids).withColumn("this", residual)
        turned = checked.select(F.col(one).alias(two), F.col(two).alias(one), "swapped", "this", *ids).withColumn(
            "that", residual
        )
        kept = turned.where("this AND NOT (swapped AND coalesce(that, false))")
        return kept.select(F.col(two).alias(one), F.col(one).alias(two), *ids)


def struct_of(prefix: str, names: tuple[str, ...], alias: str) -> Column:
    """Return the payload of a side as one column, under the names that it came with."""
    fields = [F.col(f"{prefix}{number}").alias(name) for number, name in enumerate(names)]
    return F.struct(*fields).alias(alias) if fields else F.struct(F.lit(None).alias("nothing")).alias(alias)


def _static_plan(spec: JoinSpec, scheme: Scheme, tasks: int, sides: dict[Side, SideInput]) -> Plan:
    """Return the plan of a static join: no earlier batch tells, so the boundaries of ranges come from a sample of both sides."""
    plan = scheme.initial(spec, tasks)
    within = spec.access.within
    if not isinstance(scheme, Range) or tasks < 2 or within is None:
        return plan
    sample: dict[Side, tuple[int, ...]] = {}
    for side in SIDES:
        column = within.left if side == "left" else within.right
        part, source = spec.side(side), sides[side]
        key = part.keys[column] if column < len(part.keys) else None
        number = source.inputs.keys[column] if key is not None else source.inputs.time
        assert number is not None
        name = source.frame.columns[number]
        drawn = source.frame.select(name).where(F.col(name).isNotNull()).orderBy(F.rand(7)).limit(_SAMPLE).toArrow()
        words, _ = words_of(drawn.column(0), "value" if key is None else key.encode)
        sample[side] = tuple(int(word) for word in words)
    held = {side: max(len(sample[side]), 1) for side in SIDES}
    stats = TaskStats(dict.fromkeys(SIDES, 0), held, dict.fromkeys(SIDES, 0), sample)
    return scheme.control(spec, plan, [stats])[0]
