"""What a scheme is: how a user asks for a routing, and what it may learn. A scheme makes plans; a plan routes.

Statistics travel in the manifests: each task *watches* its batch and notes what its scheme wants to know, and control, in
one place and one batch later, reads the notes of all tasks. All of it is pure, so a replay notes and decides the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from weft.routing.plan import Plan
from weft.spec import JoinSpec
from weft.types import SIDES, U32, Side, Words

__all__ = ["Notes", "Scheme", "TaskStats", "TaskView", "weighted_sample"]

Notes = dict[str, Any]
"""JSON data of bounded size: what one task tells control beyond the counts that all schemes get."""


@dataclass(frozen=True)
class TaskView:
    """One task's batch as a scheme may look at it.

    `stored` are the words of rows that came to stay, `probed` of rows that came to look for partners, and `draws` the
    `u` of the stored ones; `held` gives the words and draws of everything the task holds after the batch, in no
    particular order (it costs a copy: ask only when the notes need it).
    """

    task: int
    plan: Plan
    stored: dict[Side, Words]
    probed: dict[Side, Words]
    draws: dict[Side, U32]
    held: Callable[[Side], tuple[Words, U32]]


@dataclass(frozen=True)
class TaskStats:
    """What one task saw in one batch: rows that arrived, rows it holds, late rows, a sample of its range words, notes.

    `alive` are the rows held that have not expired, where that is known: others wait for the next merge of their run, and
    how many wait says nothing about the load.
    """

    arrived: dict[Side, int]
    held: dict[Side, int]
    late: dict[Side, int]
    sample: dict[Side, tuple[int, ...]]
    notes: Notes = field(default_factory=dict)
    alive: dict[Side, int] = field(default_factory=dict)

    def keeps(self, side: Side) -> int:
        """Return how many rows of a side this task has to keep."""
        return self.alive.get(side, self.held[side])

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as JSON data."""
        return dict(self.__dict__)

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> TaskStats:
        """Read them back."""
        sample = {side: tuple(data["sample"][side]) for side in SIDES}
        return cls(data["arrived"], data["held"], data["late"], sample, data.get("notes", {}), data.get("alive", {}))


class Scheme:
    """A routing scheme as configured by the user: a frozen dataclass with a name. Every method is pure."""

    name: ClassVar[str]
    reaches: ClassVar[tuple[str, ...]] = ()
    """Plans of other kinds than the first one that the scheme changes to by itself."""

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        """Return the plan to start with; raise SpecError when the scheme cannot serve this join."""
        raise NotImplementedError

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        """Return the plan for the batch after next, and why it changed ("" if it did not)."""
        del spec, stats
        return plan, ""

    def watch(self, spec: JoinSpec, view: TaskView, before: Notes) -> Notes:
        """Return what this task notes for control; `before` is what it noted last time ({} at first)."""
        del spec, view, before
        return {}


def weighted_sample(
    stats: list[TaskStats],
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Return the sampled range words of all tasks and how many kept rows each stands for."""
    values: list[int] = []
    weights: list[float] = []
    for task in stats:
        for side in SIDES:
            sample = task.sample[side]
            values.extend(sample)
            weights.extend([task.keeps(side) / len(sample)] * len(sample) if sample else [])
    return np.array(values, np.int64), np.array(weights, np.float64)
