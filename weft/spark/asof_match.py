"""What an as-of join compares, checked against its two frames; the same for streams, static frames, and a stream with a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.engine import Accept
from weft.engine.asof import check_compared, check_there, order_counts
from weft.errors import SpecError, about
from weft.spark.analysis import Analyzed, actual_name, arrow_schema, check_time_columns, quoted
from weft.spark.build import accept_of, shown_columns
from weft.spark.front import front_of
from weft.spark.pair_id import with_pair_id
from weft.spec import JoinSpec, Unbounded, Window
from weft.spec.asof import AsofAsked, AsofOrder, asof_window
from weft.spec.join_spec import asof_spec
from weft.types import SIDES, Side

__all__ = ["AsofMatch", "AsofOptions", "asof_match"]


@dataclass(frozen=True)
class AsofOptions:
    """What was asked besides the match."""

    select: Sequence[str | Column] | None = None
    suffix: str = "_right"
    tasks: int | None = None
    state: str | None = None
    name: str | None = None
    refresh: str | None = None
    explaining: bool = False
    pair_id: str | None = None


@dataclass(frozen=True)
class AsofMatch:
    """What is compared: `window` has the clock without delays, `inexact` the equal columns whose words are hashes."""

    asked: AsofAsked
    analyzed: Analyzed
    counts: AsofOrder
    window: Window
    inexact: dict[int, tuple[str, str]]
    accept: Accept | None

    def spec(self, window: Window) -> JoinSpec:
        """Number the words, by the clock of a window."""
        asked, payload = self.asked, self.analyzed.payload
        places = {side: payload[side].index for side in SIDES}
        return asof_spec(
            self.analyzed.condition, asked, self.counts, window,
            left_schema=shown_columns(self.analyzed, "left"), right_schema=shown_columns(self.analyzed, "right"),
            payload={number: (places["left"](one), places["right"](two)) for number, (one, two) in self.inexact.items()},
            ties=None if asked.ties is None else places["right"](asked.ties),
        )  # fmt: skip


def asof_match(frames: dict[Side, DataFrame], asked: AsofAsked, options: AsofOptions) -> AsofMatch:
    """Check what is compared, and analyze it."""
    left, right = frames["left"], frames["right"]
    asked = _spelled(asked, frames)
    check_there(asked, {side: frames[side].columns for side in SIDES})
    named: dict[Side, list[str]] = {
        "left": [asked.left, *(one for one, _ in asked.by)],
        "right": [asked.right, *(two for _, two in asked.by), *([asked.ties] if asked.ties else [])],
    }
    types = {
        side: arrow_schema(
            left.sparkSession, frames[side].select(*map(F.col, map(quoted, dict.fromkeys(named[side])))).schema
        )
        for side in SIDES
    }
    counts = order_counts(asked, types["left"], types["right"])
    window = asof_window(asked, counts, asked.distance(counts))
    with about("on"):
        if not isinstance(window, Unbounded):
            check_time_columns(window, frames)
    select = (
        options.select if options.select is not None else asked.selected(left.columns, right.columns, options.suffix)
    )
    with about("by"):
        plain = front_of(left).analyze(
            left, right, replace(asked, where=None).condition(), select, options.suffix, ("l", "r")
        )
        inexact = check_compared(asked, plain.condition, types["left"], types["right"])
    analyzed = plain
    if asked.where:
        with about("where"):
            analyzed = front_of(left).analyze(left, right, asked.condition(), select, options.suffix, ("l", "r"))
    # What decides on equal columns stands first; the tasks compare those as they are (`weft.engine.asof.candidates`).
    analyzed = replace(analyzed, rest=analyzed.rest[len(plain.rest) :], residual=None)
    if asked.ties is not None and asked.ties not in analyzed.payload["right"]:
        analyzed = replace(analyzed, payload={**analyzed.payload, "right": (*analyzed.payload["right"], asked.ties)})
    analyzed = with_pair_id(analyzed, options.pair_id)
    return AsofMatch(asked, analyzed, counts, window, inexact, _accept(analyzed))


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


def _spelled(asked: AsofAsked, frames: dict[Side, DataFrame]) -> AsofAsked:
    """Return what was asked with the columns as the frames spell them."""
    one, two = frames["left"], frames["right"]
    by = tuple((actual_name(one, a), actual_name(two, b)) for a, b in asked.by)
    ties = None if asked.ties is None else actual_name(two, asked.ties)
    return replace(asked, left=actual_name(one, asked.left), right=actual_name(two, asked.right), by=by, ties=ties)
