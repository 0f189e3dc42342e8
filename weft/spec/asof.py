"""As-of joins: of all right rows, each left row has the one that is nearest in an order column.

What may be asked is checked here, for both runtimes; so is how far out of order the result is. A left row leaves in the batch
after which no nearer right row can come. Let `m` be the watermark before a batch: rows that arrive in it, on either side, are
at `m` or later, and every left row that left earlier was before `m`.

* *backward*: right rows up to `t` are complete once the watermark is beyond `t`, so a left row that has not left is at `m`
  or later: its time lags behind nothing that left before, whatever the delays. Its right time is older by the tolerance at
  most; without one, by any length.
* *forward*, *nearest*: the row waits until the watermark is beyond its nearest row, or beyond `t + tolerance`. So what has
  not left is at `m - tolerance` or later, and that is its lag. Of a right row that left earlier the watermark was beyond it
  too, or it was at most at `t`: it was before `m`. One that leaves now is no older than `t`, so it lags by `tolerance`; with
  *nearest* it may be older than `t` by the tolerance, so it lags by twice as much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from weft.errors import SpecError, about
from weft.spec.kinds import INNER, KINDS, Kind
from weft.spec.options import LONGEST, Duration, microseconds
from weft.spec.parse import closed
from weft.spec.terms import Term
from weft.spec.window import Delays, Unit, Window, Within, delays_of, unbounded

__all__ = [
    "DIRECTIONS", "Asof", "AsofAsked", "AsofOrder", "Direction", "GroupColumn", "asof_asked", "asof_lags", "asof_reach",
    "asof_window", "back_quoted",
]  # fmt: skip

Direction = Literal["backward", "forward", "nearest"]
DIRECTIONS: tuple[Direction, ...] = ("backward", "forward", "nearest")

AsofOrder = Literal["time", "day", "whole", "floating"]
"""What the order columns hold, and what a distance between them counts: microseconds, days, units, or doubles."""


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """A column of each side that has to be equal: word columns where these are exact, else payload columns."""

    left: int
    right: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Asof:
    """Which right row a left row has: the nearest of its group in the order words, among those that the terms let pass.

    `order` names the order words of both sides, `tolerance` is in their unit, a double where they stand for doubles.
    Rows at the same place are told apart by the payload column `ties` (the greatest wins), then by their arrival, the
    right word `arrival` (the last wins). `where` is the further condition, `terms` what words decide of it.
    """

    direction: Direction
    strict: bool
    tolerance: float | None
    order: tuple[int, int]
    counts: AsofOrder
    by: tuple[GroupColumn, ...] = ()
    ties: int | None = None
    arrival: int = -1
    terms: tuple[Term, ...] = ()
    where: str = ""

    def told(self) -> str:
        """Say what is chosen, as far as the condition does not: the state depends on it."""
        how = f"{self.direction}, {'strict, ' if self.strict else ''}tolerance {self.tolerance}"
        return how if self.ties is None else f"{how}, ties by right column {self.ties}"

    @property
    def chooses(self) -> bool:
        """Tell whether a further condition chooses among the right rows."""
        return bool(self.where)

    @property
    def back(self) -> bool:
        """Tell whether a left row looks at earlier right rows."""
        return self.direction != "forward"

    @property
    def ahead(self) -> bool:
        """Tell whether a left row looks at later right rows."""
        return self.direction != "backward"

    @property
    def limit(self) -> int:
        """Return the tolerance as a whole number of words; without one, what is beyond every distance of words."""
        return (1 << 64) - 1 if self.tolerance is None else int(self.tolerance)

    @property
    def floating(self) -> bool:
        """Tell whether the order words stand for doubles."""
        return self.counts == "floating"


@dataclass(frozen=True)
class AsofAsked:
    """What was asked of an as-of join, checked as far as it can be without the columns."""

    left: str
    right: str
    by: tuple[tuple[str, str], ...] = ()
    direction: Direction = "backward"
    tolerance: Duration | float | None = None
    strict: bool = False
    kind: Kind = field(default_factory=lambda: KINDS["left"])
    where: str | None = None
    ties: str | None = None
    delays: Delays = field(default_factory=Delays)

    def condition(self) -> str:
        """Return the condition in SQL: equal columns, order columns, then what else was asked."""
        conjuncts = [f"l.{back_quoted(one)} = r.{back_quoted(two)}" for one, two in self.by]
        conjuncts.append(f"l.{back_quoted(self.left)} >= r.{back_quoted(self.right)}")
        return " AND ".join([*conjuncts, *([f"({self.where}\n)"] if self.where else [])])

    def selected(self, left: Sequence[str], right: Sequence[str], suffix: str) -> list[str]:
        """Return the columns of the result where none are asked for: all but the right ones that are equal by definition."""
        taken, equal = {name.lower() for name in left}, {two.lower() for _, two in self.by}
        kept = [name for name in right if name.lower() not in equal]
        named = [(name, name + suffix if name.lower() in taken else name) for name in kept]
        return ["l.*", *(f"r.{back_quoted(name)} AS {back_quoted(shown)}" for name, shown in named)]

    def distance(self, counts: AsofOrder) -> float | None:
        """Return the tolerance in words of the order columns; raise where it does not fit their type."""
        given = self.tolerance
        if given is None:
            return None
        if counts == "floating":
            if isinstance(given, (int, float)) and not isinstance(given, bool) and 0 <= given < math.inf:
                return float(given)
            raise _tolerance(given, "floating-point numbers", "a number that is not negative", "write tolerance=0.5.")
        if counts == "whole":
            if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= LONGEST:
                return given
            raise _tolerance(given, "integers", "a whole number that is not negative", "write tolerance=10.")
        if not isinstance(given, (str, timedelta)):
            raise _tolerance(given, "times", "a duration", "write tolerance='2 seconds'.")
        with about("tolerance"):
            length = microseconds("tolerance", given)
        return length // 86_400_000_000 if counts == "day" else length


def _tolerance(given: object, of: str, is_: str, hint: str) -> SpecError:
    error = SpecError.of(f"tolerance={given!r} is not valid.", f"The order columns hold {of}, so it is {is_}.", hint)
    error.argument = "tolerance"
    return error


def asof_asked(
    *, on: object, by: object, direction: object, tolerance: Any, strict: object, how: object, where: object, ties: object,
    delay: Any = None, left_delay: Any = None, right_delay: Any = None,
) -> AsofAsked:  # fmt: skip
    """Check what was asked, and put it in order."""
    left, right = _both("on", on, "on='ts', or on=('ts', 'time') if the sides name it differently")
    if not isinstance(direction, str) or direction not in DIRECTIONS:
        raise _wrong("direction", direction, f"Known: {', '.join(DIRECTIONS)}.", "write direction='backward'.")
    if not isinstance(strict, bool):
        there = "It is True, to leave out right rows at the very same place, or False."
        raise _wrong("strict", strict, there, "leave it out to allow exact matches.")
    if not isinstance(how, str) or how not in ("left", "inner"):
        there = "Known: left (every left row, padded with NULLs without a match), inner (left rows with a match)."
        raise _wrong("how", how, there, "leave it out for 'left'.")
    if where is not None and (not isinstance(where, str) or not where.strip()):
        raise _wrong("where", where, "It is SQL over l and r.", "write where='l.price >= r.ask'.")
    if where is not None and not closed(where):
        raise _wrong(
            "where",
            where,
            "It has a bracket or a quote that is not closed, or not opened.",
            "check its brackets and quotes.",
        )
    if ties is not None and not isinstance(ties, str):
        raise _wrong("ties", ties, "It names a column of the right side.", "write ties='sequence'.")
    delays = delays_of("asof_join", delay, left_delay, right_delay)
    kind = INNER if how == "inner" else KINDS["left"]
    return AsofAsked(left, right, _pairs(by), direction, tolerance, strict, kind, where, ties, delays)


def _both(name: str, given: object, hint: str) -> tuple[str, str]:
    if isinstance(given, str) and given:
        return given, given
    if isinstance(given, (tuple, list)) and len(given) == 2 and all(isinstance(one, str) and one for one in given):
        return given[0], given[1]
    raise _wrong(
        name, given, "It is a column name for both sides, or a pair of a left and a right name.", f"write {hint}."
    )


def _pairs(by: object) -> tuple[tuple[str, str], ...]:
    given = [] if by is None else [by] if isinstance(by, str) else by
    if isinstance(given, Mapping):
        given = list(given.items())
    if isinstance(given, (list, tuple)):
        found = [(one, one) if isinstance(one, str) else one for one in given]
        if all(isinstance(one, tuple) and len(one) == 2 and all(isinstance(c, str) for c in one) for one in found):
            return tuple(dict.fromkeys(found))
    there = "It names the columns that have to be equal: a name, a list of names, or {'left name': 'right name'}."
    raise _wrong("by", by, there, "write by='symbol', or leave it out.")


def _wrong(name: str, given: object, there: str, hint: str) -> SpecError:
    error = SpecError.of(f"{name}={given!r} is not valid.", there, hint)
    error.argument = name
    return error


def back_quoted(name: str) -> str:
    """Return a column's name as SQL reads it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def asof_window(asked: AsofAsked, counts: AsofOrder, tolerance: float | None) -> Window:
    """Return the time window whose clock an as-of join goes by; doubles have none."""
    if counts == "floating":
        if asked.delays != Delays():
            error = SpecError.of(
                "A delay was given, and the order column holds floating-point numbers.",
                "Only times and integers can tell which rows are late.",
                "leave the delay out, or cast the column.",
            )
            error.argument = "delay"
            raise error
        return unbounded()
    unit: Unit = "number" if counts == "whole" else "time"
    reach = LONGEST if tolerance is None else int(tolerance) * (86_400_000_000 if counts == "day" else 1)
    back, ahead = asked.direction != "forward", asked.direction != "backward"
    return Within(reach if back else 0, reach if ahead else 0, asked.left, asked.right, asked.delays, unit)


def asof_reach(asof: Asof) -> tuple[int | None, int | None]:
    """Return how far behind the watermark a left and a right time can be when they leave; None: without bound."""
    if asof.tolerance is None:
        return None if asof.ahead else 0, None
    tolerance = int(asof.tolerance)
    return {"backward": (0, tolerance), "forward": (tolerance, tolerance), "nearest": (tolerance, 2 * tolerance)}[
        asof.direction
    ]


def asof_lags(asof: Asof, window: Window) -> Delays:
    """Return how far out of order both times of the result are (above); None where there is no bound."""
    if not isinstance(window, Within) or window.delays.known is None:
        return Delays()
    return Delays(*asof_reach(asof))
