"""From a stream and a table, in either order, to a join that is known to be sound, and to its DataFrame.

What a join with a table cannot be asked is refused with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructField, StructType

from weft.engine import Lookup, TableLookup
from weft.engine.asof import AsofLookup
from weft.errors import SpecError, about
from weft.planner import Explanation, explain_table
from weft.spark.analysis import DELAY, Analyzed, Output, SideInput, arrow_schema, frame_of, side_input
from weft.spark.asof_match import AsofOptions, asof_match
from weft.spark.build import JoinOptions, accept_of, check_options, check_selection, shown_columns, struct_of
from weft.spark.front import front_of, on_connect
from weft.spark.join_task import side_by_side
from weft.spark.observed import counted_pairs
from weft.spark.pair_id import refuse_pair_id
from weft.spark.route_task import TypedRows
from weft.spark.state_place import TABLE, StatePlace, name_for, state_place
from weft.spark.table.lookup_task import IndexTask, LookupTask
from weft.spark.table.versions import Table, register_table
from weft.spec import Delays, JoinSpec, Kind, build_spec, unbounded
from weft.spec.asof import AsofAsked
from weft.spec.join_spec import asof_table_spec
from weft.spec.options import microseconds
from weft.types import SIDES, Side, other

__all__ = [
    "TableJoin",
    "asof_table_join",
    "check_asof_request",
    "check_request",
    "refreshed_by",
    "table_join",
    "with_table",
]

_LIMIT = "spark.weft.table.maxBytes"


def with_table(left: object, right: object) -> bool:
    """Tell whether one side is a stream and the other is not."""
    return isinstance(left, DataFrame) and isinstance(right, DataFrame) and left.isStreaming != right.isStreaming


def table_join(left: DataFrame, right: DataFrame, asked: JoinOptions, *, explaining: bool = False) -> TableJoin:
    """Check a join of a stream with a table and everything it rests on; nothing runs yet."""
    frames: dict[Side, DataFrame] = {"left": left, "right": right}
    asking: Side = "left" if left.isStreaming else "right"
    spark, table = left.sparkSession, frames[other(asking)]
    _check_session(left)
    check_request(
        asking, asked.kind, window=asked.window, scheme=asked.scheme, index=asked.index, tasks=asked.tasks
    )  # fmt: skip
    refuse_pair_id(asked.pair_id)
    check_options(frames, asked)
    with about("refresh"):
        refreshed_by(asked.refresh, table)
    front_of(spark).check_workers(spark)
    with about("on"):
        selected = asked.select if asked.select is not None or asked.kind.pairs else ["l.*"]
        found = front_of(left).analyze(left, right, asked.on, selected, asked.suffix, ("l", "r"))
    with about("select"):
        check_selection(found, asked.kind, ("l", "r"))
    analyzed = _watermarked(found, asking)
    spec = build_spec(
        analyzed.condition, unbounded(), left_schema=shown_columns(analyzed, "left"),
        right_schema=shown_columns(analyzed, "right"), kind=asked.kind,
    )  # fmt: skip
    with about("how"):
        accept = accept_of(analyzed) if asked.kind.preserved else None
    where = None if explaining else _place(left, right, asked.state, asked.name)
    sides = {side: side_input(analyzed, spec, side) for side in SIDES}
    look_up = Lookup(spec, asking, {side: sides[side].arrow for side in SIDES}, accept)
    return TableJoin(analyzed, look_up, sides, where, table, asked.refresh)


def asof_table_join(stream: DataFrame, table: DataFrame, asked: AsofAsked, options: AsofOptions) -> TableJoin:
    """Check an as-of join of a stream with a table and everything it rests on; nothing runs yet."""
    frames: dict[Side, DataFrame] = {"left": stream, "right": table}
    _check_session(stream)
    check_asof_request(stream, asked, options.tasks)
    refuse_pair_id(options.pair_id)
    check_options(frames, JoinOptions("", select=options.select, suffix=options.suffix))
    with about("refresh"):
        refreshed_by(options.refresh, table)
    front_of(stream).check_workers(stream.sparkSession)
    match = asof_match(frames, asked, options)
    analyzed = _watermarked(match.analyzed, "left")
    spec = asof_table_spec(match.spec(unbounded()))
    where = None if options.explaining else _place(stream, table, options.state, options.name)
    sides = {side: side_input(analyzed, spec, side) for side in SIDES}
    look_up = AsofLookup(spec, {side: sides[side].arrow for side in SIDES}, match.accept)
    return TableJoin(analyzed, look_up, sides, where, table, options.refresh)


def _check_session(frame: DataFrame) -> None:
    """Refuse Spark Connect: which version of a table tasks see travels with the jobs of the driver, and a client has none."""
    if on_connect(frame):
        raise SpecError.of(
            "A stream with a table does not run on Spark Connect.",
            "The driver reads the table when the query starts, and tells its tasks which version they see; on Spark Connect the "
            "driver is the server's.",
            "read the table as a stream too and join both with window=weft.unbounded(), or use a session that is not remote.",
        )


def _watermarked(found: Analyzed, asking: Side) -> Analyzed:
    """Let the stream keep its watermark: the join hands rows on, so Spark's operators behind it go by the one in front."""
    return replace(found, frames={**found.frames, asking: frame_of(found.spark, found.given[asking])})


