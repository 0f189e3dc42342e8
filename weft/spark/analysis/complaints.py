"""Spark's analysis errors in Weft's words: what is wrong, what there is, what to try."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame

from weft.errors import SpecError, UnknownColumn

__all__ = ["explain_analysis", "hidden_column", "untold"]


@contextmanager
def untold() -> Iterator[None]:
    """Keep PySpark from logging an analysis error, as JSON with the JVM's stack, that Weft tells in its own words."""
    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def explain_analysis(
    error: PySparkException | Py4JJavaError,
    on: str | Column,
    left: DataFrame,
    right: DataFrame,
    aliases: tuple[str, str],
    what: str = "on=",
) -> SpecError:
    """Return the error to raise instead of Spark's."""
    if isinstance(error, Py4JJavaError):  # Spark's own check of the plan gives up, as on window()
        return SpecError.of(
            f"{what} contains something that Spark does not allow in a join.",
            f"Given: {_text(on)}",
            "compute it as a column before the join, or after it.",
        )
    condition = str(error.getCondition() or "")
    facts = dict(error.getMessageParameters() or {})
    one, two = aliases
    there_is = f"{one} (left) has: {', '.join(left.columns)}. {two} (right) has: {', '.join(right.columns)}."
    if condition.startswith("PARSE"):
        first = str(error).splitlines()[0].split("SQLSTATE")[0].strip()
        near = facts.get("error", "")
        return SpecError.of(
            f"{what} does not parse: {first or near}",
            f"Given: {_text(on)}",
            f"write a SQL condition such as '{one}.x > {two}.x AND {one}.y = {two}.y'.",
        )
    if condition.startswith("UNRESOLVED_COLUMN") or condition == "FIELD_NOT_FOUND":
        return _unknown(facts, left, right, aliases, there_is, what)
    if condition.startswith("AMBIGUOUS_REFERENCE"):
        name = facts.get("name", "a column").strip("`")
        return SpecError.of(
            f"{what} names {name!r}, which both sides have.", there_is, f"write {one}.{name} or {two}.{name}."
        )
    if condition.startswith("DATATYPE_MISMATCH"):
        detail = _first_sentence(error)
        return SpecError.of(
            f"{what} cannot be typed: {detail}",
            f"Types: {_types(left, one)}; {_types(right, two)}.",
            "cast one of them, or compare other columns.",
        )
    if condition.startswith("UNRESOLVED_ROUTINE"):
        return SpecError.of(
            f"{what} calls {facts.get('routineName', 'a function')}, which Spark does not know.",
            f"Given: {_text(on)}",
            "check the spelling, or register the function with spark.udf.register.",
        )
    if condition.startswith("UNSUPPORTED_EXPR_FOR_OPERATOR"):
        return SpecError.of(
            f"{what} contains an aggregate, a window function or explode.",
            "A condition is evaluated on one row of each side.",
            "compute it as a column before the join, or after it.",
        )
    if condition.startswith("INVALID_NON_DETERMINISTIC"):
        return SpecError.of(
            f"{what} is not deterministic: it can give different results for the same rows.",
            f"Given: {_text(on)}",
            "compute random or time-dependent values as a column before the join.",
        )
    return SpecError.of(
        f"{what} cannot be analyzed: {_first_sentence(error)}",
        there_is,
        f"conditions are Spark SQL over {one} and {two}.",
    )


def hidden_column(what: str) -> SpecError:
    """Return the error for a column that a source has but does not show."""
    return SpecError.of(
        f"{what} names a hidden column of a source, such as _metadata.",
        "A join sees only the regular columns of its sides.",
        "select it before the join: frame.select('*', '_metadata').",
    )


def _unknown(
    facts: dict[str, str], left: DataFrame, right: DataFrame, aliases: tuple[str, str], there_is: str, what: str
) -> SpecError:
    given = facts.get("objectName") or facts.get("fieldName") or "?"
    parts = [part.strip("`") for part in re.findall(r"`[^`]+`|[^.`]+", given)]
    for alias, frame, side in ((aliases[0], left, "left"), (aliases[1], right, "right")):
        if len(parts) > 1 and parts[0].lower() == alias:
            return UnknownColumn.on_side(side, ".".join(parts[1:]), frame.columns)
    if len(parts) > 1:
        return UnknownColumn.of(
            f"{what} uses the unknown alias {parts[0]!r}.",
            there_is,
            f"write {aliases[0]}.{parts[-1]} for the left or {aliases[1]}.{parts[-1]} for the right side.",
        )
    near = get_close_matches(parts[0], [*left.columns, *right.columns], n=1)
    hint = f"did you mean {near[0]!r}? Names are those from before the join." if near else ""
    return UnknownColumn.of(
        f"Neither side has a column {parts[0]!r}.", there_is, hint or "names are those from before the join."
    )


def _types(frame: DataFrame, alias: str) -> str:
    return ", ".join(f"{alias}.{name} {kind}" for name, kind in frame.dtypes)


def _text(on: str | Column) -> str:
    return on if isinstance(on, str) else str(on)


def _first_sentence(error: PySparkException) -> str:
    text = str(error).split("SQLSTATE")[0]
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", text).strip().splitlines()[0]
