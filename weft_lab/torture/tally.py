"""What a campaign did, and the seeds that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Enough", "Tally", "Tell", "nothing_told"]

_CALM = ("replays", "restarts", "plans forced", "slow", "failed")
"""What happens to a join and ends no life."""


@dataclass
class Tally:
    """Counts of a campaign; `failures` has what each seed that failed said."""

    seeds: int = 0
    pairs: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def deaths(self) -> int:
        """Return how many lives ended in the middle of something: by SIGKILL on Spark, by any fault on the local runtime."""
        return sum(n for kind, n in self.counts.items() if kind not in _CALM and not kind.endswith("too late"))

    def to_json(self) -> dict[str, Any]:
        """Return the tally as JSON data."""
        return {**self.__dict__, "counts": dict(self.counts.most_common()), "deaths": self.deaths}


Enough = Callable[[Tally], bool]
"""Tells whether a campaign has done enough."""
Tell = Callable[[Tally], None]
"""Is called with the tally again and again."""


def nothing_told(_: Tally) -> None:
    """Tell nobody."""
