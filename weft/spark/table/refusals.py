"""What a join of a stream with a table cannot be asked: each is refused with its reason."""

from __future__ import annotations

from pyspark.sql import DataFrame

from weft.errors import SpecError, about
from weft.spec import Delays, Kind
from weft.spec.asof import AsofAsked
from weft.spec.duration import microseconds
from weft.types import Side, other

__all__ = ["check_asof_request", "check_request", "refreshed_by"]

_NEEDLESS = "The stream is not shuffled: each of Spark's tasks looks its rows up in the whole table, through one index."


def check_request(
    asking: Side, kind: Kind, *, window: object, scheme: object, index: object, tasks: object
) -> None:  # fmt: skip
    """Refuse what only joins of two streams have, and kinds for which a row of the table would have to leave alone."""
    with about("window"):
        if window is not None:
            raise SpecError.of(
                "A stream with a table has no window.",
                "The table does not move in time: every row of the stream meets all of it.",
                "omit window=; to compare times, write it in on=, such as 'l.ts BETWEEN r.valid_from AND r.valid_to'.",
            )
    for name, given, default in (("scheme", scheme, "auto"), ("index", index, "auto"), ("tasks", tasks, None)):
        if given != default:
            raise _needless(name, given)
    with about("how"):
        _check_kind(asking, kind)


def check_asof_request(left: DataFrame, asked: AsofAsked, tasks: object) -> None:
    """Refuse a table on the left, and what only as-of joins of two streams have."""
    if not left.isStreaming:
        raise SpecError.of(
            "The left side is a table and the right side a stream.",
            "Each left row has one right row; for a row of the table, a nearer one can arrive in any later batch.",
            "put the stream on the left: weft.asof_join(stream, table, on=...); or read the table as a stream too, with delay=.",
        )
    with about("delay"):
        if asked.delays != Delays():
            raise SpecError.of(
                "A stream with a table has no delay.",
                "The table is complete when a batch begins, so every row of the stream is emitted with its batch: nothing waits.",
                "omit delay=, left_delay= and right_delay=.",
            )
    if tasks is not None:
        raise _needless("tasks", tasks)


def _needless(name: str, given: object) -> SpecError:
    error = SpecError.of(f"{name}={given!r} does not apply to a stream with a table.", _NEEDLESS, f"omit {name}=.")
    error.argument = name
    return error


def _check_kind(asking: Side, kind: Kind) -> None:
    if all(side == asking for side in kind.preserved):
        return
    known = "inner, left, left_semi, left_anti" if asking == "left" else "inner, right"
    table, alias = other(asking), other(asking)[0]
    if kind.pairs:
        why = f"A row of {alias} can match in any later batch, so an unmatched one could never be emitted."
        hint = f"use how={asking!r}, or 'inner'."
    else:
        why = f"It returns rows of {alias}, and each of them can match in any later batch."
        hint = f"put the stream on the left: weft.join(stream, table, how={kind.name!r})."
    raise SpecError.of(
        f"how={kind.name!r} does not work with a table on the {table}.", f"{why} Valid here: {known}.", hint
    )


def refreshed_by(refresh: object, table: DataFrame) -> tuple[int | None, str | None]:
    """Return how often a table is read again, in microseconds, or the column that tells of a new version."""
    if refresh is None:
        return None, None
    if isinstance(refresh, str):
        column = next((name for name in table.columns if name.lower() == refresh.lower()), None)
        if column is not None:
            return None, column
    try:
        every = microseconds("refresh", refresh, least=1) if isinstance(refresh, str) else None
    except SpecError:
        every = None
    if every is None:
        raise SpecError.of(
            f"refresh={refresh!r} is neither a length of time nor a column of the table.",
            "It says how often the table is read again, or names a column whose greatest value changes with each version; the "
            f"table has: {', '.join(table.columns)}.",
            "write refresh='1 hour', or name a column.",
        )
    return every, None
