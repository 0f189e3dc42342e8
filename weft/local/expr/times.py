"""Functions of dates and timestamps; fields of zoned timestamps are those of the zone of the data, as in a Spark session."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from sqlglot import exp

from weft.local.expr.cast import cast, floor_div
from weft.local.expr.frame import ExprFrame, Handler, Unfit, Value

__all__ = ["HANDLERS", "NAMED"]

_ON_SPARK = "weft.join on Spark evaluates every Spark function."


def _date(node: exp.Expr, frame: ExprFrame) -> Value:
    return cast(frame.value(node), pa.date32())


def _field(function: Callable[..., Value]) -> Handler:
    def handle(node: exp.Expr, frame: ExprFrame) -> Value:
        return function(_date(node.this, frame)).cast(pa.int32())

    return handle


def _clock(function: Callable[..., Value]) -> Handler:
    def handle(node: exp.Expr, frame: ExprFrame) -> Value:
        return function(_moment(node.this, frame)).cast(pa.int32())

    return handle


def _moment(node: exp.Expr, frame: ExprFrame) -> Value:
    value = frame.value(node)
    return value if pt.is_timestamp(value.type) else cast(value, pa.timestamp("us", frame.zone))


def _days(value: Value) -> Value:
    return value.cast(pa.int32())


def _date_diff(node: exp.DateDiff, frame: ExprFrame) -> Value:
    if node.args.get("unit") is not None:
        raise Unfit(
            "counts in a given unit", "DATEDIFF(end, start) counts days.", "subtract timestamps to get an INTERVAL."
        )
    return pc.subtract_checked(_days(_date(node.this, frame)), _days(_date(node.expression, frame)))


def _date_add(node: exp.TsOrDsAdd, frame: ExprFrame) -> Value:
    days = cast(frame.value(node.expression), pa.int32())
    return pc.add_checked(_days(_date(node.this, frame)), days).cast(pa.date32())


def _epoch(unit: int) -> Handler:
    def handle(node: exp.Expr, frame: ExprFrame) -> Value:
        micros = cast(_moment(node.this, frame), pa.timestamp("us", frame.zone)).cast(pa.int64())
        return micros if unit == 1 else floor_div(micros, unit)

    return handle


def _unix_timestamp(node: exp.StrToUnix, frame: ExprFrame) -> Value:
    if pt.is_string(frame.value(node.this).type):
        raise Unfit("reads text by a format", "UNIX_TIMESTAMP takes a DATE or TIMESTAMP locally.", _ON_SPARK)
    return pc.divide(_epoch(1)(node, frame), 1_000_000)  # towards zero, unlike UNIX_SECONDS


def _from_epoch(unit: int) -> Handler:
    def handle(node: exp.Anonymous, frame: ExprFrame) -> Value:
        micros = pc.multiply_checked(cast(frame.value(node.expressions[0]), pa.int64()), unit)
        return micros.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", frame.zone))

    return handle


def _week_day(value: Value) -> Value:
    return pc.day_of_week(value, count_from_zero=False, week_start=7)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Year: _field(pc.year), exp.Month: _field(pc.month), exp.Day: _field(pc.day), exp.DayOfMonth: _field(pc.day),
    exp.Quarter: _field(pc.quarter), exp.DayOfWeek: _field(_week_day), exp.DayOfYear: _field(pc.day_of_year),
    exp.Hour: _clock(pc.hour), exp.Minute: _clock(pc.minute), exp.Second: _clock(pc.second), exp.DateDiff: _date_diff,
    exp.TsOrDsAdd: _date_add, exp.DateAdd: _date_add, exp.StrToUnix: _unix_timestamp, exp.UnixSeconds: _epoch(1_000_000),
    exp.UnixMillis: _epoch(1_000), exp.UnixMicros: _epoch(1),
}  # fmt: skip

NAMED: dict[str, Handler] = {
    "timestamp_seconds": _from_epoch(1_000_000), "timestamp_millis": _from_epoch(1_000), "timestamp_micros": _from_epoch(1),
}  # fmt: skip