def _place(left: DataFrame, right: DataFrame, state: str | None, name: str | None) -> StatePlace:
    """Return where the table is written."""
    with about("state"):
        name = name or name_for(left, right, TABLE).replace("join", "table")
        keeps = "Weft writes the table there, as an index that all tasks map"
        return state_place(left.sparkSession, state, name, keeps=keeps)


@dataclass(frozen=True)
class TableJoin:
    """A join of a stream with a table that is known to be sound."""

    analyzed: Analyzed
    look_up: TableLookup
    sides: Mapping[Side, SideInput]
    where: StatePlace | None
    table: DataFrame
    refresh: str | None

    @property
    def spec(self) -> JoinSpec:
        """Return what joins."""
        return self.look_up.spec

    def frame(self) -> DataFrame:
        """Return the joined DataFrame."""
        assert self.where is not None
        kind, spark, look_up = self.spec.kind, self.analyzed.spark, self.look_up
        sources = {side: TypedRows(self.sides[side].inputs, self.sides[side].arrow) for side in SIDES}
        every, column = refreshed_by(self.refresh, self.table)
        limit = spark.conf.get(_LIMIT, None)
        index = IndexTask(look_up, sources[look_up.stored], self.where.path, "", 0, _bytes(spark, limit))
        register_table(Table(self.where, self.table, self.sides[look_up.stored].frame, index, every, column))
        fields = [
            StructField(field.name, field.dataType, field.nullable or kind.absent(side))
            for side in kind.sides
            for field in self.sides[side].payload.fields
        ]
        if self._as_it_is:
            fields = [
                StructField(output.name, field.dataType, field.nullable, self._metadata(output))
                for output, field in zip(self.analyzed.outputs, fields, strict=True)
            ]
        output = StructType(fields)
        shown = partial(side_by_side, schema=arrow_schema(spark, output))
        task = LookupTask(look_up, sources[look_up.asking], self.where, shown, self.refresh is not None)
        joined = self.sides[look_up.asking].frame.mapInArrow(task, output)
        return counted_pairs(joined if self._as_it_is else self._project(joined), self.where.name or "table")

    def explanation(self) -> Explanation:
        """Show how the join would run."""
        return explain_table(self.spec, self.look_up.asking, self.refresh)

    @property
    def _residual(self) -> Column | None:
        """Return what Spark has to decide on the pairs that leave."""
        return None if self.spec.kind.preserved else self.analyzed.residual

    @property
    def _as_it_is(self) -> bool:
        """Tell whether rows leave as the tasks give them: then no projection has to copy every row once more."""
        given = [(side, name) for side in self.spec.kind.sides for name in self.analyzed.payload[side]]
        return self._residual is None and [output.plain for output in self.analyzed.outputs] == given

    def _metadata(self, output: Output) -> dict[str, Any]:
        """Return what the stream's column tells of its order in time; of a column selected twice, Spark takes one."""
        if output.plain is None or output.plain[0] != self.look_up.asking:
            return {}
        known = dict(self.analyzed.frames[self.look_up.asking].schema[output.plain[1]].metadata)
        if next(each for each in self.analyzed.outputs if each.plain == output.plain) is not output:
            known.pop(DELAY, None)
        return known

    def _project(self, joined: DataFrame) -> DataFrame:
        """Put both rows into structs named by the aliases; then residual and selection read as the user wrote them."""
        names = zip("lr", SIDES, strict=True)
        structs = [struct_of(a, self.analyzed.payload[side], a) for a, side in names if side in self.spec.kind.sides]
        joined = joined.select(*structs)
        if self._residual is not None:
            joined = joined.where(self._residual)
        outputs = self.analyzed.outputs
        return joined.select(*[o.column.alias(o.name, metadata=self._metadata(o)) for o in outputs])


