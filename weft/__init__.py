"""Weft joins streams that Spark cannot join: inequality, band and any theta join, count windows, on plain PySpark.

>>> import weft
>>> str(weft.within("10 seconds", on="ts", delay="5 seconds"))
'r.ts from 10 seconds before to 10 seconds after l.ts, delay 5 seconds'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft.errors import JobError, LateStateError, SpecError, StateError, UnknownColumn, UnknownName, WeftError
from weft.routing import (
    Adsp,
    Biclique,
    Broadcast,
    ContRand,
    Dynamic,
    FastJoin,
    Hash,
    Matrix,
    Ordered,
    Random,
    Range,
    Readj,
    Slices,
    Split,
    Square,
    Sta,
)
from weft.routing.documents import Association, Disjoint, Everywhere, SetCover
from weft.spec import last, tumbling, tumbling_rows, unbounded, within

if TYPE_CHECKING:
    from weft import local, observe
    from weft.spark import explain, join, self_join, session
    from weft.spark.natural import natural_join, refused_documents

__all__ = [
    "Adsp", "Association", "Biclique", "Broadcast", "ContRand", "Disjoint", "Dynamic", "Everywhere", "FastJoin",
    "Hash", "JobError", "LateStateError", "Matrix", "Ordered", "Random", "Range", "Readj", "SetCover", "Slices", "SpecError",
    "Split", "Square", "Sta", "StateError", "UnknownColumn", "UnknownName", "WeftError", "explain", "join", "last", "local",
    "natural_join", "observe", "refused_documents", "self_join", "session", "tumbling", "tumbling_rows", "unbounded", "within",
]  # fmt: skip

__version__ = "0.1.0"

_LAZY = dict.fromkeys(("explain", "join", "self_join", "session"), "weft.spark") | {
    "natural_join": "weft.spark.natural",
    "refused_documents": "weft.spark.natural",
}


def __getattr__(name: str) -> Any:
    """Import the runtimes on first use: pyspark is slow to load and not always wanted."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in ("local", "observe", "spark"):
        return import_module(f"weft.{name}")
    raise AttributeError(f"module 'weft' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what is public: a notebook completes `weft.` with it."""
    return sorted(__all__)
