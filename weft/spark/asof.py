"""`weft.asof_join` on Spark: route, shuffle by task, search; a plain DataFrame comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.engine import Job, Joiner, Pairs
from weft.engine.asof import INDEX, AsofJoiner
from weft.errors import SpecError, about
from weft.kernels import mix_words, words_of
from weft.planner import Choice, Explanation, explain_asof, explain_asof_table
from weft.routing import AsofPlan, AsofScheme, Plan, TaskStats, noted
from weft.spark.analysis import Again, Carried, quoted, side_input, time_orders, when_computed_again
from weft.spark.asof_match import AsofOptions, asof_match
from weft.spark.build import Built, JoinOptions, check_options, check_refresh
from weft.spark.front import front_of
from weft.spark.state_place import name_for, state_place, tasks_for
from weft.spark.table import asof_table_join, with_table
from weft.spec import Unbounded, with_delays
from weft.spec.asof import AsofAsked, asof_asked, asof_lags, asof_reach
from weft.spec.join_spec import check_asof_ends
from weft.spec.options import Duration
from weft.types import SIDES, Side, Words

__all__ = ["asof_join", "explain_asof_join"]

On = str | tuple[str, str]
By = str | Sequence[str] | Mapping[str, str] | None
_SAMPLE = 2_000
"""Left rows that a static join looks at to find hot keys and how far times spread."""


def asof_join(
    left: DataFrame, right: DataFrame, *, on: On, by: By = None, direction: str = "backward",
    tolerance: Duration | float | None = None, strict: bool = False, how: str = "left", where: str | None = None,
    ties: str | None = None, select: Sequence[str | Column] | None = None, suffix: str = "_right",
    delay: Duration | None = None, left_delay: Duration | None = None, right_delay: Duration | None = None,
    tasks: int | None = None, state: str | None = None, name: str | None = None, refresh: str | None = None,
    pair_id: str | None = None,
) -> DataFrame:  # fmt: skip
    """Give each left row the one right row that is nearest to it in an order column.

    Parameters
    ----------
    left, right
        Two streaming DataFrames, two static ones, or a streaming one on the left and a static one, the table, on the right.
    on
        The order column of both sides, or a pair `("left name", "right name")`: times or dates, integers, or on static
        frames floating-point numbers. A row whose order is NULL or NaN has no match.
    by
        Columns that must be equal: a name, a list of names, or `{"left name": "right name"}`. NULL never equals anything.
    direction
        "backward": the last right row at or before the left one; "forward": the first at or after it; "nearest": the nearer
        of the two, or the earlier if both are equally near.
    tolerance
        The maximum distance to the right row: a duration, or a number if the order columns hold numbers. Two streams need
        one, except for "backward" without `where`.
    strict
        Ignore right rows at exactly the same place in the order.
    how
        "left": every left row, padded with NULLs if it has no match; "inner": only left rows with a match.
    where
        A further condition, SQL over `l` and `r`: the match is the nearest right row that satisfies it.
    ties
        A right column that decides between right rows at the same place: the greatest value wins. If values are equal, and
        without `ties`, the row that arrived last wins.
    select, suffix
        The columns of the result. By default all columns, except the right ones in `by`; a right column with the same name
        as a left one gets the suffix.
    delay, left_delay, right_delay
        How far behind the newest time of its stream a row may be. By default the delay of the side's own watermark
        (`withWatermark`, or the watermark of the Weft join it comes from). Two streams need one on both sides; a stream
        with a table has none.
    tasks, state, name, refresh, pair_id
        As in `weft.join`.

    Returns
    -------
    DataFrame
        A plain DataFrame. On two streams, a left row is emitted once the watermark shows that no nearer right row can arrive;
        with a table, in its own batch.
    """
    asked = asof_asked(
        on=on, by=by, direction=direction, tolerance=tolerance, strict=strict, how=how, where=where, ties=ties,
        delay=delay, left_delay=left_delay, right_delay=right_delay,
    )  # fmt: skip
    options = AsofOptions(select, suffix, tasks, state, name, refresh, pair_id=pair_id)
    return (asof_table_join if with_table(left, right) else _build)(left, right, asked, options).frame()


def explain_asof_join(
    left: DataFrame, right: DataFrame, *, on: On, by: By = None, direction: str = "backward",
    tolerance: Duration | float | None = None, strict: bool = False, how: str = "left", where: str | None = None,
    ties: str | None = None, delay: Duration | None = None, left_delay: Duration | None = None,
    right_delay: Duration | None = None, tasks: int | None = None, refresh: str | None = None,
) -> Explanation:  # fmt: skip
    """Show how an as-of join would run: what matches, when rows are emitted, and what is kept."""
    asked = asof_asked(
        on=on, by=by, direction=direction, tolerance=tolerance, strict=strict, how=how, where=where, ties=ties,
        delay=delay, left_delay=left_delay, right_delay=right_delay,
    )  # fmt: skip
    options = AsofOptions(tasks=tasks, refresh=refresh, explaining=True)
    if with_table(left, right):
        return explain_asof_table(asof_table_join(left, right, asked, options).spec, asked, refresh)
    built = _build(left, right, asked, options)
    return explain_asof(built.spec, asked, _SCHEME, built.tasks, streaming=left.isStreaming)


_SCHEME = AsofScheme()


def _build(left: DataFrame, right: DataFrame, asked: AsofAsked, options: AsofOptions) -> AsofBuilt:
    """Check an as-of join and everything it rests on; nothing runs yet."""
    frames: dict[Side, DataFrame] = {"left": left, "right": right}
    _check_frames(frames, options.refresh)
    check_options(frames, JoinOptions("", select=options.select, suffix=options.suffix))
    spark, streaming = left.sparkSession, left.isStreaming
    front_of(spark).check_workers(spark)
    with about("tasks"):
        tasks = tasks_for(spark, options.tasks)
    match = asof_match(frames, asked, options)
    analyzed, asked, window = match.analyzed, match.asked, match.window
    with about("delay"):
        if streaming:
            window = with_delays(window, time_orders(window, frames))
            check_asof_ends(asked, window)
    spec = match.spec(window if streaming else Unbounded())
    asof = spec.asof
    assert asof is not None
    sides = {side: side_input(analyzed, spec, side) for side in SIDES}
    with about("state"):
        keeps = streaming and not options.explaining
        where = state_place(spark, options.state, options.name or name_for(left, right)) if keeps else None
    behind = asof_reach(asof) if streaming else (0, 0)
    reaches: dict[Side, int] = {"left": behind[0] or 0, "right": behind[1] or 0}
    carried = Carried.of(
        spark, spec.window, frames, [output.plain for output in analyzed.outputs],
        one_stream=False, taken=analyzed.taken, kind=asked.kind, order=(asof_lags(asof, spec.window), reaches),
    )  # fmt: skip
    choice = Choice(_SCHEME, INDEX, "", "")
    return AsofBuilt(analyzed, spec, choice, tasks, sides, where, carried, match.accept, options.pair_id, asked)


def _check_frames(frames: dict[Side, DataFrame], refresh: str | None) -> None:
    for side, frame in frames.items():
        if not isinstance(frame, DataFrame):
            raise SpecError.of(
                f"The {side} side is a {type(frame).__name__}.",
                "weft.asof_join takes PySpark DataFrames.",
                "for pyarrow tables use weft.local.asof_join.",
            )
    check_refresh(refresh, frames["left"].isStreaming)


@dataclass(frozen=True)
class AsofBuilt(Built):
    """An as-of join that is known to be sound."""

    asked: AsofAsked | None = None

    def explanation(self) -> Explanation:
        assert self.asked is not None
        return explain_asof(self.spec, self.asked, _SCHEME, self.tasks, streaming=self.where is not None)

    def _joiner(self, job: Job) -> Joiner[Pairs]:
        return AsofJoiner(job, self.accept)

    def _again(self, side: Side) -> Again:
        """Tell what may differ when rows are computed again; of right ones the order decides ties."""
        return when_computed_again(self.sides[side].frame, by_arrival=side == "right")

    def _static_plan(self) -> Plan:
        """Return the plan of a static join: no earlier batch tells what is hot, so a sample of the left side does."""
        plan = self.choice.scheme.initial(self.spec, self.tasks)
        assert isinstance(plan, AsofPlan) and self.spec.asof is not None
        if self.tasks == 1:
            return plan
        source, part = self.sides["left"], self.spec.left
        numbers = [*plan.left, plan.left_place]
        names = [source.frame.columns[source.inputs.keys[number]] for number in numbers]
        drawn = source.frame.select(*map(F.col, map(quoted, names))).orderBy(F.rand(7)).limit(_SAMPLE).toArrow()
        words: list[Words] = []
        known = drawn.drop_null()
        for column, number in enumerate(numbers):
            words.append(words_of(known.column(column), part.keys[number].encode)[0])
        if not known.num_rows:
            return plan
        keys = words[0] if len(words) == 2 else mix_words(words[:-1]) if len(words) > 2 else words[-1] * 0
        none = dict.fromkeys(SIDES, 0)
        stats = TaskStats(none, none, none, dict.fromkeys(SIDES, ()), noted(keys, words[-1]))
        scheme = replace(_SCHEME, enough=0)
        return scheme.control(self.spec, plan, [stats])[0]
