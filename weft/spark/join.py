"""`weft.join` on Spark: route, shuffle by task, join; a plain DataFrame comes out.

Built from `mapInArrow`, `unionAll` and `repartitionById` alone, so sinks, triggers, checkpoints and whatever follows stay
Spark's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType

from weft.control import Choice, Explanation, check_switch, choose, explain_join
from weft.engine import Job
from weft.errors import SpecError, about
from weft.routing import Plan, Scheme
from weft.spark.analyze import SELF, Analyzed, Output, analyze
from weft.spark.arrow import arrow_schema
from weft.spark.functions import JoinTask, RouteTask
from weft.spark.hooks import register
from weft.spark.inputs import SideInput, check_is_window, check_time_columns, self_inputs, side_input
from weft.spark.place import Where, name_for, tasks_for, where_for
from weft.spark.reports import counted_pairs, observed_routes
from weft.spark.rollcall import roll_call
from weft.spark.sampling import sampled_plan
from weft.spark.shuttle import SHIPPED_DDL
from weft.spark.watermarks import Carried, time_orders
from weft.spark.workers import check_workers
from weft.spec import JoinSpec, Window, build_spec, unbounded, with_delays
from weft.spec.options import check_kind
from weft.state import Derived
from weft.types import SIDES, Side

__all__ = ["Built", "build", "explain", "join", "self_join"]


def join(
    left: DataFrame, right: DataFrame, *, on: str | Column, how: str = "inner", window: Window | None = None,
    scheme: str | Scheme = "auto", index: str = "auto", tasks: int | None = None,
    select: Sequence[str | Column] | None = None, suffix: str = "_right", state: str | None = None, name: str | None = None,
) -> DataFrame:  # fmt: skip
    """Join two DataFrames, both streaming or both static, on any condition.

    Parameters
    ----------
    left, right
        Two streaming DataFrames, or two static ones.
    on
        The condition: SQL over the aliases `l` and `r`, or a PySpark Column over `l.x`, `r.y` or the frames' own columns.
    how
        The kind of join; so far there is "inner".
    window
        Which pairs are near enough: `weft.within`, `weft.last`, `weft.tumbling`, `weft.tumbling_rows`, `weft.unbounded`.
        Streams need one; static frames may go without.
    scheme, index
        "auto", a name, or a configured object such as `weft.Matrix(rows=2, columns=3)`.
    tasks
        How many tasks join; by default as many as Spark has cores.
    select, suffix
        The columns of the result, such as `["l.id AS lid", "r.*"]`; else all columns, and a right-hand one whose name the
        left side has too gets the suffix.
    state
        Folder for the rows that still may find partners, readable and writable by all executors. Streaming only; by default
        the conf `spark.weft.state`.
    name
        Tells this join from others of the same query that share the state path; a chain of joins needs none.

    Returns
    -------
    DataFrame
        A plain DataFrame: write it to any sink, aggregate it, join it again. The time columns of a join over time with
        delays carry the watermark that they need.
    """
    check_kind(how)
    return build(left, right, on, window, scheme, index, tasks, select, suffix, state, ("l", "r"), name=name).frame()


def self_join(
    stream: DataFrame, *, on: str | Column, how: str = "inner", window: Window | None = None, unordered: bool = False,
    scheme: str | Scheme = "auto", index: str = "auto", tasks: int | None = None,
    select: Sequence[str | Column] | None = None, suffix: str = "_right", state: str | None = None, name: str | None = None,
) -> DataFrame:  # fmt: skip
    """Join a DataFrame with itself, reading it once; aliases are `a` and `b`.

    Gives all ordered pairs of different rows that satisfy `on`; with `unordered=True` each pair of rows once, in the
    reading that satisfies `on` (with the later row as `a` if both do). The other parameters are those of `join`.
    """
    check_kind(how)
    return build(
        stream, stream, on, window, scheme, index, tasks, select, suffix, state, ("a", "b"), unordered, name=name
    ).frame()


def explain(
    left: DataFrame, right: DataFrame | None = None, *, on: str | Column, window: Window | None = None,
    scheme: str | Scheme = "auto", index: str = "auto", tasks: int | None = None,
) -> Explanation:  # fmt: skip
    """Tell how a join would run: scheme, index, replication, bound of the state. Without `right`, of a self join."""
    aliases = ("l", "r") if right is not None else ("a", "b")
    built = build(
        left,
        left if right is None else right,
        on,
        window,
        scheme,
        index,
        tasks,
        None,
        "_right",
        None,
        aliases,
        explaining=True,
    )
    return explain_join(built.spec, built.choice, built.tasks, streaming=left.isStreaming)


@dataclass(frozen=True)
class Built:
    """A join that is known to be sound."""

    analyzed: Analyzed
    spec: JoinSpec
    choice: Choice
    tasks: int
    sides: dict[Side, SideInput]
    where: Where | None
    carried: Carried

    def frame(self) -> DataFrame:
        """Return the joined DataFrame."""
        payload = {side: self.sides[side].arrow for side in SIDES}
        derived: dict[Side, Derived] = {side: self.sides[side].inputs.derived(self.spec.side(side)) for side in SIDES}
        job = Job(self.spec, self.choice.scheme, self.choice.index, self.tasks, payload, derived)
        plan = None if self.where is not None else self._static_plan()
        routed = self._routed(job, plan)
        fields = [*self.sides["left"].payload.fields, *self.sides["right"].payload.fields]
        if self._as_it_is:
            fields = [
                StructField(output.name, field.dataType, field.nullable, self._metadata(output))
                for output, field in zip(self.analyzed.outputs, fields, strict=True)
            ]
        output = StructType(fields)
        if self._both_ways:
            output = StructType([*output.fields, StructField("swapped", BooleanType())])
        task = JoinTask(job, self.where, arrow_schema(self.analyzed.spark, output), plan)
        joined = routed.repartitionById(self.tasks, F.col("task")).mapInArrow(task, output)
        joined = joined if self._as_it_is else self._project(joined)
        if self.where is None:
            return joined
        register(self.where, job)
        return counted_pairs(joined, self.where.name)

    def _metadata(self, output: Output) -> dict[str, Any]:
        """Return what an output column tells of its order in time; a static result tells nothing."""
        if self.where is None:
            return {}
        first = next(each for each in self.analyzed.outputs if each.plain == output.plain) is output
        return self.carried.metadata(output.plain, first=first)

    @property
    def _as_it_is(self) -> bool:
        """Tell whether pairs leave as the tasks give them: then no projection has to copy every row once more."""
        given = [(side, name) for side in SIDES for name in self.analyzed.payload[side]]
        return self.analyzed.residual is None and [output.plain for output in self.analyzed.outputs] == given

    @property
    def _both_ways(self) -> bool:
        return self.spec.unordered and bool(self.spec.condition.residual)

    def _static_plan(self) -> Plan:
        return sampled_plan(self.spec, self.choice.scheme, self.tasks, self.sides)

    def _routed(self, job: Job, plan: Plan | None) -> DataFrame:
        inputs = {side: self.sides[side].inputs for side in SIDES}
        roles: list[tuple[Side, ...]] = (
            [SIDES] if self.spec.self_join else [("left",), ("right",)]
        )  # or both, read once
        parts = [
            self.sides[role[0]].frame.mapInArrow(RouteTask(job, role, inputs, self.where, plan), SHIPPED_DDL)
            for role in roles
        ]
        if self.where is None:
            return reduce(DataFrame.unionAll, parts)
        timed = [self.carried.with_node(part, role[0]) for part, role in zip(parts, roles, strict=True)]
        called = reduce(DataFrame.unionAll, [*timed, roll_call(self.analyzed.spark, self.tasks)])
        return observed_routes(called, self.where.name)

    def _project(self, joined: DataFrame) -> DataFrame:
        """Put both rows into structs named by the aliases; then residual and selection read as the user wrote them."""
        names = ("a", "b") if self.spec.self_join else ("l", "r")
        structs = [
            _struct(prefix, self.analyzed.payload[side], alias)
            for prefix, side, alias in zip("lr", SIDES, names, strict=True)
        ]
        if self._both_ways:
            joined = self._unordered(joined, structs, names)
        else:
            joined = joined.select(*structs)
            if self.analyzed.residual is not None:
                joined = joined.where(self.analyzed.residual)
        outputs = self.analyzed.outputs
        return joined.select(*[o.column.alias(o.name, metadata=self._metadata(o)) for o in outputs])

    def _unordered(self, joined: DataFrame, structs: list[Column], names: tuple[str, str]) -> DataFrame:
        """Keep a reading with the earlier row as `a` only if the residual refuses the other reading."""
        residual = self.analyzed.residual
        assert residual is not None
        one, two = names
        checked = joined.select(*structs, "swapped").withColumn("this", residual)
        turned = checked.select(F.col(one).alias(two), F.col(two).alias(one), "swapped", "this").withColumn(
            "that", residual
        )
        kept = turned.where("this AND NOT (swapped AND coalesce(that, false))")
        return kept.select(F.col(two).alias(one), F.col(one).alias(two))


def _struct(prefix: str, names: tuple[str, ...], alias: str) -> Column:
    fields = [F.col(f"{prefix}{number}").alias(name) for number, name in enumerate(names)]
    return F.struct(*fields).alias(alias) if fields else F.struct(F.lit(None).alias("nothing")).alias(alias)


def build(
    left: DataFrame, right: DataFrame, on: str | Column, window: Window | None, scheme: str | Scheme, index: str,
    tasks: int | None, select: Sequence[str | Column] | None, suffix: str, state: str | None,
    aliases: tuple[str, str], unordered: bool = False, explaining: bool = False, name: str | None = None,
) -> Built:  # fmt: skip
    """Check a join and everything it rests on; nothing runs yet."""
    for side, frame in zip(SIDES, (left, right), strict=True):
        if not isinstance(frame, DataFrame):
            raise SpecError.of(
                f"The {side} side is a {type(frame).__name__}.",
                "weft.join takes PySpark DataFrames.",
                "for pyarrow tables use weft.local.join.",
            )
    spark = left.sparkSession
    streaming = left.isStreaming
    if streaming != right.isStreaming:
        kinds = ("streaming", "static") if streaming else ("static", "streaming")
        raise SpecError.of(
            f"The left side is {kinds[0]} and the right side {kinds[1]}.",
            "weft.join takes two streams or two static frames.",
            "Spark joins a stream with a static frame itself; or read the static side as a stream too.",
        )
    if streaming and window is None:
        raise SpecError.of(
            "A join of streams needs a window.",
            "There are: within, last, tumbling, tumbling_rows, unbounded.",
            "write window=weft.within('10 seconds', on='ts'), or weft.unbounded() to keep everything.",
        )
    window = window if window is not None else unbounded()
    check_is_window(window)
    check_switch("unordered", unordered)
    given: object = suffix
    if not isinstance(given, str):
        raise SpecError.of(
            f"suffix={suffix!r}.", "It is added to right columns that the left side has too.", "write suffix='_right'."
        )
    for side, frame in zip(SIDES, (left, right), strict=True):
        twice = sorted({column for column in frame.columns if frame.columns.count(column) > 1})
        if twice:
            raise SpecError.of(
                f"The {side} side has two columns named {twice[0]!r}.",
                f"It has: {', '.join(frame.columns)}.",
                "rename one of them first: frame.toDF('a', 'b', ...).",
            )
    if isinstance(select, str):
        raise SpecError.of(f"select={select!r} is one text.", "It is a list of columns.", f"write select=[{select!r}].")
    check_workers(spark)
    with about("tasks"):
        number = tasks_for(spark, tasks)
    with about("on"):
        analyzed = analyze(left, right, on, select, suffix, aliases, unordered)
    with about("window"):
        check_time_columns(window, analyzed.frames)
        if streaming:
            window = with_delays(
                window, time_orders(window, {"left": left, "right": right}), one_stream=aliases == SELF
            )
    spec = build_spec(
        analyzed.condition, window, left_schema=_shown(analyzed, "left"),
        right_schema=_shown(analyzed, "right"), self_join=aliases == ("a", "b"), unordered=unordered,
    )  # fmt: skip
    choice = choose(spec, number, scheme, index)
    sides = (
        self_inputs(analyzed, spec) if spec.self_join else {side: side_input(analyzed, spec, side) for side in SIDES}
    )
    with about("state"):
        where = where_for(spark, state, name or name_for(left, right)) if streaming and not explaining else None
    carried = Carried.of(
        spark, window, {"left": left, "right": right}, [output.plain for output in analyzed.outputs],
        one_stream=spec.self_join, taken=analyzed.taken,
    )  # fmt: skip
    return Built(analyzed, spec, choice, number, sides, where, carried)


def _shown(analyzed: Analyzed, side: Side) -> str:
    """Return the columns that are kept, with their types: what the segments hold."""
    kept = analyzed.payload[side]
    frame = analyzed.frames[side]
    return ", ".join(f"{name} {frame.schema[name].dataType.simpleString()}" for name in kept)
