"""Errors: what is wrong, what there is, what to try.

One root, `WeftError`; every child is also the builtin a Python user would expect.
Wording lives here or in classmethods beside the data, never scattered over raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from typing_extensions import Self

__all__ = [
    "JobError",
    "NoSuchState",
    "SpecError",
    "StateError",
    "StateLost",
    "StateMismatch",
    "UnknownColumn",
    "UnknownName",
    "WeftError",
    "WeftWarning",
    "about",
    "explained",
]


def explained(what: str, there_is: str = "", hint: str = "") -> str:
    """Join the three parts of a message.

    >>> print(explained("No column 'x'.", "The left side has: a, b.", "write l.a"))
    No column 'x'.
    The left side has: a, b.
    Hint: write l.a
    """
    parts = [what, there_is, f"Hint: {hint}" if hint else ""]
    return "\n".join(part for part in parts if part)


def _near(name: object, names: list[str]) -> list[str]:
    """Return the name that was probably meant, if any; PIM-Tree is near to pim-tree."""
    plain = {known.lower(): known for known in reversed(names)}
    return get_close_matches(str(name), names, n=1) or [
        plain[found] for found in get_close_matches(str(name).lower(), plain, n=1)
    ]


class WeftError(Exception):
    """The base class of all errors that Weft raises on purpose."""

    argument: str = ""
    """Which argument of the call is at fault ("on", "window", ...), where that is known; a job file has its line."""

    @classmethod
    def of(cls, what: str, there_is: str = "", hint: str = "") -> Self:
        """Make the error from its three parts."""
        return cls(explained(what, there_is, hint))


class WeftWarning(UserWarning):
    """Something that works as requested but may not be intended."""


@contextmanager
def about(argument: str) -> Iterator[None]:
    """Let errors raised inside say which argument they are about, unless they know better."""
    try:
        yield
    except WeftError as error:
        error.argument = error.argument or argument
        raise


class SpecError(WeftError, ValueError):
    """The join as described cannot exist: a bad predicate, window, type or option."""


class UnknownColumn(SpecError, LookupError):
    """A column that neither side has."""

    @classmethod
    def on_side(cls, side: str, name: object, have: Iterable[str]) -> Self:
        """Name the side, the column, and what the side has."""
        names = list(have)
        near = _near(name, names)
        hint = f"did you mean {near[0]!r}?" if near else "conditions use the column names from before the join."
        return cls.of(f"The {side} side has no column {name!r}.", f"It has: {', '.join(names)}.", hint)


class UnknownName(WeftError, LookupError):
    """A scheme, an index or another named part that does not exist."""

    @classmethod
    def among(cls, kind: str, name: object, known: Iterable[str]) -> Self:
        """Name the kind of thing, what was requested, and what exists."""
        names = sorted(known)
        near = _near(name, names)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of the {kind} names above."
        return cls.of(f"There is no {kind} named {name!r}.", f"Known: {', '.join(names)}.", hint)


class StateError(WeftError, RuntimeError):
    """A state file is missing, torn, altered or foreign."""

    @classmethod
    def torn(cls, path: str, why: str) -> StateError:
        """Name a file whose content cannot be trusted."""
        return StateLost.of(
            f"{path} is damaged: {why}.",
            "Weft joins only from state it can verify.",
            "restore the file from a backup, or go back to the last whole batch: `weft state rollback`.",
        )

    @classmethod
    def foreign(cls, path: str, why: str) -> StateError:
        """Name a file that is intact but does not belong where it is."""
        return StateLost.of(
            f"{path} does not belong here: {why}.",
            "All state files must come from one history: one query, its batches in order, none rolled back.",
            "restore the original files, or go back to the last whole batch: `weft state rollback`.",
        )

    @classmethod
    def parted(cls, batch: int, tasks: Iterable[int]) -> Self:
        """Name tasks of one batch that received different inputs."""
        who = " and ".join(map(str, tasks))
        return cls.of(
            f"Tasks {who} of batch {batch} received different rows: part of the input was computed twice and differs.",
            "An executor was lost, and the operators before the join did not produce the same rows again. The batch is not "
            "finished.",
            "start the query again: the whole batch then runs again. If this happens often, write nondeterministic values "
            "(sums of doubles, random values, the first of several duplicates) to files or Kafka, and join from there.",
        )


class StateLost(StateError):
    """A file that the next batch needs is missing, damaged or foreign; an older batch may be whole."""


class NoSuchState(StateError, LookupError):
    """A state path, query or batch that does not exist: the request is wrong, not the state."""


class StateMismatch(StateError):
    """The state belongs to a different join than the one that was started."""


class JobError(WeftError, ValueError):
    """A job file that cannot run; names the key and the correction."""
