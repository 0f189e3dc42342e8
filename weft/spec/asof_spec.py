"""As-of joins as specs: which words are compared, and by which clock rows leave."""

from __future__ import annotations

from dataclasses import replace

from weft.errors import SpecError
from weft.spec.asof import Asof, AsofAsked, AsofOrder, GroupColumn
from weft.spec.join_spec import JoinSpec, build_spec
from weft.spec.terms import Condition
from weft.spec.window import Unit, Window, Within, unbounded, unit_shown, written

__all__ = ["asof_spec", "asof_table_spec", "check_ends", "shown_tolerance"]


def asof_spec(
    condition: Condition, asked: AsofAsked, counts: AsofOrder, window: Window, *, left_schema: str, right_schema: str,
    payload: dict[int, tuple[int, int]], ties: int | None,
) -> JoinSpec:  # fmt: skip
    """Number the words of an as-of join whose `condition` is that of `asked`, comparison by comparison.

    `payload` has the payload columns of the equal columns whose words are not exact, by their number; without both delays
    the clock of the `window` never goes on.
    """
    timed = isinstance(window, Within) and window.delays.known is not None
    spec = build_spec(
        condition, window if timed else unbounded(), left_schema=left_schema, right_schema=right_schema, kind=asked.kind
    )
    equal, tolerance = len(asked.by), asked.distance(counts)
    by = tuple(
        GroupColumn(*payload[number], exact=False) if number in payload else GroupColumn(term.left, term.right)
        for number, term in enumerate(spec.terms[:equal])
    )
    order = spec.terms[equal].left, spec.terms[equal].right
    if spec.left.time is not None and spec.right.time is not None:  # in microseconds, as the clock
        order = spec.left.time, spec.right.time
        if counts == "day":
            counts, tolerance = "time", None if tolerance is None else tolerance * 86_400_000_000
    further = tuple(spec.terms[equal + 1 : len(condition.compares)])
    right = replace(spec.right, seq=spec.right.columns)
    asof = Asof(
        asked.direction, asked.strict, tolerance, order, counts, by, ties, right.columns - 2, further,
        asked.where or "",
    )  # fmt: skip
    return replace(spec, right=right, asof=asof)


def asof_table_spec(spec: JoinSpec) -> JoinSpec:
    """Return the spec of an as-of join whose right side is a table: its rows arrive in the order in which they are read."""
    assert spec.asof is not None
    return replace(spec, right=replace(spec.right, seq=None), asof=replace(spec.asof, arrival=-1))


def check_ends(asked: AsofAsked, window: Window) -> None:
    """Refuse, on streams, left rows that might never leave, and right rows that would be kept for ever."""
    if not isinstance(window, Within) or window.delays.known is None:
        raise _endless(
            "delay",
            "An as-of join of streams needs to know how late rows can be.",
            "A left row leaves when no nearer right row can come; without a delay on both sides that is never.",
            "set delay='5 seconds', or a watermark on both inputs (withWatermark).",
        )
    if asked.tolerance is None and asked.direction != "backward":
        raise _endless(
            "tolerance",
            f"direction={asked.direction!r} on streams needs a tolerance.",
            "A left row after which its key is never seen again would wait for ever.",
            f"write tolerance={written(window.unit, 10_000_000 if window.unit == 'time' else 10)}.",
        )
    if asked.tolerance is None and asked.where:
        raise _endless(
            "tolerance",
            "where= on streams needs a tolerance.",
            "Any earlier right row may be the nearest that satisfies it, so all of them would be kept for ever.",
            f"write tolerance={written(window.unit, 60_000_000 if window.unit == 'time' else 60)}.",
        )


def _endless(argument: str, *parts: str) -> SpecError:
    error = SpecError.of(*parts)
    error.argument = argument
    return error


def shown_tolerance(asof: Asof) -> str:
    """Return the tolerance as people write it, "" without one."""
    if asof.tolerance is None:
        return ""
    if asof.floating:
        return f"{asof.tolerance:g}"
    unit: Unit = "number" if asof.counts == "whole" else "time"
    return unit_shown(unit)(int(asof.tolerance) * (86_400_000_000 if asof.counts == "day" else 1))
