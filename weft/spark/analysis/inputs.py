"""What a side sends into the join: payload, keys that are no payload, the time or order column, its own condition.

Rows arrive in the same order each time from files and Kafka, and behind operators that work row by row. Behind a shuffle they do
not: blocks are fetched as they come. Then route brings them into the order of their content (`weft.engine.content_order`).
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    ShortType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)  # fmt: skip

from weft.engine import ROW_ID, Inputs
from weft.errors import SpecError, UnknownColumn
from weft.spark.analysis.analyze import Analyzed
from weft.spark.analysis.complaints import untold
from weft.spark.analysis.plans import arrives_anyhow, values_vary
from weft.spark.analysis.watermarks import quoted
from weft.spark.front import front_of
from weft.spec import JoinSpec, Tumbling, Window, Within, unit_hint, window_column
from weft.types import SIDES, Side, other

__all__ = [
    "SAME",
    "Again",
    "SideInput",
    "arrow_schema",
    "check_is_window",
    "check_time_columns",
    "day_as",
    "self_inputs",
    "side_input",
    "when_computed_again",
]

_WHOLE = (ByteType, ShortType, IntegerType, LongType)
_TIMES = (TimestampType, TimestampNTZType, DateType)


@dataclass(frozen=True)
class SideInput:
    """The frame that is routed, where its columns are, and the payload as Arrow sees it."""

    frame: DataFrame
    inputs: Inputs
    payload: StructType
    arrow: pa.Schema


def side_input(analyzed: Analyzed, spec: JoinSpec, side: Side) -> SideInput:
    """Project a side onto what travels."""
    travel = _Travel(analyzed, spec, side)
    inputs = travel.inputs(side)
    return travel.routed(inputs, side)


def self_inputs(analyzed: Analyzed, spec: JoinSpec) -> dict[Side, SideInput]:
    """Project the one frame of a self join onto what both roles need."""
    travel = _Travel(analyzed, spec, "left")
    inputs = {side: travel.inputs(side) for side in SIDES}
    return {side: travel.routed(inputs[side], side) for side in SIDES}


class _Travel:
    """Collects the columns that travel; a key that is also payload, or that both roles share, travels once."""

    def __init__(self, analyzed: Analyzed, spec: JoinSpec, side: Side) -> None:
        self.analyzed, self.spec = analyzed, spec
        self.frame, self.names = analyzed.frames[side], analyzed.payload[side]
        self.columns = {f"p{i}": F.col(quoted(name)) for i, name in enumerate(self.names)}
        if analyzed.numbered:  # room for what route fills in
            self.columns |= {name: F.lit(0).cast("long") for name in ROW_ID}
        self.payload = len(self.columns)

    def inputs(self, side: Side) -> Inputs:
        """Add what one role needs and tell where it is."""
        keys = []
        for key in self.spec.side(side).keys:
            column, plain = self.analyzed.keys[side][key.text]
            keys.append(self._place(column, plain, f"key {key.text}"))
        name, time = window_column(self.spec.window, side), None
        if name is not None:
            kind = _type_of(self.frame, name, side)
            column = F.col(quoted(name))
            if isinstance(kind, DateType):
                facing = self.analyzed.frames[other(side)]
                time = self._place(column.cast(day_as(self.spec.window, facing, other(side))), None, f"day {name}")
            else:
                time = self._place(column, name, f"time {name}")
        only, keep = self.analyzed.only[side], None
        if only is not None and (self.spec.counted or self.spec.self_join or side in self.spec.kind.preserved):
            # A count window numbers the row even where its own condition is false; a self join asks it in each role, and a
            # preserved side returns the row.
            keep = self._place(only, None, f"keep {side}")
        elif only is not None:
            self.frame = self.frame.where(only)
        return Inputs(self.payload, tuple(keys), time, keep, self.analyzed.numbered)

    def _place(self, column: Column, plain: str | None, label: str) -> int:
        if plain in self.names:
            return self.names.index(plain)
        self.columns.setdefault(label, column)
        return list(self.columns).index(label)

    def routed(self, inputs: Inputs, side: Side) -> SideInput:
        """Return the projected frame and the payload under the names it has behind the join."""
        chosen = [column.alias(f"c{number}") for number, column in enumerate(self.columns.values())]
        if len(chosen) == len(self.names) and list(self.names) == self.frame.columns and all(map(_simple, self.names)):
            routed = self.frame  # it is what travels: a projection would copy every row for other names
        else:
            routed = self.frame.select(*chosen or [F.lit(False).alias("nothing")])
        fields = [self.frame.schema[name] for name in self.names]
        if self.analyzed.numbered:
            fields = [*fields, *(StructField(name, LongType(), nullable=False) for name in ROW_ID)]
        payload = StructType([StructField(f"{side[0]}{i}", f.dataType, f.nullable) for i, f in enumerate(fields)])
        return SideInput(routed, inputs, payload, _arrow(self.analyzed.spark, payload, self.names))


def day_as(window: Window, facing: DataFrame, side: Side) -> str:
    """Return what a date is compared as: midnight in the session's zone where the `facing` side has timestamps, as in Spark."""
    name = window_column(window, side)
    assert name is not None
    return "timestamp" if isinstance(_type_of(facing, name, side), TimestampType) else "timestamp_ntz"