def _bytes(spark: Any, text: str | None) -> int | None:
    """Return a number of bytes that a setting says as Spark's do ("8g")."""
    if text is None:
        return None
    try:
        return int(spark._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(text))
    except Exception:  # noqa: BLE001  Java says in its own words what it does not understand
        raise SpecError.of(
            f"{_LIMIT} is {text!r}.",
            "It is the maximum size in bytes of the index of a table.",
            "write '8g' or '500m'.",
        ) from None


_NEEDLESS = "The stream is not shuffled: each of Spark's tasks looks its rows up in the whole table, through one index."


def check_request(
    asking: Side, kind: Kind, *, window: object, scheme: object, index: object, tasks: object
) -> None:  # fmt: skip
    """Refuse what only joins of two streams have, and kinds for which a row of the table would have to leave alone."""
    with about("window"):
        if window is not None:
            raise SpecError.of(
                "A stream with a table has no window.",
                "The table has no clock: every row of the stream is compared with the whole table.",
                "omit window=; to compare times, write it in on=, such as 'l.ts BETWEEN r.valid_from AND r.valid_to'.",
            )
    for name, given, default in (("scheme", scheme, "auto"), ("index", index, "auto"), ("tasks", tasks, None)):
        if given != default:
            raise _needless(name, given)
    with about("how"):
        _check_kind(asking, kind)


def check_asof_request(left: DataFrame, asked: AsofAsked, tasks: object) -> None:
    """Refuse a table on the left, and what only as-of joins of two streams have."""
    if not left.isStreaming:
        raise SpecError.of(
            "The left side is a table and the right side a stream.",
            "Each left row is given one right row; for a row of the table, a nearer one could arrive in any later batch.",
            "put the stream on the left: weft.asof_join(stream, table, on=...); or read the table as a stream too, with delay=.",
        )
    with about("delay"):
        if asked.delays != Delays():
            raise SpecError.of(
                "A stream with a table has no delay.",
                "The table is complete when a batch begins, so every row of the stream is emitted with its batch: nothing waits.",
                "omit delay=, left_delay= and right_delay=.",
            )
    if tasks is not None:
        raise _needless("tasks", tasks)


def _needless(name: str, given: object) -> SpecError:
    error = SpecError.of(f"{name}={given!r} does not apply to a stream with a table.", _NEEDLESS, f"omit {name}=.")
    error.argument = name
    return error


def _check_kind(asking: Side, kind: Kind) -> None:
    if all(side == asking for side in kind.preserved):
        return
    known = "inner, left, left_semi, left_anti" if asking == "left" else "inner, right"
    table, alias = other(asking), other(asking)[0]
    if kind.pairs:
        why = f"A row of {alias} can match in any later batch, so an unmatched one could never be emitted."
        hint = f"use how={asking!r}, or 'inner'."
    else:
        why = f"It returns rows of {alias}, and each of them can match in any later batch."
        hint = f"put the stream on the left: weft.join(stream, table, how={kind.name!r})."
    raise SpecError.of(
        f"how={kind.name!r} does not work with a table on the {table}.", f"{why} Valid here: {known}.", hint
    )


def refreshed_by(refresh: object, table: DataFrame) -> tuple[int | None, str | None]:
    """Return how often a table is read again, in microseconds, or the column that tells of a new version."""
    if refresh is None:
        return None, None
    if isinstance(refresh, str):
        column = next((name for name in table.columns if name.lower() == refresh.lower()), None)
        if column is not None:
            return None, column
    try:
        every = microseconds("refresh", refresh, least=1) if isinstance(refresh, str) else None
    except SpecError:
        every = None
    if every is None:
        raise SpecError.of(
            f"refresh={refresh!r} is neither a length of time nor a column of the table.",
            "It says how often the table is read again, or names a column whose greatest value changes with each version; the "
            f"table has: {', '.join(table.columns)}.",
            "write refresh='1 hour', or name a column.",
        )
    return every, None
