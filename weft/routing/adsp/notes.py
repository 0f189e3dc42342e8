"""What tasks note and what control makes of it: step 1 of the five (001-31), the volume of both streams by key.

Every task keeps a small histogram of the keys it holds. It grows with what arrives; it is made anew from the state after
a migration and, where a window lets rows go, every few batches. Control divides by the copies that the plan makes, so
that the sum over tasks is the stream. Where areas are to use all tasks, the arrivals of the last batches are noted too, every
tuple counted once whatever copies the plan makes. All of it is bounded: some histograms of some hundred entries a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.routing.adsp.histogram import Histogram, sampled
from weft.routing.adsp.plan import Area, AreaPlan
from weft.routing.scheme import BatchView, Notes, TaskStats
from weft.spec import JoinSpec
from weft.types import SIDES, U32, Side, Words

__all__ = ["LEAST", "Flow", "Gathered", "flow_noted", "flows", "gathered", "keys_noted", "noted"]

LEAST = 32
"""Histogram entries of a task among very many."""

REFRESH = 8
"""Batches after which a task looks at its whole state again, where rows expire."""

FLOW_DEPTH = 4
"""Batches that are noted: statistics reach a plan two batches later, and it stays in force for some."""

FLOW_ENTRIES, FLOW_LEAST = 512, 16
"""Histogram entries of one batch and side that the tasks share, and what each of very many has."""

Flow = tuple[Histogram, Histogram]
"""Both streams' arrivals of one batch by key."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """Both streams by key, the tuples that each active task holds, and for how many batches the plan has been in force."""

    left: Histogram
    right: Histogram
    held: dict[int, int]
    age: int
    flow: tuple[Flow, ...] = ()
    """Arrivals of the last batches, the newest first, where they are noted."""

    @property
    def fullest(self) -> int:
        """Return the most that a task holds."""
        return max(self.held.values())

    @property
    def mean(self) -> float:
        """Return what an active task holds on average."""
        return sum(self.held.values()) / len(self.held)

    def mass(self, side: Side, least: int, most: int) -> float:
        """Return the tuples of a side with keys in an interval."""
        return (self.left if side == "left" else self.right).mass(least, most)


def noted(spec: JoinSpec, view: BatchView, before: Notes, entries: int, *, lately: bool = False) -> Notes:
    """Return the notes of one task: the epoch of its plan, batches since, and the histograms of an ordered matrix.

    The active tasks share about `entries` histogram entries a side between them. With `lately` the arrivals of the last
    batches are noted as well (`flow`).
    """
    plan = view.plan
    if not isinstance(plan, AreaPlan):
        return {}
    columns = plan.columns if view.task in plan.active else ()
    notes = keys_noted(spec, view, before, plan.epoch, columns, max(LEAST, entries // len(plan.active)))
    return {**notes, "flow": flow_noted(view, before, plan.columns)} if lately and plan.columns else notes


def keys_noted(
    spec: JoinSpec, view: BatchView, before: Notes, epoch: int, columns: tuple[int, ...], size: int
) -> Notes:
    """Return epoch, age and, for word columns (left, right), histograms of what is held of about `size` entries each."""
    same = before.get("epoch") == epoch
    age = before.get("age", 0) + 1 if same else 1
    notes: Notes = {"epoch": epoch, "age": age}
    if not columns:
        return notes
    same = same and isinstance(before.get("keys"), dict)  # not the notes of another scheme
    keys = {}
    for side, column in zip(SIDES, columns, strict=True):
        if not same or (spec.expiry(side) is not None and age % REFRESH == 0):
            words, draws = view.held(side)
            parts = [_counted(words[column], draws)]
        else:
            parts = [Histogram.of_json(before["keys"][side]), _counted(view.stored[side][column], view.draws[side])]
        keys[side] = Histogram.merged(parts).shrunk(size).to_json()
    return {**notes, "keys": keys}


def _counted(words: Words, draws: U32) -> Histogram:
    rows = sampled(draws)
    return Histogram.of(words[rows], len(words) / max(len(rows), 1))


def gathered(plan: AreaPlan, stats: Sequence[TaskStats]) -> Gathered | None:
    """Add up the notes of all tasks; None when they tell of another plan or of nothing."""
    if any(one.notes.get("epoch") != plan.epoch or "age" not in one.notes for one in stats):
        return None
    if plan.columns and not all(isinstance(stats[task].notes.get("keys"), dict) for task in plan.active):
        return None
    held: dict[int, int] = {}
    sides: dict[Side, list[Histogram]] = {"left": [], "right": []}
    for area in plan.areas:
        for cell, task in enumerate(area.tasks):
            held[task] = sum(stats[task].keeps(side) for side in SIDES)
            for side in SIDES:
                tuples = stats[task].keeps(side) / _copies(area, cell, side)
                keys = stats[task].notes["keys"][side] if plan.columns else ((0,), (1.0,))
                known = Histogram.of_json(keys)
                sides[side].append(known.scaled(tuples))
    left, right = (_once(plan, side, Histogram.merged(sides[side])) for side in SIDES)
    if left.total + right.total <= 0:
        return None
    return Gathered(left, right, held, min(one.notes["age"] for one in stats), flows(stats))


def _copies(area: Area, cell: int, side: Side) -> int:
    """Return how many cells of the area hold what this one holds."""
    regular = area.columns if side == "left" else area.rows
    if not area.extra:
        return regular
    primary: Side = "left" if area.along == "column" else "right"
    if side == primary:
        return regular + 1
    return regular if cell < area.rows * area.columns else area.extra


def _once(plan: AreaPlan, side: Side, keys: Histogram) -> Histogram:
    """Divide by the number of areas that take a key: rows and columns may be shared, cells not."""
    if not plan.columns:
        return keys
    areas = np.zeros(len(keys.keys))
    for area in plan.areas:
        least, most = area.keys(side)
        areas += (keys.keys >= least) & (keys.keys <= most)
    return Histogram(keys.keys, keys.weights / np.maximum(areas, 1))


def flow_noted(view: BatchView, before: Notes, columns: tuple[int, ...]) -> list[list[list[list[float]]]]:
    """Return the arrivals of the last batches as JSON data, the newest first; a task's share of copies is divided out."""
    newest = []
    for side, column in zip(SIDES, columns, strict=True):
        rows = sampled(view.draws[side])
        words, draws = view.stored[side][:, rows], view.draws[side][rows]
        copies = view.plan.store(side, words, draws).sum(axis=0)
        stand_for = len(view.draws[side]) / max(len(rows), 1)
        keys, where = np.unique(words[column], return_inverse=True)
        weights = np.bincount(where, stand_for / np.maximum(copies, 1), len(keys)).astype(np.float64)
        newest.append(Histogram(keys, weights).shrunk(max(FLOW_LEAST, FLOW_ENTRIES // view.plan.tasks)).to_json())
    older = before.get("flow", [])
    return [newest, *(older if isinstance(older, list) else [])][:FLOW_DEPTH]


def flows(stats: Sequence[TaskStats]) -> tuple[Flow, ...]:
    """Add up the tasks' notes batch by batch, the newest first."""
    noted = [one.notes["flow"] for one in stats if isinstance(one.notes.get("flow"), list)]
    depth = max((len(one) for one in noted), default=0)
    found = []
    for at in range(depth):
        parts = [one[at] for one in noted if at < len(one)]
        left, right = (Histogram.merged([Histogram.of_json(part[side]) for part in parts]) for side in (0, 1))
        found.append((left, right))
    return tuple(found)
