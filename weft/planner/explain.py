"""`weft.explain`: what was chosen and why, as a stable text for people and tests."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from weft.planner.choose import Choice, Thresholds, estimate
from weft.planner.costs import TwoPredicates, predicted
from weft.planner.draw import draw, draw_svg
from weft.routing import AreaPlan
from weft.spec import Delays, JoinSpec, Last, Op, Term, Tumbling, TumblingRows, Within, lags_of, unit_shown
from weft.spec.disorder import readable
from weft.spec.options import show_duration
from weft.spec.parse import without_casts
from weft.types import SIDES, Side, other

__all__ = ["Explanation", "explain_join", "explain_table", "passed_on", "stream_and_table"]

_SIGNS = {Op.LT: "<", Op.LE: "<=", Op.GT: ">", Op.GE: ">=", Op.EQ: "=", Op.NE: "!="}


@dataclass(frozen=True)
class Explanation:
    """How a join will run. `str()` for a terminal, HTML in a notebook, `to_dict()` for programs."""

    parts: tuple[tuple[str, str], ...]
    picture: str = ""
    """An SVG of the tuple matrix, if the plan divides it into areas."""

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.parts)
        following = "\n" + " " * (width + 2)
        return "\n".join(f"{name + ':':<{width + 1}} {text.replace(chr(10), following)}" for name, text in self.parts)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(n)}</th><td style='text-align:left'>{html.escape(t)}</td></tr>"
            for n, t in self.parts
        )
        return f"<table>{rows}</table>{self.picture}"

    def to_dict(self) -> dict[str, str]:
        """Return the parts by name."""
        return dict(self.parts)

    def to_json(self) -> str:
        """Return the parts as JSON text."""
        return json.dumps(self.to_dict())


def explain_join(spec: JoinSpec, choice: Choice, tasks: int, *, streaming: bool) -> Explanation:
    """Explain scheme, index, replication and the bound of the state."""
    first = choice.scheme.initial(spec, tasks)
    later = choice.scheme.later_plan(spec, tasks)
    plans = [first.describe(), later.describe() if later else "", choice.scheme.at_need(spec)]
    parts: list[tuple[str, str]] = [
        (
            "join",
            f"{spec.condition.said or _plain(spec, spec.condition.text)}{' (self join)' if spec.self_join else ''}",
        ),
        ("window", spec.window.told("a", "b") if spec.self_join else spec.window.told()),
        ("scheme", f"{choice.scheme.name} over {tasks} task{'s' if tasks != 1 else ''}: {choice.why_scheme}"),
        ("plan", ", then ".join(told for told in plans if told)),
        ("stored", _times(first.copies(), (later or first).copies())),
        ("probes", _times(first.lookups(), (later or first).lookups())),
        ("index", f"{choice.index}: {choice.why_index}"),
        ("access", _access(spec)),
        ("checked", _checked(spec)),
    ]
    cost = predicted(spec, first, choice.index)
    if cost:
        parts.append(("predicted", cost))
    ways = estimate(spec)
    if ways is not None:
        parts.append(("two terms", _ways(spec, ways)))
    areas = isinstance(first, AreaPlan)
    if areas:
        parts.append(("matrix", draw(first)))
    parts += _conditions(spec)
    if spec.kind.preserved:
        parts.insert(1, ("kind", _kind(spec)))
        parts.append(("emitted", _emitted(spec) if streaming else "everything, in one batch"))
    if streaming:
        parts += [(name, text) for name, text in (("late", _late(spec)), ("order", _order(spec))) if text]
    parts.append(("state", _state(spec) if streaming else "none: both sides are read completely, in one batch"))
    return Explanation(tuple(parts), draw_svg(first) if areas else "")


def explain_table(spec: JoinSpec, asking: Side, refresh: str | None) -> Explanation:
    """Explain how the rows of a stream, the `asking` side, are looked up in a table."""
    tree = " with a tree over the other end of ranges" if spec.access.within is not None else ""
    parts = [
        ("join", spec.condition.said or _plain(spec, spec.condition.text)),
        *([("kind", _kind(spec))] if spec.kind.preserved else []),
        *stream_and_table(asking, refresh),
        (
            "index",
            f"peaks: sorted rows{tree}, so the time of a look-up depends on what it finds, not on the size of the table",
        ),
        ("access", _access(spec)),
        ("checked", _checked(spec)),
        *_conditions(spec),
        *passed_on(),
    ]
    return Explanation(tuple(parts))


def stream_and_table(asking: Side, refresh: str | None) -> tuple[tuple[str, str], ...]:
    """Tell what becomes of a stream, the `asking` side, and of the table that it is joined with."""
    return (
        ("stream", f"{asking}; passes through without a shuffle and keeps its watermark"),
        ("table", f"{other(asking)}; read {_reading(refresh)}, and written as an index that all tasks map"),
    )


def passed_on() -> tuple[tuple[str, str], ...]:
    """Tell when rows of a stream are emitted that is joined with a table."""
    return ("emitted", "in the same batch as the stream's row"), ("state", "none: no row of the stream is kept")


def _conditions(spec: JoinSpec) -> Iterator[tuple[str, str]]:
    """Tell the parts of the condition that no index decides."""
    if spec.condition.residual:
        when = "in the tasks, before rows are emitted" if spec.kind.preserved else "on the pairs"
        yield "residual", f"{_plain(spec, spec.condition.residual)} (evaluated {when})"
    for side, text in (("left", spec.condition.left_only), ("right", spec.condition.right_only)):
        if text:
            preserved = side in spec.kind.preserved
            yield f"{side} filter", _plain(spec, text) + (" (rows that fail it never match)" if preserved else "")


def _reading(refresh: str | None) -> str:
    if refresh is None:
        return "when the query starts"
    timed = refresh.strip()[:1].isdigit()
    return f"when the query starts and again {'every ' + refresh if timed else f'when max({refresh}) has changed'}"


def _ways(spec: JoinSpec, ways: TwoPredicates) -> str:
    """Tell the best way through two inequalities, beside the others."""
    costs = {"emit loop": ways.emit_loop, "intersection": ways.intersection, "blocks": ways.blocks}
    cheapest = costs.pop(ways.best)
    others = [f"{name} {cost / cheapest:,.1f} x" for name, cost in costs.items() if cost != float("inf")]
    limits = Thresholds()
    rows = spec.window.n if isinstance(spec.window, Last) else limits.rows
    sizes = f"{rows:,} rows and {limits.probes:,} probes" if rows != limits.probes else f"{rows:,} rows and probes"
    return (
        f"{ways.best}; {', '.join(others)} its cost, assuming {sizes}, and that each inequality passes half of the rows"
    )


def _kind(spec: JoinSpec) -> str:
    """Tell which rows the result has."""
    one, two = ("a", "b") if spec.self_join else ("l", "r")
    told = {
        "left": f"all pairs, plus unmatched rows of {one}, padded with NULLs",
        "right": f"all pairs, plus unmatched rows of {two}, padded with NULLs",
        "full": "all pairs, plus unmatched rows of both sides, padded with NULLs",
        "left_semi": f"rows of {one} with a match, once each",
        "left_anti": f"rows of {one} without a match",
    }
    return f"{spec.kind.name}: {told[spec.kind.name]}"


def _emitted(spec: JoinSpec) -> str:
    """Tell when rows of a preserved side are emitted."""
    if not spec.kind.unmatched:
        return "a row is emitted with its first match"
    window = spec.window
    if isinstance(window, (Last, TumblingRows)):
        ends = f"among the last {window.n:,}" if isinstance(window, Last) else f"in the open group of {window.n:,}"
        return f"an unmatched row is emitted when it is no longer {ends}"
    if isinstance(window, Tumbling):
        return "an unmatched row is emitted when the watermark passes the end of its window"
    if not isinstance(window, Within):
        return "an unmatched row is emitted at the end of the input"
    show, (one, two) = unit_shown(window.unit), ("a", "b") if spec.self_join else ("l", "r")
    spans = {"left": (f"{one}.{window.left}", window.after), "right": (f"{two}.{window.right}", window.before)}
    ends = " and ".join(f"{name} + {show(span)}" for name, span in (spans[side] for side in spec.kind.preserved))
    return f"an unmatched row is emitted when the watermark passes {ends}"


def _times(first: tuple[float, float], later: tuple[float, float]) -> str:
    """Tell how often rows are copied: by the first plan, and by the one that follows if it differs."""
    left, right = first
    text = f"each left row {left:g} x, each right row {right:g} x"
    return text if later == first else f"{text}; later {later[0]:g} x and {later[1]:g} x"


def _name(spec: JoinSpec, side: str, column: int) -> str:
    part = spec.left if side == "left" else spec.right
    if column < len(part.keys):
        text = _plain(spec, part.keys[column].text)
        # The two roles of a self join share one frame, so both keys are read over `a`.
        return re.sub(r"\ba\.", "b.", text) if spec.self_join and side == "right" else text
    names: dict[Any, str] = {
        part.time: "time",
        part.bucket: "window number",
        part.mix: "combined key",
        part.seq: "row number",
    }
    return f"{side} {names.get(column, 'tuple number')}"


def _term(spec: JoinSpec, term: Term) -> str:
    left, right = _name(spec, "left", term.left), _name(spec, "right", term.right)
    if term.op in (Op.BAND, Op.FBAND):
        if term.left == spec.left.time and isinstance(spec.window, Within):
            show = show_duration if spec.window.unit == "time" else str
            return f"time within {show(spec.window.before)} before, {show(spec.window.after)} after"
        return f"{_bound(spec, term, term.lo)} <= {left} - {right} <= {_bound(spec, term, term.hi)}"
    if term.op is Op.LAST:
        return f"row among the last {int(term.hi):,}"
    return f"{left} {_SIGNS[term.op]} {right}"


def _plain(spec: JoinSpec, text: str) -> str:
    """Return a part of the condition without the casts that Spark added; those that the user wrote stay."""
    return text if "cast" in spec.condition.said.lower() or "::" in spec.condition.said else without_casts(text)


def _bound(spec: JoinSpec, term: Term, value: float) -> str:
    """Write an end of a band in the unit of its column."""
    number = spec.terms.index(term) if term in spec.terms else len(spec.terms)
    step = spec.condition.compares[number].step if number < len(spec.condition.compares) else "1"
    if math.isinf(value) or step == "1":
        return f"{value:g}" if abs(value) < 1e6 or math.isinf(value) else f"{value:,}"
    if step == "microsecond":
        return ("-" if value < 0 else "") + show_duration(abs(int(value)))
    return (
        f"{int(value)} day{'s' if abs(value) != 1 else ''}"
        if step == "day"
        else f"{Decimal(int(value)) * Decimal(step)}"
    )


def _access(spec: JoinSpec) -> str:
    access = spec.access
    parts = []
    if access.equal is not None:
        parts.append(f"equality of {_name(spec, 'left', access.equal[0])} and {_name(spec, 'right', access.equal[1])}")
    ranges = " and ".join(_term(spec, term) for term in (access.within, access.until) if term is not None)
    return ", then ".join([*parts, *([ranges] if ranges else [])]) or "none: every stored row is scanned"


def _checked(spec: JoinSpec) -> str:
    return " and ".join(_term(spec, term) for term in spec.terms) or "nothing: every pair in the window is a candidate"


def _state(spec: JoinSpec) -> str:
    window = spec.window
    if isinstance(window, Last):
        return f"at most {window.n:,} rows per side, plus expired rows that await a merge"
    if isinstance(window, TumblingRows):
        return f"rows of the open group of {window.n:,}, on the side that is ahead"
    if not isinstance(window, (Within, Tumbling)):
        return "grows without bound: the full history of both sides is kept"
    delays, show = window.delays.known, unit_shown(window.unit)
    if delays is None:
        return _endless(spec)
    longest = max(delays.values())
    if isinstance(window, Tumbling):
        return f"rows of windows open in the last {show(window.size + longest)}, relative to the slower side"
    left, right = show(window.after + longest), show(window.before + longest)
    return f"left rows of the last {left} and right rows of the last {right}, relative to the slower side"


def _endless(spec: JoinSpec) -> str:
    """Say why the state of a time window has no bound."""
    window = spec.window
    assert isinstance(window, (Within, Tumbling))
    if window.delays == Delays():
        return "grows without bound: no row is ever late. Set delay= in the window to bound it"
    side = "left" if window.delays.left is None else "right"
    return f"grows without bound: the {side} side has no delay, so no row is ever late. Set {side}_delay= to bound it"


def _late(spec: JoinSpec) -> str:
    """Say which rows are dropped; "" where there are none."""
    window = spec.window
    delays = window.delays.known if isinstance(window, (Within, Tumbling)) else None
    if delays is None:
        return ""
    assert isinstance(window, (Within, Tumbling))
    show = unit_shown(window.unit)
    left, right = show(delays["left"]), show(delays["right"])
    if delays["left"] == delays["right"]:
        newest = "the newest time" if spec.self_join else "the newest time of the slower side"
        return f"rows more than {left} behind {newest} are dropped and counted"
    behind = f"the newest left time minus {left} and the newest right time minus {right}"
    return f"rows older than both {behind} are dropped and counted"


def _order(spec: JoinSpec) -> str:
    """Say how far out of order the times of the result are."""
    window = spec.window
    if not isinstance(window, (Within, Tumbling)):
        return ""
    lags, show = lags_of(window, one_stream=spec.self_join).known, unit_shown(window.unit)
    if lags is None:
        return "times in the result can be out of order without bound"
    one, two = ("a", "b") if spec.self_join else ("l", "r")
    left, right = (show(readable(window.unit, lags[side])) for side in SIDES)
    return f"in the result, {one}.{window.left} can be up to {left} out of order, {two}.{window.right} up to {right}"
