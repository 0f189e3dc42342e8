"""`weft.asof_join` on Spark: route, shuffle by task, search; a plain DataFrame comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.engine import Accept, Job, Joiner, Pairs
from weft.engine.asof import INDEX, AsofJoiner, check_compared, check_there, order_counts
from weft.errors import SpecError, about
from weft.kernels import mix_words, words_of
from weft.planner import Choice, Explanation, explain_asof
from weft.routing import AsofPlan, AsofScheme, Plan, TaskStats, noted
from weft.spark.analysis import (
    Analyzed,
    Carried,
    actual_name,
    analyze,
    arrives_in_any_order,
    arrow_schema,
    check_time_columns,
    side_input,
    time_orders,
)
from weft.spark.build import Built, JoinOptions, accept_of, check_options, shown_columns
from weft.spark.state_place import name_for, state_place, tasks_for
from weft.spark.workers import check_workers
from weft.spec import Unbounded, with_delays
from weft.spec.asof import AsofAsked, asof_asked, asof_lags, asof_reach, asof_window
from weft.spec.asof_spec import asof_spec, check_ends
from weft.spec.duration import Duration
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
    tasks: int | None = None, state: str | None = None, name: str | None = None,
) -> DataFrame:  # fmt: skip
    """Give each left row the one right row that is nearest in an order column.

    Parameters
    ----------
    left, right
        Two streaming DataFrames, or two static ones.
    on
        The order column of both sides, or a pair `("left name", "right name")`: times or dates, integers, or on static
        frames floating-point numbers. A row whose order is NULL or NaN has no match.
    by
        Columns that have to be equal: a name, a list of names, or `{"left name": "right name"}`. NULL equals nothing.
    direction
        "backward": the last right row at or before the left one; "forward": the first at or after it; "nearest": the nearer
        of both, the earlier one where they are equally near.
    tolerance
        How far the right row may be at most: a duration, or a number where the order columns hold numbers. On streams, only
        "backward" without `where` works without one.
    strict
        Leave out right rows at the very same place.
    how
        "left": every left row, beside NULLs without a match; "inner": left rows with a match.
    where
        A further condition, SQL over `l` and `r`: of the right rows that satisfy it, the nearest is taken.
    ties
        A right column that decides among right rows at the same place: the greatest wins. Among equal ones, and without `ties`,
        the last that arrived does.
    select, suffix
        The columns of the result. By default all columns, except the right ones in `by`; a right column with the same name
        as a left one gets the suffix.
    delay, left_delay, right_delay
        How far behind the newest time of its stream a row may be. By default the delay of the side's own watermark
        (`withWatermark`, or the watermark of the Weft join it comes from). Streams need one on both sides.
    tasks, state, name
        As in `weft.join`.

    Returns
    -------
    DataFrame
        A plain DataFrame. On streams a left row leaves when the watermark says that no nearer right row can come.
    """
    asked = asof_asked(on, by, direction, tolerance, strict, how, where, ties, delay, left_delay, right_delay)
    return _build(left, right, asked, AsofOptions(select, suffix, tasks, state, name)).frame()


def explain_asof_join(
    left: DataFrame, right: DataFrame, *, on: On, by: By = None, direction: str = "backward",
    tolerance: Duration | float | None = None, strict: bool = False, how: str = "left", where: str | None = None,
    ties: str | None = None, delay: Duration | None = None, left_delay: Duration | None = None,
    right_delay: Duration | None = None, tasks: int | None = None,
) -> Explanation:  # fmt: skip
    """Show how an as-of join would run: what matches, when rows leave, what is kept."""
    asked = asof_asked(on, by, direction, tolerance, strict, how, where, ties, delay, left_delay, right_delay)
    built = _build(left, right, asked, AsofOptions(tasks=tasks, explaining=True))
    return explain_asof(built.spec, asked, _SCHEME, built.tasks, streaming=left.isStreaming)


_SCHEME = AsofScheme()


@dataclass(frozen=True)
class AsofOptions:
    """What was asked besides the match."""

    select: Sequence[str | Column] | None = None
    suffix: str = "_right"
    tasks: int | None = None
    state: str | None = None
    name: str | None = None
    explaining: bool = False


def _build(left: DataFrame, right: DataFrame, asked: AsofAsked, options: AsofOptions) -> AsofBuilt:
    """Check an as-of join and everything it rests on; nothing runs yet."""
    frames: dict[Side, DataFrame] = {"left": left, "right": right}
    _check_frames(frames)
    check_options(frames, JoinOptions("", select=options.select, suffix=options.suffix))
    spark, streaming = left.sparkSession, left.isStreaming
    check_workers(spark)
    with about("tasks"):
        tasks = tasks_for(spark, options.tasks)
    asked = _spelled(asked, frames)
    check_there(asked, {side: frames[side].columns for side in SIDES})
    named: dict[Side, list[str]] = {
        "left": [asked.left, *(one for one, _ in asked.by)],
        "right": [asked.right, *(two for _, two in asked.by), *([asked.ties] if asked.ties else [])],
    }
    types = {
        side: arrow_schema(spark, frames[side].select(*map(F.col, map(_quoted, named[side]))).schema) for side in SIDES
    }
    counts = order_counts(asked, types["left"], types["right"])
    window = asof_window(asked, counts, asked.distance(counts))
    with about("on"):
        if not isinstance(window, Unbounded):
            check_time_columns(window, frames)
    with about("delay"):
        if streaming:
            window = with_delays(window, time_orders(window, frames))
            check_ends(asked, window)
    select = (
        options.select if options.select is not None else asked.selected(left.columns, right.columns, options.suffix)
    )
    with about("by"):
        plain = analyze(left, right, replace(asked, where=None).condition(), select, options.suffix, ("l", "r"))
        inexact = check_compared(asked, plain.condition, types["left"], types["right"])
    analyzed = plain
    if asked.where:
        with about("where"):
            analyzed = analyze(left, right, asked.condition(), select, options.suffix, ("l", "r"))
    # What decides on equal columns stands first; the tasks compare those as they are (`weft.engine.asof.groups`).
    analyzed = replace(analyzed, rest=analyzed.rest[len(plain.rest) :], residual=None)
    if asked.ties is not None and asked.ties not in analyzed.payload["right"]:
        analyzed = replace(analyzed, payload={**analyzed.payload, "right": (*analyzed.payload["right"], asked.ties)})
    places = {side: analyzed.payload[side].index for side in SIDES}
    spec = asof_spec(
        analyzed.condition, asked, counts, window if streaming else Unbounded(),
        left_schema=shown_columns(analyzed, "left"), right_schema=shown_columns(analyzed, "right"),
        payload={number: (places["left"](one), places["right"](two)) for number, (one, two) in inexact.items()},
        ties=None if asked.ties is None else places["right"](asked.ties),
    )  # fmt: skip
    asof = spec.asof
    assert asof is not None
    accept = _accept(analyzed)
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
    return AsofBuilt(analyzed, spec, choice, tasks, sides, where, carried, accept)


def _accept(analyzed: Analyzed) -> Accept | None:
    """Return what decides in the tasks what words cannot, None if they decide everything."""
    try:
        return accept_of(analyzed)
    except SpecError as error:
        what = str(error).splitlines()[0].replace("in this kind of join", "in where=")
        with about("where"):
            raise SpecError.of(
                what,
                "Tasks choose the nearest right row that satisfies where=, so they evaluate it themselves: comparisons, AND, OR, "
                "NOT, CASE, IN, LIKE, casts, arithmetic, dates and substrings.",
                "if only one side is involved, compute it as a column of that side first (.withColumn).",
            ) from None


def _check_frames(frames: dict[Side, DataFrame]) -> None:
    for side, frame in frames.items():
        if not isinstance(frame, DataFrame):
            raise SpecError.of(
                f"The {side} side is a {type(frame).__name__}.",
                "weft.asof_join takes PySpark DataFrames.",
                "for pyarrow tables use weft.local.asof_join.",
            )
    streaming = frames["left"].isStreaming
    if streaming != frames["right"].isStreaming:
        kinds = ("streaming", "static") if streaming else ("static", "streaming")
        raise SpecError.of(
            f"The left side is {kinds[0]} and the right side {kinds[1]}.",
            "weft.asof_join takes two streams or two static frames.",
            "read the static side as a stream too.",
        )


def _spelled(asked: AsofAsked, frames: dict[Side, DataFrame]) -> AsofAsked:
    """Return what was asked with the columns as the frames spell them."""
    one, two = frames["left"], frames["right"]
    by = tuple((actual_name(one, a), actual_name(two, b)) for a, b in asked.by)
    ties = None if asked.ties is None else actual_name(two, asked.ties)
    return replace(asked, left=actual_name(one, asked.left), right=actual_name(two, asked.right), by=by, ties=ties)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class AsofBuilt(Built):
    """An as-of join that is known to be sound."""

    def _joiner(self, job: Job) -> Joiner[Pairs]:
        return AsofJoiner(job, self.accept)

    def _settle(self, side: Side) -> bool:
        """Tell whether rows may come in another order when they are computed again; of right ones the order decides ties."""
        return arrives_in_any_order(self.sides[side].frame, by_arrival=side == "right")

    def _static_plan(self) -> Plan:
        """Return the plan of a static join: no earlier batch tells what is hot, so a sample of the left side does."""
        plan = self.choice.scheme.initial(self.spec, self.tasks)
        assert isinstance(plan, AsofPlan) and self.spec.asof is not None
        if self.tasks == 1:
            return plan
        source, part = self.sides["left"], self.spec.left
        numbers = [*plan.left, plan.left_place]
        names = [source.frame.columns[source.inputs.keys[number]] for number in numbers]
        drawn = source.frame.select(*map(F.col, map(_quoted, names))).orderBy(F.rand(7)).limit(_SAMPLE).toArrow()
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
