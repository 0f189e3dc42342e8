"""A condition taken apart: what an index can serve, what each side can filter alone, and the rest.

Front ends (`weft.local.sql` by sqlglot, `weft.spark.catalyst` by Spark's own analyzer) produce this; nothing below them
knows in which language the user wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from weft.spec.terms import Op

__all__ = ["Compare", "Condition", "Encode", "Key"]

Encode: TypeAlias = Literal["value", "hash", "prefix"]
"""How a key becomes a word. *value*: exactly, order kept (numbers, dates, timestamps, booleans, decimals up to 18 digits).
*hash*: 64-bit hash, for equality of strings, binaries and wide decimals. *prefix*: leading 64 bits, order kept but ties."""


Step: TypeAlias = str
"""What a whole word stands for in a band: "1", "day", "microsecond", or a power of ten such as "0.01"."""


@dataclass(frozen=True, slots=True)
class Key:
    """An expression of one side, in the type in which Spark compares it."""

    text: str
    encode: Encode = "value"


@dataclass(frozen=True, slots=True)
class Compare:
    """`left OP right` over keys; for BAND and FBAND `lo <= left - right <= hi`.

    A *weak* comparison is necessary but not sufficient (hashes, prefixes, rounded bands): the conjunct it comes from
    stays in the residual as well, and strict operators are loosened when it becomes a term.
    """

    left: Key
    op: Op
    right: Key
    lo: float = 0
    hi: float = 0
    weak: bool = False
    step: Step = "1"
    """What one unit of `lo` and `hi` is; it only matters to people."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The conjuncts of `on`, sorted by who can decide them.

    `text` is the whole condition in normal form (part of the state's fingerprint), `said` as the user wrote it. `residual`,
    `left_only` and `right_only` are SQL over the aliases, "" when there is nothing to check.
    """

    text: str
    compares: tuple[Compare, ...]
    residual: str = ""
    left_only: str = ""
    right_only: str = ""
    said: str = field(default="", compare=False)
