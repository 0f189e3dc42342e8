"""Options that are counts, numbers or switches: what is none is refused, by name, before it can do harm in the depths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

from weft.errors import SpecError

__all__ = ["check_choice", "check_count", "check_number", "check_switch"]


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
