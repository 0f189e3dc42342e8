"""How far out of order the result of a join is, and which delay the join behind it needs.

A pair leaves with its later row, so the time of its earlier row is old by then: the result is out of order by more than
its inputs are. A *lag* bounds that: no row leaves with a time further behind the greatest time that left in an earlier
batch. It is the delay with which nothing of the result is late.

Let `m` be the watermark before a batch: the lesser of `N - d` over both sides, `N` being the greatest time that arrived on
a side in earlier batches and `d` its delay. Of a pair that leaves in this batch, one row is new, so its time is at least
`m`. For `within(before, after)`, that is `l - before <= r <= l + after`:

* *behind*: if `l` is new, `r >= l - before >= m - before`; if `r` is new, `l >= r - after >= m - after`. So a left time is
  at least `m - after`, a right one at least `m - before`.
* *ahead*: a left time `l` that left earlier is at most `N(left)`, and at most `N(right) + before` because its partner had
  arrived. If `m` is `N(left) - d(left)`, it is at most `d(left)` ahead of `m`, else at most `d(right) + before`.

The lag of the left time is the sum, `max(d(left), d(right) + before) + after`, and by symmetry that of the right time
`max(d(right), d(left) + after) + before`. With equal delays both are `d + before + after`. A self join has one stream, so
`m` is `N - d` and no time is ahead of it by more than `d`.

In a tumbling window of size `s` both rows are in `[k * s, (k + 1) * s)`. The window of a new row begins no earlier than
that of `m`, so no time is older than the beginning of `m`'s window. No left time that left is beyond the end of the window of
`N(right)`, nor beyond `N(left)`. If `m` is `N(right) - d(right)`, the two windows are at most `ceil(d(right) / s)` apart; if
it is `N(left) - d(left)`, the time is at most `d(left)` ahead of `m`, which may be at the end of its window. So the lag is
`s - 1 + max(d(left), s * ceil(d(right) / s))`. `tests/spec/test_disorder.py` has the tight cases.

Without delays nothing is late, and a pair may be as old as its oldest row: there is no lag. Nor is there one where a window
counts rows, for these may be of any age.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

from weft.errors import SpecError, WeftWarning
from weft.spec.window import Delays, Tumbling, Unit, Window, Within, unit_shown, written
from weft.types import SIDES, Side, other

__all__ = ["TimeOrder", "lags_of", "reach_of", "readable", "with_delays"]


def lags_of(window: Window, *, one_stream: bool = False) -> Delays:
    """Return the lag of each side's time in the result, None where there is no bound; `one_stream` is a self join.

    >>> from weft.spec.window import within
    >>> lags_of(within(10, on="t", delay=1))
    Delays(left=21, right=21)
    >>> lags_of(within(before=10, after=0, on="t", left_delay=1, right_delay=5))
    Delays(left=15, right=15)
    """
    delays = window.delays.known if isinstance(window, (Within, Tumbling)) else None
    if delays is None:
        return Delays()
    if one_stream:
        delay = max(delays.values())
        return Delays(*(delay + reach_of(window, side) for side in SIDES))
    if isinstance(window, Tumbling):
        size = window.size
        return Delays(*(size - 1 + max(delays[side], -(-delays[other(side)] // size) * size) for side in SIDES))
    return Delays(
        *(
            max(delays[side], delays[other(side)] + reach_of(window, other(side))) + reach_of(window, side)
            for side in SIDES
        )
    )


def reach_of(window: Window, side: Side) -> int:
    """Return how far behind the watermark the time of a side can be in a pair that leaves."""
    if isinstance(window, Tumbling):
        return window.size - 1
    assert isinstance(window, Within)
    return window.after if side == "left" else window.before


def readable(unit: Unit, lag: int) -> int:
    """Return a lag that people can read: whole milliseconds are enough, and tumbling windows end a microsecond early."""
    return -(-lag // 1000) * 1000 if unit == "time" else lag


UNION = "a union of streams"


@dataclass(frozen=True, slots=True)
class TimeOrder:
    """What is known of the order of an input's time column.

    `lag` is what a Weft join says of its own result, `watermark` the delay of a watermark that the user set. `endless`: the
    column comes from a Weft join that gives no bound. `mixed` names what stands behind all that and mixes rows anew, so that
    neither holds any longer ("" if nothing does).
    """

    lag: int | None = None
    watermark: int | None = None
    endless: bool = False
    mixed: str = ""

    @property
    def delay(self) -> int | None:
        """Return the delay to take where none is given."""
        known = [delay for delay in (self.lag, self.watermark) if delay is not None]
        return max(known) if known else None


def with_delays(window: Window, orders: dict[Side, TimeOrder], *, one_stream: bool = False) -> Window:
    """Return the window with the delays that count: those given, else those of the inputs.

    A given delay that loses rows of a Weft join is refused; one that is shorter than the user's own watermark is taken
    with a warning.
    """
    if not isinstance(window, (Within, Tumbling)):
        return window
    given = window.delays
    if one_stream:
        given = _one(window)
    found = {side: _delay(window, side, given.of(side), orders[side]) for side in SIDES}
    return replace(window, delays=Delays(found["left"], found["right"]))


def _one(window: Within | Tumbling) -> Delays:
    """Return the delay of the one stream of a self join."""
    left, right = window.delays.left, window.delays.right
    if left is not None and right is not None and left != right:
        show = unit_shown(window.unit)
        raise SpecError.of(
            f"left_delay is {show(left)} and right_delay {show(right)}.",
            "A self join has one stream, and one watermark.",
            "write delay= for both.",
        )
    either = left if left is not None else right
    return Delays(either, either)


def _delay(window: Within | Tumbling, side: Side, given: int | None, order: TimeOrder) -> int | None:
    show, column = unit_shown(window.unit), window.left if side == "left" else window.right
    if given is None and order.mixed and order.delay is not None:
        raise SpecError.of(
            f"{column!r} of the {side} side has a watermark of {show(order.delay)}, but comes through {order.mixed}.",
            "After that, rows are further out of order, and Weft cannot tell by how much.",
            f"set {side}_delay= to the longest time its rows can be behind; after a union you can also set the watermark again.",
        )
    if given is None:
        return order.delay
    if order.lag is not None and given < order.lag:
        lag = readable(window.unit, order.lag)
        raise SpecError.of(
            f"A delay of {show(given)} is too short for the {side} side.",
            f"Its {column!r} comes from a Weft join and can be {show(lag)} out of order; pairs would be lost.",
            f"write {side}_delay={written(window.unit, lag)}, or leave it out: Weft knows the delay of the {side} side.",
        )
    if order.mixed == UNION and order.lag is not None:
        warnings.warn(
            f"{column!r} of the {side} side comes from a union that contains a Weft join: Weft cannot tell whether a delay of "
            f"{show(given)} is enough for all of it.",
            WeftWarning,
            stacklevel=6,
        )
    elif order.endless:
        warnings.warn(
            f"Weft does not know how far out of order {column!r} of the {side} side is: it is computed, or comes from a Weft "
            f"join that has no delay or counts rows. Rows more than {show(given)} behind will be dropped. If you select a time "
            "column of a join over time that has a delay, Weft knows the delay it needs.",
            WeftWarning,
            stacklevel=6,
        )
    elif order.watermark is not None and given < order.watermark:
        warnings.warn(
            f"A delay of {show(given)} is shorter than the {show(order.watermark)} of the watermark on {column!r} of the "
            f"{side} side, and takes precedence: rows further behind are dropped.",
            WeftWarning,
            stacklevel=6,
        )
    return given
