"""Weft joins streams that Spark cannot join: inequality, band and other theta joins, and count windows, on plain PySpark.

>>> import weft
>>> str(weft.within("10 seconds", on="ts", delay="5 seconds"))
'r.ts from 10 seconds before to 10 seconds after l.ts, delay 5 seconds'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.spec import last, tumbling, tumbling_rows, unbounded, within

if TYPE_CHECKING:
    from weft import errors, local, observe, schemes
    from weft.spark import (
        asof_join,
        explain,
        explain_asof_join,
        join,
        natural_join,
        refused_documents,
        self_join,
        session,
    )

__all__ = [
    "WeftError", "asof_join", "errors", "explain", "explain_asof_join", "join", "last", "local", "natural_join", "observe",
    "refused_documents", "schemes", "self_join", "session", "tumbling", "tumbling_rows", "unbounded", "within",
]  # fmt: skip

__version__ = "0.2.0"

_ON_SPARK = (
    "asof_join", "explain", "explain_asof_join", "join", "natural_join", "refused_documents", "self_join", "session",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import the runtimes on first use: pyspark is slow to load and not always needed."""
    if name in _ON_SPARK:
        return getattr(import_module("weft.spark"), name)
    if name in ("errors", "local", "observe", "schemes", "spark"):
        return import_module(f"weft.{name}")
    raise AttributeError(f"module 'weft' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, for completion in a notebook."""
    return sorted(__all__)