def _simple(name: str) -> bool:
    """Tell whether a column can be named as it is; PySpark's functions look their columns up by name, unquoted."""
    return name.isascii() and name.isidentifier()


def check_is_window(window: object) -> None:
    """Refuse what is no window."""
    if not isinstance(window, Window):
        raise SpecError.of(
            f"window= is {window!r}.",
            "Windows are: within, last, tumbling, tumbling_rows, unbounded.",
            "write window=weft.within('10 seconds', on='ts').",
        )


def check_time_columns(window: Window, frames: dict[Side, DataFrame]) -> None:
    """Refuse a window whose columns are missing or of a type it cannot use."""
    kinds: dict[Side, DataType] = {}
    for side in SIDES:
        name = window_column(window, side)
        if name is None:
            return
        kinds[side] = _type_of(frames[side], name, side)
        if isinstance(window, (Within, Tumbling)):
            wanted = _TIMES if window.unit == "time" else _WHOLE
            if not isinstance(kinds[side], wanted):
                need = "a timestamp or date" if window.unit == "time" else "an integer"
                time, whole = isinstance(kinds[side], _TIMES), isinstance(kinds[side], _WHOLE)
                raise SpecError.of(
                    f"The window's {side} column {name!r} is {kinds[side].simpleString()}.",
                    f"A window given in {'durations' if window.unit == 'time' else 'plain numbers'} needs {need}.",
                    unit_hint(window.unit, time=time, whole=whole),
                )
        elif not isinstance(kinds[side], (*_WHOLE, *_TIMES)) and kinds[side].simpleString() not in ("float", "double"):
            raise SpecError.of(
                f"The window's {side} order column {name!r} is {kinds[side].simpleString()}.",
                "Rows are ordered by an integer, float, date or timestamp.",
                "name another column, or leave order= out for order of arrival.",
            )
    left, right = kinds["left"], kinds["right"]
    if _family(left) != _family(right):
        raise SpecError.of(
            f"The window orders the left side by {left.simpleString()} and the right side by {right.simpleString()}.",
            "Both streams share one order, so their order columns must be of one kind: integer, floating-point or time.",
            "cast one of them to the other's type.",
        )
    mixed = {type(left), type(right)} == {TimestampType, TimestampNTZType}
    if mixed:
        raise SpecError.of(
            f"The window compares {left.simpleString()} with {right.simpleString()}.",
            "One is an instant, the other a local time without a time zone.",
            "cast one of them to the other's type.",
        )


def _family(kind: DataType) -> str:
    return "whole" if isinstance(kind, _WHOLE) else "time" if isinstance(kind, _TIMES) else "floating"


def _type_of(frame: DataFrame, name: str, side: Side) -> DataType:
    try:
        with untold():
            return frame.select(F.col(quoted(name))).schema[0].dataType
    except AnalysisException:
        raise UnknownColumn.on_side(side, name, frame.columns) from None


def _arrow(spark: SparkSession, payload: StructType, names: tuple[str, ...]) -> pa.Schema:
    try:
        return arrow_schema(spark, payload)
    except (PySparkException, TypeError) as error:
        kinds = ", ".join(
            f"{name} {field.dataType.simpleString()}" for name, field in zip(names, payload.fields, strict=True)
        )
        raise SpecError.of(
            f"A column cannot be converted to Arrow: {error}.",
            f"The columns are: {kinds}.",
            "cast it, or leave it out with select=.",
        ) from None


def arrow_schema(spark: SparkSession, schema: StructType) -> pa.Schema:
    """Return the Arrow schema; PySpark releases differ in what they want to be told."""
    wide = str(spark.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")).lower() == "true"
    facts: dict[str, Any] = {"timezone": spark.conf.get("spark.sql.session.timeZone"), "prefers_large_types": wide}
    known = inspect.signature(to_arrow_schema).parameters
    return to_arrow_schema(schema, **{name: value for name, value in facts.items() if name in known})


class Again(NamedTuple):
    """What may differ when the rows of a frame are computed again: the order in which they arrive, and their values."""

    order: bool = False
    values: bool = False


SAME = Again()


def when_computed_again(frame: DataFrame, *, by_arrival: bool) -> Again:
    """Tell what may differ; see `arrives_anyhow` and `values_vary`."""
    plan = front_of(frame).plan(frame)
    return Again(arrives_anyhow(plan, by_arrival), values_vary(plan))
