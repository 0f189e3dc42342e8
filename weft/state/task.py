"""What one task remembers between two batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weft.index import Run
from weft.routing import Plan
from weft.state.documents import digest_of
from weft.types import SIDES, WORD_MIN, Side

__all__ = ["Clock", "Pinned", "TaskState"]


@dataclass(frozen=True)
class Clock:
    """How far both streams have come, the same in every task: greatest timestamp and number of rows per side."""

    newest: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, WORD_MIN))
    count: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))

    def to_json(self) -> dict[str, Any]:
        """Return the clock as JSON data."""
        return {"newest": self.newest, "count": self.count}


@dataclass(frozen=True)
class Pinned:
    """What all tasks of a batch know before it begins: the plan, the clock and the history that the batch before left."""

    plan: Plan
    clock: Clock = field(default_factory=Clock)
    history: str = ""

    @property
    def mark(self) -> str:
        """Return a digest of all that: what was routed by another one does not belong into the batch."""
        return digest_of({"plan": self.plan.to_json(), "clock": self.clock.to_json(), "history": self.history})


@dataclass(frozen=True)
class TaskState:
    """Runs of both sides, the bounds below which their rows have expired, the clock, and the plan they were routed by.

    `index` is the one that laid the runs out: another cannot read them as they lie.
    """

    plan: Plan
    runs: dict[Side, tuple[Run, ...]] = field(default_factory=lambda: {"left": (), "right": ()})
    before: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, WORD_MIN))
    clock: Clock = field(default_factory=Clock)
    index: str = ""

    @property
    def rows(self) -> dict[Side, int]:
        """Return the rows held per side."""
        return {side: sum(len(run) for run in self.runs[side]) for side in SIDES}
