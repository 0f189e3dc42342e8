"""What a side sends into the join: payload, keys that are no payload, the time or order column, its own condition."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ByteType, DataType, DateType, IntegerType, LongType, ShortType, StructField, StructType, TimestampNTZType, TimestampType,
)  # fmt: skip

from weft.engine import Inputs
from weft.errors import SpecError, UnknownColumn
from weft.spark.analyze import Analyzed
from weft.spec import JoinSpec, Last, Tumbling, TumblingRows, Window, Within
from weft.types import Side

__all__ = ["SideInput", "check_time_columns", "side_input"]

_WHOLE = (ByteType, ShortType, IntegerType, LongType)
_TIMES = (TimestampType, TimestampNTZType, DateType)


@dataclass(frozen=True)
class SideInput:
    """The frame that is routed, where its columns are, and the payload as Arrow sees it."""

    frame: DataFrame
    inputs: Inputs
    payload: StructType
    arrow: pa.Schema


def side_input(analyzed: Analyzed, spec: JoinSpec, side: Side, prefix: str) -> SideInput:
    """Project a side onto what travels; a key that is also payload travels once."""
    frame = analyzed.frames[side]
    only = analyzed.only[side]
    names = analyzed.payload[side]
    columns: list[Column] = [F.col(_quoted(name)).alias(f"{prefix}{i}") for i, name in enumerate(names)]
    payload = StructType([frame.schema[name] for name in names])
    payload = StructType([_renamed(field, f"{prefix}{i}") for i, field in enumerate(payload.fields)])
    keys = []
    for key in spec.side(side).keys:
        number, plain = _source(analyzed, side, key.text)
        if plain is not None and plain in names:
            keys.append(names.index(plain))
        else:
            keys.append(len(columns))
            columns.append(analyzed.key_column(number[0], number[1]).alias(f"k{len(columns)}"))
    time = _time_name(spec.window, side)
    where = None
    if time is not None:
        kind = _type_of(frame, time, side)
        if time in names and not isinstance(kind, DateType):
            where = names.index(time)
        else:
            where = len(columns)
            column = F.col(_quoted(time))
            columns.append((column.cast("timestamp_ntz") if isinstance(kind, DateType) else column).alias("time"))
    keep = None
    if only is not None and spec.counted:  # a count window numbers the row even where its own condition is false
        keep = len(columns)
        columns.append(only.alias("keep"))
    elif only is not None:
        frame = frame.where(only)
    routed = frame.select(*columns) if columns else frame.select(F.lit(0).cast("tinyint").alias("nothing"))
    return SideInput(routed, Inputs(len(names), tuple(keys), where, keep), payload, _arrow(payload, names))


def _source(analyzed: Analyzed, side: Side, text: str) -> tuple[tuple[Side, int], str | None]:
    """Find the served comparison whose key on this side (in a self join: on either) has this text."""
    for number, served in enumerate(analyzed.served):
        if (served.compare.left if side == "left" else served.compare.right).text == text:
            return (side, number), analyzed.plain(side, number)
    raise AssertionError(f"no key {text}")


def check_time_columns(window: Window, frames: dict[Side, DataFrame]) -> None:
    """Refuse a window whose columns are missing or of a type it cannot use."""
    kinds: dict[Side, DataType] = {}
    for side in ("left", "right"):
        name = _time_name(window, side)  # type: ignore[arg-type]
        if name is None:
            return
        kinds[side] = _type_of(frames[side], name, side)  # type: ignore[index, arg-type]
        if isinstance(window, (Within, Tumbling)):
            wanted = _TIMES if window.unit == "time" else _WHOLE
            if not isinstance(kinds[side], wanted):  # type: ignore[index]
                need = "a timestamp or date" if window.unit == "time" else "an integer"
                raise SpecError.of(
                    f"The window's {side} column {name!r} is {kinds[side].simpleString()}.",  # type: ignore[index]
                    f"A window given in {'durations' if window.unit == 'time' else 'plain numbers'} needs {need}.",
                    "cast the column, such as .withColumn('ts', F.to_timestamp('ts')), or name another one.",
                )
        elif not isinstance(kinds[side], (*_WHOLE, *_TIMES)) and kinds[side].simpleString() not in ("float", "double"):  # type: ignore[index]
            raise SpecError.of(
                f"The window's {side} order column {name!r} is {kinds[side].simpleString()}.",  # type: ignore[index]
                "Rows are ordered by an integer, float, date or timestamp.",
                "name another column, or leave order= out for order of arrival.",
            )
    left, right = kinds["left"], kinds["right"]
    mixed = {type(left), type(right)} == {TimestampType, TimestampNTZType}
    if mixed:
        raise SpecError.of(
            f"The window compares {left.simpleString()} with {right.simpleString()}.",
            "One counts from the epoch, the other is a wall clock without a zone.",
            "cast one of them to the other's type.",
        )


def _time_name(window: Window, side: Side) -> str | None:
    if isinstance(window, (Within, Tumbling, Last, TumblingRows)):
        return window.left if side == "left" else window.right
    return None


def _type_of(frame: DataFrame, name: str, side: Side) -> DataType:
    try:
        return frame.select(F.col(_quoted(name))).schema[0].dataType
    except AnalysisException:
        raise UnknownColumn.on_side(side, name, frame.columns) from None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _renamed(field: StructField, name: str) -> StructField:
    return StructField(name, field.dataType, field.nullable)


def _arrow(payload: StructType, names: tuple[str, ...]) -> pa.Schema:
    try:
        return to_arrow_schema(payload)
    except (PySparkException, TypeError) as error:
        kinds = ", ".join(f"{name} {field.dataType.simpleString()}" for name, field in zip(names, payload.fields, strict=True))
        raise SpecError.of(
            f"A column cannot travel through Arrow: {error}.", f"The columns are: {kinds}.", "cast it, or leave it out with select=."
        ) from None
