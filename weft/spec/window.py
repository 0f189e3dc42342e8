"""Windows: which rows are close enough to pair, independent of the predicate.

Each window is a condition on a pair, not on arrival, so results do not depend on batch boundaries. `weft.spec.join_spec`
turns a window into terms, the same word comparisons that the predicate uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from weft.errors import SpecError
from weft.spec.options import LONGEST, Duration, microseconds, show_duration
from weft.types import Side

__all__ = [
    "Delays", "Last", "Tumbling", "TumblingRows", "Unbounded", "Unit", "Window", "Within", "delays_of", "last",
    "tumbling", "tumbling_rows", "unbounded", "unit_hint", "unit_shown", "window_column", "within", "written",
]  # fmt: skip


Unit = Literal["time", "number"]
"""What a window counts in: microseconds of a time column, or the units of an integer column."""


def unit_shown(unit: Unit) -> Callable[[int], str]:
    """Return what writes a length in a unit."""
    return show_duration if unit == "time" else str


def written(unit: Unit, length: int) -> str:
    """Return a length as an argument of a window."""
    return repr(show_duration(length)) if unit == "time" else str(length)


@dataclass(frozen=True, slots=True)
class Delays:
    """How far behind the newest timestamp of its side a tuple may be, per side; None if it is not known.

    Only where both are known can a tuple be late, and state be forgotten.
    """

    left: int | None = None
    right: int | None = None

    def of(self, side: Side) -> int | None:
        """Return the delay of one side."""
        return self.left if side == "left" else self.right

    @property
    def known(self) -> dict[Side, int] | None:
        """Return both delays, None unless both are known."""
        return None if self.left is None or self.right is None else {"left": self.left, "right": self.right}

    def told(self, unit: Unit, left: str, right: str) -> str:
        """Say the delays, as the end of what is said of a window."""
        show = unit_shown(unit)
        if self.left == self.right:
            return "" if self.left is None else f", delay {show(self.left)}"
        both = ((left, self.left), (right, self.right))
        return ", delay " + " and ".join(f"{show(delay)} for {name}" for name, delay in both if delay is not None)


class _Told:
    """What every window can do: say what it is."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.told()

    def told(self, left: str = "l", right: str = "r") -> str:
        """Say what the window is, with the names of the sides."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Within(_Told):
    """`l.ts - before <= r.ts <= l.ts + after`."""

    before: int
    after: int
    left: str
    right: str
    delays: Delays = Delays()
    unit: Unit = "time"

    def told(self, left: str = "l", right: str = "r") -> str:
        show = unit_shown(self.unit)
        span = f"{right}.{self.right} from {show(self.before)} before to {show(self.after)} after {left}.{self.left}"
        return span + self.delays.told(self.unit, left, right)


@dataclass(frozen=True, slots=True)
class Last(_Told):
    """Of a pair, the earlier tuple is among the last `n` of its stream when the later one arrives.

    Every tuple has `seq`, its number in its own stream, and `opp`, how many tuples of the other stream came before it,
    in the order (batch, order column, right before left). The pair joins iff
    `r.seq < l.opp and r.seq >= l.opp - n` or `l.seq < r.opp and l.seq >= r.opp - n`: exactly one of them came later.
    """

    n: int
    left: str | None = None
    right: str | None = None

    def told(self, left: str = "l", right: str = "r") -> str:
        order = f" ordered by {left}.{self.left}, {right}.{self.right}" if self.left else ", in order of arrival"
        return f"the last {self.n:,} rows of the other side{order}"


@dataclass(frozen=True, slots=True)
class Tumbling(_Told):
    """Both timestamps fall into the same window `[k * size, (k + 1) * size)`."""

    size: int
    left: str
    right: str
    delays: Delays = Delays()
    unit: Unit = "time"

    def told(self, left: str = "l", right: str = "r") -> str:
        size, delays = unit_shown(self.unit)(self.size), self.delays.told(self.unit, left, right)
        return f"tumbling windows of {size} over {left}.{self.left}, {right}.{self.right}{delays}"


@dataclass(frozen=True, slots=True)
class TumblingRows(_Told):
    """Row numbers `seq` of both tuples, each in its own stream, fall into the same group of `n`."""

    n: int
    left: str | None = None
    right: str | None = None

    def told(self, left: str = "l", right: str = "r") -> str:
        order = f" ordered by {left}.{self.left}, {right}.{self.right}" if self.left else ", in order of arrival"
        return f"tumbling windows of {self.n:,} rows of each side{order}"


@dataclass(frozen=True, slots=True)
class Unbounded(_Told):
    """Full history: every pair is near enough."""

    def told(self, left: str = "l", right: str = "r") -> str:
        del left, right
        return "the full history"


Window = Within | Last | Tumbling | TumblingRows | Unbounded


def window_column(window: Window, side: Side) -> str | None:
    """Return the column of a side that the window goes by, None if it goes by none."""
    if isinstance(window, Unbounded):
        return None
    return window.left if side == "left" else window.right


def within(
    span: Duration | None = None, /, *, before: Duration | None = None, after: Duration | None = None,
    on: str | None = None, left: str | None = None, right: str | None = None, delay: Duration | None = None,
    left_delay: Duration | None = None, right_delay: Duration | None = None,
) -> Within:  # fmt: skip
    """Join rows whose timestamps are at most `span` apart.

    Parameters
    ----------
    span
        `|l.ts - r.ts| <= span`.
    before, after
        Instead of `span`: how much earlier, and how much later, than the left row the right row may be. If you give
        only one, the other is zero.
    on, left, right
        The time column, for both sides or for each.
    delay, left_delay, right_delay
        How far behind the newest timestamp of its stream a row may be, for both sides or for each. Later rows are
        dropped and counted. By default the delay of the side's own watermark (`withWatermark`, or the watermark of the
        Weft join it comes from). If a side has neither, no row is ever late and the state grows.

    Examples
    --------
    >>> str(within("10 seconds", on="ts"))
    'r.ts from 10 seconds before to 10 seconds after l.ts'
    """
    if (span is None) == (before is None and after is None):
        raise SpecError.of(
            "within() needs either one span or before= and after= (one of them left out is zero).",
            f"Given: span={span!r}, before={before!r}, after={after!r}.",
            "write within('10 seconds', on='ts') or within(before='1 minute', after='0 seconds', on='ts').",
        )
    near = {"before": span if span is not None else before or 0, "after": span if span is not None else after or 0}
    lengths = {
        name: microseconds(f"within({name}=)" if span is None else "within", value) for name, value in near.items()
    }
    columns = _columns("within", "a time column", on, left, right)
    unit = _unit("within", span, before, after, delay, left_delay, right_delay)
    return Within(
        lengths["before"], lengths["after"], *columns, delays_of("within", delay, left_delay, right_delay), unit
    )


def tumbling(
    size: Duration, /, *, on: str | None = None, left: str | None = None, right: str | None = None,
    delay: Duration | None = None, left_delay: Duration | None = None, right_delay: Duration | None = None,
) -> Tumbling:  # fmt: skip
    """Join rows whose timestamps fall into the same window of length `size`, counted from the epoch.

    The delays are the same as in `within`.

    Examples
    --------
    >>> str(tumbling("5 minutes", on="ts", delay="1 minute"))
    'tumbling windows of 5 minutes over l.ts, r.ts, delay 1 minute'
    """
    length = microseconds("tumbling", size, least=1)
    unit = _unit("tumbling", size, delay, left_delay, right_delay)
    columns = _columns("tumbling", "a time column", on, left, right)
    return Tumbling(length, *columns, delays_of("tumbling", delay, left_delay, right_delay), unit)


def last(n: int, /, *, order: str | None = None, left: str | None = None, right: str | None = None) -> Last:
    """Join each row with the last `n` rows of the other stream.

    `order` (or `left` and `right`) names the column that orders each stream; by default, arrival order.

    Examples
    --------
    >>> str(last(100_000, order="ts"))
    'the last 100,000 rows of the other side ordered by l.ts, r.ts'
    """
    return Last(_count("last", n), *_orders("last", order, left, right))


def tumbling_rows(
    n: int, /, *, order: str | None = None, left: str | None = None, right: str | None = None
) -> TumblingRows:
    """Join the k-th group of `n` rows of one stream with the k-th group of `n` rows of the other.

    Examples
    --------
    >>> str(tumbling_rows(1_000))
    'tumbling windows of 1,000 rows of each side, in order of arrival'
    """
    return TumblingRows(_count("tumbling_rows", n), *_orders("tumbling_rows", order, left, right))


def unbounded() -> Unbounded:
    """Join with the full history of the other stream; the state only grows.

    Examples
    --------
    >>> str(unbounded())
    'the full history'
    """
    return Unbounded()


def unit_hint(unit: str, *, time: bool, whole: bool) -> str:
    """Say what to try where a window counts in another unit ("time" or "number") than its column."""
    if unit == "number" and time:
        return "write a duration, such as '10 seconds', or cast the column to an integer."
    if unit == "time" and whole:
        return "write plain numbers in the column's own units, such as 10, or cast the column to a timestamp."
    return f"cast the column to {'a timestamp' if unit == 'time' else 'an integer'}, or name another one."


def _columns(name: str, what: str, on: str | None, left: str | None, right: str | None) -> tuple[str, str]:
    _check_names(name, on, left, right)
    left, right = left or on, right or on
    if left is None or right is None:
        missing = " and ".join(side for side, column in (("left", left), ("right", right)) if column is None)
        raise SpecError.of(
            f"{name}() needs {what} for the {missing} side.",
            f"Given: on={on!r}, left={left!r}, right={right!r}.",
            f"write {name}(..., on='ts') if both sides call it ts, else left= and right=.",
        )
    return left, right


def _orders(name: str, order: str | None, left: str | None, right: str | None) -> tuple[str | None, str | None]:
    _check_names(name, order, left, right)
    left, right = left or order, right or order
    if (left is None) != (right is None):
        raise SpecError.of(
            f"{name}() orders only one of the two sides.",
            f"Given: order={order!r}, left={left!r}, right={right!r}.",
            f"write {name}(n, order='ts') if both sides call it ts, else left= and right=, or neither.",
        )
    return left, right


def _unit(name: str, *given: Duration | None) -> Unit:
    durations = [duration for duration in given if duration is not None]
    numbers = {isinstance(duration, int) for duration in durations}
    if len(numbers) > 1:
        raise SpecError.of(
            f"{name}() mixes plain numbers with durations: {', '.join(map(repr, durations))}.",
            "Plain numbers count in the units of an integer column, durations in time.",
            "write all of them as text, such as '10 seconds', or all as int.",
        )
    return "number" if True in numbers else "time"


def delays_of(name: str, both: Duration | None, left: Duration | None, right: Duration | None) -> Delays:
    """Return the delays that were given, for both sides or for each."""
    if both is not None and (left is not None or right is not None):
        raise SpecError.of(
            f"{name}() got delay= together with left_delay= or right_delay=.",
            f"Given: delay={both!r}, left_delay={left!r}, right_delay={right!r}.",
            "write delay= if both sides have the same delay, else left_delay= and right_delay=.",
        )
    given = {"delay": both} if both is not None else {"left_delay": left, "right_delay": right}
    found = [None if value is None else microseconds(key, value) for key, value in given.items()]
    return Delays(found[0], found[-1])


def _check_names(name: str, *columns: object) -> None:
    for column in columns:
        if column is not None and not isinstance(column, str):
            raise SpecError.of(
                f"{name}() got the column {column!r}.", "A column is given by its name.", "write on='ts'."
            )


def _count(name: str, n: object) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= LONGEST:
        raise SpecError.of(
            f"{name}() got {n!r} rows.",
            "It needs a whole number of at least 1 and at most 2**62.",
            f"write {name}(100_000).",
        )
    return n
