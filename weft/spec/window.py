"""Windows: which pairs are near enough to join, whatever the predicate says.

All of them are conditions on a pair, not on arrival, so batch boundaries never show. `weft.spec.join` turns a
window into terms, the same word comparisons that the predicate uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weft.errors import SpecError
from weft.spec.duration import LONGEST, Duration, microseconds, show_duration

__all__ = [
    "Last",
    "Tumbling",
    "TumblingRows",
    "Unbounded",
    "Window",
    "Within",
    "last",
    "tumbling",
    "tumbling_rows",
    "unbounded",
    "unit_hint",
    "within",
]


@dataclass(frozen=True, slots=True)
class Within:
    """`l.ts - before <= r.ts <= l.ts + after`."""

    before: int
    after: int
    left: str
    right: str
    delay: int | None = None
    unit: Literal["time", "number"] = "time"

    def __str__(self) -> str:
        return self.told()

    def told(self, left: str = "l", right: str = "r") -> str:
        """Say what the window is, with the names of the sides."""
        show = show_duration if self.unit == "time" else str
        span = f"{right}.{self.right} from {show(self.before)} before to {show(self.after)} after {left}.{self.left}"
        return span + ("" if self.delay is None else f", delay {show(self.delay)}")


@dataclass(frozen=True, slots=True)
class Last:
    """Of a pair, the earlier tuple is among the last `n` of its stream when the later one arrives.

    Every tuple has `seq`, its number in its own stream, and `opp`, how many tuples of the other stream came before it,
    in the order (batch, order column, right before left). The pair joins iff
    `r.seq < l.opp and r.seq >= l.opp - n` or `l.seq < r.opp and l.seq >= r.opp - n`: exactly one of them came later.
    """

    n: int
    left: str | None = None
    right: str | None = None

    def __str__(self) -> str:
        return self.told()

    def told(self, left: str = "l", right: str = "r") -> str:
        """Say what the window is, with the names of the sides."""
        order = f" ordered by {left}.{self.left}, {right}.{self.right}" if self.left else ", in order of arrival"
        return f"the last {self.n:,} rows of the other side{order}"


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Both timestamps fall into the same window `[k * size, (k + 1) * size)`."""

    size: int
    left: str
    right: str
    delay: int | None = None
    unit: Literal["time", "number"] = "time"

    def __str__(self) -> str:
        return self.told()

    def told(self, left: str = "l", right: str = "r") -> str:
        """Say what the window is, with the names of the sides."""
        show = show_duration if self.unit == "time" else str
        text = f"tumbling windows of {show(self.size)} over {left}.{self.left}, {right}.{self.right}"
        return text + ("" if self.delay is None else f", delay {show(self.delay)}")


@dataclass(frozen=True, slots=True)
class TumblingRows:
    """Row numbers `seq` of both tuples, each in its own stream, fall into the same group of `n`."""

    n: int
    left: str | None = None
    right: str | None = None

    def __str__(self) -> str:
        return self.told()

    def told(self, left: str = "l", right: str = "r") -> str:
        """Say what the window is, with the names of the sides."""
        order = f" ordered by {left}.{self.left}, {right}.{self.right}" if self.left else ", in order of arrival"
        return f"tumbling windows of {self.n:,} rows of each side{order}"


@dataclass(frozen=True, slots=True)
class Unbounded:
    """Full history: every pair is near enough."""

    def __str__(self) -> str:
        return self.told()

    def told(self, left: str = "l", right: str = "r") -> str:
        """Say what the window is; no side is named."""
        del left, right
        return "the full history"


Window = Within | Last | Tumbling | TumblingRows | Unbounded


def within(
    span: Duration | None = None, /, *, before: Duration | None = None, after: Duration | None = None,
    on: str | None = None, left: str | None = None, right: str | None = None, delay: Duration | None = None,
) -> Within:  # fmt: skip
    """Join tuples whose timestamps are at most `span` apart.

    Parameters
    ----------
    span
        `|l.ts - r.ts| <= span`.
    before, after
        Instead of `span`: how far the right tuple may be before, and after, the left one; the one left out is zero.
    on, left, right
        The time column: of both sides, or of each.
    delay
        How far behind the newest timestamp of the slower side a tuple may be. Later ones are dropped and counted.
        Without it nothing is ever late, and nothing can be forgotten.

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
    unit = _unit("within", *[v for v in (span, before, after, delay) if v is not None])
    return Within(lengths["before"], lengths["after"], *columns, _delay(delay), unit)


def tumbling(
    size: Duration, /, *, on: str | None = None, left: str | None = None, right: str | None = None,
    delay: Duration | None = None,
) -> Tumbling:  # fmt: skip
    """Join tuples whose timestamps fall into the same window of length `size`, counted from the epoch."""
    length = microseconds("tumbling", size, least=1)
    unit = _unit("tumbling", *[v for v in (size, delay) if v is not None])
    return Tumbling(length, *_columns("tumbling", "a time column", on, left, right), _delay(delay), unit)


def last(n: int, /, *, order: str | None = None, left: str | None = None, right: str | None = None) -> Last:
    """Join each tuple with the last `n` tuples of the other stream.

    `order` (or `left` and `right`) names the column that orders each stream; without it, order of arrival.
    """
    return Last(_count("last", n), *_orders("last", order, left, right))


def tumbling_rows(
    n: int, /, *, order: str | None = None, left: str | None = None, right: str | None = None
) -> TumblingRows:
    """Join the k-th group of `n` rows of one stream with the k-th group of `n` rows of the other."""
    return TumblingRows(_count("tumbling_rows", n), *_orders("tumbling_rows", order, left, right))


def unbounded() -> Unbounded:
    """Join with the full history of the other stream: state only grows."""
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


def _unit(name: str, *durations: Duration) -> Literal["time", "number"]:
    numbers = {isinstance(duration, int) for duration in durations}
    if len(numbers) > 1:
        raise SpecError.of(
            f"{name}() mixes plain numbers with durations: {', '.join(map(repr, durations))}.",
            "Plain numbers count in the units of an integer column, durations in time.",
            "write all of them as text, such as '10 seconds', or all as int.",
        )
    return "number" if True in numbers else "time"


def _delay(delay: Duration | None) -> int | None:
    return None if delay is None else microseconds("delay", delay)


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
