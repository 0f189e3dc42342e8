"""Options as users write them: durations, counts, numbers, switches. What is none is refused, by name, before it can do harm.

A duration is "10 seconds", "1 h 30 min", a timedelta, or a whole number of the column's own units.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from numbers import Integral, Real

from weft.errors import SpecError

__all__ = ["Duration", "check_choice", "check_count", "check_number", "check_switch", "microseconds", "show_duration"]


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse what is not among the words there are.

    >>> check_choice("mode", "Exact", ("exact", "paper"))
    Traceback (most recent call last):
        ...
    weft.errors.SpecError: There is no mode='Exact'.
    Known: exact, paper.
    Hint: use mode='exact'.
    """
    if not isinstance(value, str) or value not in known:
        near = [word for word in known if str(value).lower().replace("-", " ") == word]
        raise SpecError.of(
            f"There is no {name}={value!r}.", f"Known: {', '.join(known)}.", f"use {name}={(near or known)[0]!r}."
        )


def check_count(name: str, value: object, what: str, hint: str, *, least: int = 1, most: int | None = None) -> None:
    """Refuse what is no whole number, or one out of bounds; `what` follows "It is the number of".

    >>> check_count("group", 1.5, "tasks that share a key", "use group=2.")
    Traceback (most recent call last):
        ...
    weft.errors.SpecError: group=1.5 is not valid.
    It is the number of tasks that share a key, and must be a whole number, at least 1.
    Hint: use group=2.
    """
    count = int(value) if not isinstance(value, bool) and isinstance(value, Integral) else None
    if count is None or count < least or (most is not None and count > most):
        bound = f"at least {least}" if most is None else f"from {least} to {most:,}"
        told = f"It is the number of {what}, and must be a whole number, {bound}."
        raise SpecError.of(f"{name}={value!r} is not valid.", told, hint)


def check_number(
    name: str,
    value: object,
    what: str,
    hint: str,
    *,
    least: float = 0.0,
    above: bool = False,
    most: float | None = None,
) -> None:
    """Refuse what is no number, or less than the least; with `above` the least itself is too little.

    >>> check_number("gain", -1, "the share by which a change must improve the load", "use gain=0.1.")
    Traceback (most recent call last):
        ...
    weft.errors.SpecError: gain=-1 is not valid.
    It is the share by which a change must improve the load, and must be a number, at least 0.
    Hint: use gain=0.1.
    """
    number = float(value) if not isinstance(value, bool) and isinstance(value, Real) else math.nan
    if not number >= least or (above and number == least) or (most is not None and number > most):
        bound = f"{'more than' if above else 'at least'} {least:g}" + ("" if most is None else f", at most {most:g}")
        raise SpecError.of(f"{name}={value!r} is not valid.", f"It is {what}, and must be a number, {bound}.", hint)


def check_switch(name: str, value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise SpecError.of(
            f"{name}={value!r} is not valid.", "It must be True or False.", f"write {name}=True, or leave it out."
        )


Duration = str | timedelta | int
"""A length of time; an `int` counts in the units of an integer time column."""

_UNITS = {
    "us": 1, "microsecond": 1, "ms": 1_000, "millisecond": 1_000, "s": 1_000_000, "sec": 1_000_000,
    "second": 1_000_000, "min": 60_000_000, "minute": 60_000_000, "h": 3_600_000_000, "hour": 3_600_000_000,
    "d": 86_400_000_000, "day": 86_400_000_000, "week": 604_800_000_000,
}  # fmt: skip
LONGEST = 1 << 62
"""In microseconds, or in units of an integer column: sums with it stay near the domain of words."""
_PART = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-zA-Zµ]+)")


def microseconds(what: str, duration: Duration, *, least: int = 0) -> int:
    """Return the duration in microseconds (an `int` unchanged); `what` names the argument in errors.

    >>> microseconds("within", "1 h 30 min") // 60_000_000
    90
    """
    if isinstance(duration, bool) or not isinstance(duration, (str, timedelta, int)):
        raise SpecError.of(
            f"{what} is {duration!r}, which is not a duration.",
            "A duration is text such as '10 seconds', a timedelta, or an int in the units of an integer column.",
            "write '10 seconds' or '1 hour 30 minutes'.",
        )
    if isinstance(duration, timedelta):
        value = duration // timedelta(microseconds=1)
    elif isinstance(duration, int):
        value = duration
    else:
        value = _parse(what, duration)
    if value < least:
        unit = str(least) if isinstance(duration, int) else show_duration(least)
        raise SpecError.of(
            f"{what} is {duration!r}, which is {'negative' if value < 0 else 'too short'}.",
            f"It must be at least {unit if least else 'zero'}.",
            "write a positive length; before= and after= set the two directions."
            if "within" in what
            else "write a positive length.",
        )
    if value > LONGEST:
        raise SpecError.of(
            f"{what} is {duration!r}, which is too long.", "The longest is 2**62 microseconds, 146,000 years.",
            "use weft.unbounded() to join with the full history.",
        )  # fmt: skip
    return value


def _parse(what: str, text: str) -> int:
    total, end = Decimal(0), 0
    for part in _PART.finditer(text):
        unit = part[2].lower().replace("µ", "u")
        factor = _UNITS.get(unit) or _UNITS.get(unit.rstrip("s"))
        if factor is None or text[end : part.start()].strip(" ,"):
            break
        total += Decimal(part[1]) * factor
        end = part.end()
    else:
        if end and not text[end:].strip():
            if total != int(total):
                raise SpecError.of(
                    f"{what} is {text!r}, which is not a whole number of microseconds.",
                    "Timestamps have microsecond precision.", "round it to '1 us' or more.",
                )  # fmt: skip
            return int(total)
    raise SpecError.of(
        f"{what} is {text!r}, which is not a duration.",
        f"Units are: {', '.join(_UNITS)}, also in the plural.",
        "write '10 seconds' or '1 hour 30 minutes'.",
    )


def show_duration(value: int) -> str:
    """Write microseconds in the largest unit that divides them.

    >>> show_duration(90_000_000)
    '90 seconds'
    """
    for name in ("day", "hour", "minute", "second", "millisecond"):
        if value and value % _UNITS[name] == 0:
            count = value // _UNITS[name]
            if name == "second" or count < 120 or name == "day":
                return f"{count} {name}{'s' if count != 1 else ''}"
    return f"{value} microseconds" if value else "0 seconds"
