"""Errors that tasks raise, as the driver tells them: Weft's own three lines first, Spark's report behind them.

Spark wraps what a Python worker raises into its own exceptions, and puts ids, a traceback and the whole plan into the text.
PySpark turns those into Python's at two places; `weft.spark.hooks` has both of them call `told`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pyspark.errors.exceptions import captured

from weft.errors import WeftError

__all__ = ["told", "weft_error"]

_RAISED = re.compile(r"weft\.errors\.(\w+): (.*?)(?=\n\s*\n|\n\s+at |\s+SQLSTATE|\n=== |\Z)", re.DOTALL)


def weft_error(text: str) -> WeftError | None:
    """Return the error that a task raised, found in Spark's report of it.

    >>> weft_error("Job aborted due to stage failure: weft.errors.StateError: 1.json is missing.")
    StateError('1.json is missing.')
    """
    found = _RAISED.search(text)
    if found is None:
        return None
    kind = next((kind for kind in _kinds(WeftError) if kind.__name__ == found[1]), WeftError)
    return kind(found[2].strip())


def _kinds(root: type[WeftError]) -> Iterator[type[WeftError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _kinds(kind)


def told(error: Any) -> Any:
    """Return an exception of PySpark's that is also the Weft error behind it and begins with its message."""
    report = getattr(error, "_desc", None)
    if not isinstance(error, captured.CapturedException) or isinstance(error, WeftError) or not isinstance(report, str):
        return error
    cause = weft_error(report)
    if cause is None:
        return error
    known = captured.CapturedException if isinstance(error, captured.UnknownException) else type(error)
    mixed: Any = type(type(cause).__name__, (known, type(cause)), {"__module__": type(cause).__module__})
    new = mixed.__new__(mixed)
    new.__dict__.update(error.__dict__)
    query = re.search(r"Query \[id = [^\]]*\]", report)
    new._desc = f"{cause}\n\nRaised in a task of {query[0] if query else 'Spark'}. Its log has the traceback."
    return new.with_traceback(error.__traceback__)
