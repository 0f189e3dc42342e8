"""Where random choices come from: a seed in a campaign, Hypothesis in a property test. The generators are the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

__all__ = ["Draw", "Seeded"]

T = TypeVar("T")


class Draw(Protocol):
    """Makes choices; the first option and the lowest number are the plainest ones."""

    def integer(self, low: int, high: int) -> int:
        """Return a whole number, both ends included."""
        ...

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        ...

    def flag(self) -> bool:
        """Return one of both truths."""
        ...


class Seeded:
    """Choices that follow from a seed: the same ones every time.

    >>> Seeded(7).integer(0, 99) == Seeded(7).integer(0, 99)
    True
    """

    def __init__(self, seed: int | str) -> None:
        self.random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def pick(self, options: Sequence[T]) -> T:
        return options[self.random.randrange(len(options))]

    def flag(self) -> bool:
        return self.random.random() < 0.5
