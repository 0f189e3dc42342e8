"""Time through a join on Spark: the watermarks of the inputs are its delays, and its result carries one of its own.

Spark computes the watermark of a query from its `EventTimeWatermark` nodes, and takes one of them on the way from a source to
a stateful operator. Weft takes the user's nodes out of its inputs, where it has read their delays, and puts nodes of its own
behind route: each side's newest time, less its delay, less how far behind the watermark a pair's time can be. The lesser
of both is what Spark's operators behind the join go by, with nothing to do per pair (`weft.spec.disorder` has the proof).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StructField, TimestampType

from weft.spark.analysis.plans import mixed
from weft.spark.analysis.tree import children, kind
from weft.spark.front import front_of
from weft.spark.state_place import JOIN
from weft.spec import INNER, Delays, Kind, TimeOrder, Tumbling, Unbounded, Window, Within, lags_of, reach_of
from weft.types import SIDES, Side

__all__ = [
    "DELAY",
    "ENDLESS",
    "LAG",
    "Carried",
    "actual_name",
    "quoted",
    "spark_delay",
    "stripped",
    "time_order",
    "time_orders",
    "without_watermarks",
]

LAG = "weft.lag"
"""Metadata of a result's time column: how far out of order it can be, in microseconds or units of an integer column."""
ENDLESS = -1
"""The lag of a column that can be out of order without bound."""
DELAY = "spark.watermarkDelayMs"
"""Spark's own metadata of a column with a watermark."""

_PASSED = {"Aggregate", "Deduplicate", "DeduplicateWithinWatermark"}
"""Stateful operators behind which the watermark of a column holds as in front of them."""
_STATEFUL = {"FlatMapGroupsWithState", "FlatMapGroupsInPandasWithState", "TransformWithState",
             "TransformWithStateInPySpark", "TransformWithStateInPandas"}  # fmt: skip
_DAY = 86_400_000_000


def quoted(name: str) -> str:
    """Return a column's name as Spark reads it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def time_order(frame: DataFrame, name: str) -> TimeOrder:
    """Return what is known of the order of a time column: from a Weft join below, or from the user's own watermark."""
    field = frame.select(F.col(quoted(name))).schema[0]
    lag, delay = field.metadata.get(LAG), field.metadata.get(DELAY)
    plan = front_of(frame).plan(frame)
    if lag is None and delay is None:  # a time that is computed behind a join says nothing of its order
        return TimeOrder(endless=any(JOIN in node.text for node in plan.nodes()))
    behind = mixed(plan)
    if behind is None:
        return TimeOrder()
    if lag is not None and lag != ENDLESS and delay == spark_delay(lag):  # ours, and no other behind it
        delay = None
    known = None if lag in (None, ENDLESS) else int(lag)
    return TimeOrder(known, None if delay is None else 1000 * int(delay), lag == ENDLESS, behind)


def time_orders(window: Window, frames: dict[Side, DataFrame]) -> dict[Side, TimeOrder]:
    """Return what is known of the order of both time columns of a window; nothing where it has none."""
    if not isinstance(window, (Within, Tumbling)):
        return {side: TimeOrder() for side in SIDES}
    return {"left": time_order(frames["left"], window.left), "right": time_order(frames["right"], window.right)}


