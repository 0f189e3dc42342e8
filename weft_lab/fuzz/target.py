"""What a fuzz target is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

__all__ = ["ANSWERED", "REFUSED", "Mutate", "Target", "Wrong"]

ANSWERED, REFUSED = "answered", "refused"
"""What may come of an input: an answer that is right, or a WeftError."""

Mutate: TypeAlias = Callable[[bytes, Random], bytes]


class Wrong(Exception):
    """An answer that is not the oracle's: the worst a join can do."""


@dataclass(frozen=True)
class Target:
    """One thing to attack.

    `run` returns `ANSWERED` or `REFUSED`; whatever it raises is a finding. `mutate` knows the language of the inputs, so
    that most of them get past the parser; `seeds` are where it starts.
    """

    name: str
    run: Callable[[bytes], str]
    mutate: Mutate
    seeds: Callable[[], list[bytes]]
    longest: int = 4096
    """Inputs are cut to so many bytes."""