def spark_delay(lag: int) -> int:
    """Return the delay in milliseconds with which nothing that lags so far is late to Spark.

    Spark counts in whole milliseconds, and takes a row that is exactly at the watermark for late.
    """
    return -(-lag // 1000) + 1


def without_watermarks(spark: SparkSession, plan: Any) -> tuple[Any, bool]:
    """Return a plan without its watermarks, and whether some had to stay: those that a stateful operator of Spark's needs."""
    name, below = kind(plan), children(plan)
    if name == "EventTimeWatermark":
        return without_watermarks(spark, below[0])
    if name in _PASSED | _STATEFUL or (name == "Join" and all(child.isStreaming() for child in below)):
        return plan, _has_watermark(plan)
    made = [without_watermarks(spark, child) for child in below]
    if all(new is old for (new, _), old in zip(made, below, strict=True)):
        return plan, any(stayed for _, stayed in made)
    jvm: Any = spark._jvm
    return plan.withNewChildren(jvm.PythonUtils.toSeq([new for new, _ in made])), any(stayed for _, stayed in made)


def _has_watermark(plan: Any) -> bool:
    return kind(plan) == "EventTimeWatermark" or any(map(_has_watermark, children(plan)))


@dataclass(frozen=True)
class Carried:
    """What the result of a join tells of its time columns, and what is put behind route for it.

    `inputs` are the fields of both sides as they come in. `event_time` is the output that gets Spark's watermark: Spark takes
    one such column per stream. None: it gets none, because it has no time column that Spark could take, because the state
    has no bound, or because a watermark in front had to stay.
    """

    window: Window
    times: dict[Side, str]
    lags: Delays
    reaches: dict[Side, int]
    inputs: dict[Side, dict[str, StructField]]
    event_time: tuple[Side, str] | None

    @classmethod
    def of(
        cls, spark: SparkSession, window: Window, inputs: dict[Side, DataFrame], outputs: Sequence[tuple[Side, str] | None],
        *, one_stream: bool, taken: bool = False, kind: Kind = INNER, order: tuple[Delays, dict[Side, int]] | None = None,
    ) -> Carried:  # fmt: skip
        """Work out what a result carries; `outputs` are the input columns that its columns simply are.

        Of two time columns Spark gets that of the left side, but not where only the right one is never NULL. `order` has
        lags and reaches where they are not those of the window.
        """
        lags = lags_of(window, one_stream=one_stream) if order is None else order[0]
        fields: dict[Side, dict[str, StructField]] = {
            side: {field.name: field for field in inputs[side].schema} for side in SIDES
        }
        reaches: dict[Side, int] = dict.fromkeys(SIDES, 0)
        event_time = None
        times = {side: actual_name(inputs[side], _time_of(window, side)) for side in SIDES}
        if isinstance(window, (Within, Tumbling)) and window.unit == "time" and window.delays.known is not None:
            reaches = {side: reach_of(window, side) for side in SIDES} if order is None else order[1]
            sides = sorted(SIDES, key=kind.absent)
            shown = [
                time
                for time in ((side, times[side]) for side in sides)
                if time in outputs and lags.of(time[0]) is not None and isinstance(_type(fields, time), TimestampType)
            ]
            least = spark.conf.get("spark.sql.streaming.multipleWatermarkPolicy", "min") == "min"
            event_time = shown[0] if shown and least and not taken else None
        return cls(window, times, lags, reaches, fields, event_time)

    def metadata(self, output: tuple[Side, str] | None, *, first: bool = True) -> dict[str, Any]:
        """Return the metadata of an output that simply is a column of a side (None: it is more).

        Of several outputs that are the same column, the first one is the event time for Spark.
        """
        if output is None:
            return {}
        side, name = output
        lag = self.lags.of(side)
        if name != self.times[side] or lag is None:
            before = self.inputs[side][name].metadata if name in self.inputs[side] else {}
            watermarked = LAG in before or DELAY in before
            return {LAG: ENDLESS} if watermarked or (name == self.times[side] and self._timed(side, name)) else {}
        if isinstance(_type(self.inputs, output), DateType):  # compared as midnight of another zone it may gain an hour
            lag += _DAY
        return {LAG: lag, **({DELAY: spark_delay(lag)} if first and output == self.event_time else {})}

    def _timed(self, side: Side, name: str) -> bool:
        return isinstance(self.window, (Within, Tumbling)) or isinstance(
            _type(self.inputs, (side, name)), TimestampType
        )

    def with_node(self, routed: DataFrame, side: Side) -> DataFrame:
        """Put the watermark of a side behind its route; a self join has one side."""
        if self.event_time is None:
            return routed
        assert isinstance(self.window, (Within, Tumbling))
        delay = self.window.delays.of(side)
        assert delay is not None
        held_back = spark_delay(delay + self.reaches[self.event_time[0]])
        set_watermark = type(routed).withWatermark
        set_watermark = getattr(set_watermark, "__wrapped__", set_watermark)  # Spark's own, without `weft.spark.hooks`
        return set_watermark(routed, "time", f"{held_back} milliseconds")


def _time_of(window: Window, side: Side) -> str:
    """Return the column that a window orders a side by, "" if there is none."""
    if isinstance(window, Unbounded):
        return ""
    return (window.left if side == "left" else window.right) or ""


def actual_name(frame: DataFrame, name: str) -> str:
    """Return a column's name as the frame spells it."""
    return next((column for column in frame.columns if column == name), "") or next(
        (column for column in frame.columns if column.lower() == name.lower()), name
    )


def _type(fields: dict[Side, dict[str, StructField]], time: tuple[Side, str]) -> object:
    side, name = time
    return fields[side][name].dataType if name in fields[side] else None


def stripped(frame: DataFrame) -> tuple[DataFrame, bool]:
    """Return a frame without its watermarks, and whether some had to stay."""
    return front_of(frame).bare(frame)
