"""What tasks note and what control makes of it: step 1 of the five (001-31), the volume of both streams by key.

Every task keeps a small histogram of the keys it holds, which is mergeable and of bounded size (001-27): heavy keys keep an entry
of their own, so that a hot key becomes a row of the matrix by itself; light neighbours share one. Weights are tuples held, so
histograms of different tasks and batches simply add up. One grows with what arrives; it is made anew from the state after
a migration and, where a window lets rows go, every few batches. Control divides by the copies that the plan makes, so
that the sum over tasks is the stream. Where areas are to use all tasks, the arrivals of the last batches are noted too, every
tuple counted once whatever copies the plan makes. All of it is bounded: some histograms of some hundred entries a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.routing.adsp.plan import Area, AreaPlan
from weft.routing.scheme import BatchView, Notes, TaskStats
from weft.spec import JoinSpec
from weft.types import SIDES, U32, WORD_MAX, WORD_MIN, Side, Words

__all__ = [
    "LEAST",
    "Flow",
    "Gathered",
    "Histogram",
    "flow_noted",
    "flows",
    "gathered",
    "keys_noted",
    "noted",
    "sampled",
]

SAMPLE = 4096
"""Rows of a batch, or of a state, that a histogram is made from, about."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Ascending distinct keys and the tuples that each stands for: its own, or those of light keys around it too."""

    keys: Words
    weights: NDArray[np.float64]

    @staticmethod
    def of(words: Words, weight: float = 1.0) -> Histogram:
        """Count words, each standing for `weight` tuples."""
        keys, counts = np.unique(words, return_counts=True)
        return Histogram(keys, counts.astype(np.float64) * weight)

    @staticmethod
    def empty() -> Histogram:
        """Return the histogram of nothing."""
        return Histogram(np.zeros(0, np.int64), np.zeros(0))

    @property
    def total(self) -> float:
        """Return the tuples counted."""
        return float(self.weights.sum())

    @staticmethod
    def merged(parts: Sequence[Histogram]) -> Histogram:
        """Add histograms up."""
        if not parts:
            return Histogram.empty()
        keys, where = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
        weights = np.concatenate([part.weights for part in parts])
        return Histogram(keys, np.bincount(where, weights, len(keys)).astype(np.float64))

    def scaled(self, total: float) -> Histogram:
        """Return the same shape with another total; what lost all its tuples has no entries."""
        now = self.total
        return Histogram(self.keys, self.weights * (total / now)) if now > 0 and total > 0 else Histogram.empty()

    def shrunk(self, size: int) -> Histogram:
        """Return at most about `2 * size` entries: a key of at least 1 / size of the tuples alone, its neighbours by groups.

        A group is named by its median key: named by an end, repeated shrinking would drift that way.
        """
        if len(self.keys) <= size:
            return self
        group = self.groups(size)
        weights = np.bincount(group, self.weights).astype(np.float64)
        half = np.cumsum(weights) - weights / 2
        median = np.searchsorted(np.cumsum(self.weights) * (1 + 1e-12), half)
        first = np.searchsorted(group, np.arange(len(weights)))
        last = np.searchsorted(group, np.arange(len(weights)), side="right") - 1
        return Histogram(self.keys[np.clip(median, first, last)], weights)

    def groups(self, size: int) -> NDArray[np.int64]:
        """Number each entry's group: groups are runs of neighbours of about 1 / size of the tuples; heavy keys are alone."""
        if not len(self.keys):
            return np.zeros(0, np.int64)
        share = self.total / size
        heavy = self.weights >= share
        light = np.cumsum(np.where(heavy, 0.0, self.weights)) - np.where(heavy, 0.0, self.weights) / 2
        band = np.floor(light / share * (1 - 1e-12)).astype(np.int64)
        new = np.empty(len(self.keys), np.bool_)
        new[0] = True
        new[1:] = (band[1:] != band[:-1]) | heavy[1:] | heavy[:-1]
        return np.cumsum(new) - 1

    def mass(self, least: int, most: int) -> float:
        """Return the tuples with keys in `least..most`."""
        first, last = np.searchsorted(self.keys, least), np.searchsorted(self.keys, most, side="right")
        return float(self.weights[first:last].sum())

    def cuts(self, size: int, *, gaps: bool = False) -> Words:
        """Return where groups begin, after the first: a cut belongs to what is right of it.

        With `gaps` a heavy key is cut off from the unseen keys above it, so that it reaches no further than it does.
        """
        group = self.groups(size)
        if not len(group):
            return np.zeros(0, np.int64)
        ends = np.flatnonzero(np.diff(group))
        heavy = self.weights >= self.total / size
        last, following = self.keys[ends], self.keys[ends + 1]
        middle = (
            last
            + 1
            + ((following.view(np.uint64) - last.view(np.uint64) - np.uint64(1)) >> np.uint64(1)).view(np.int64)
        )
        # An entry stands for keys around it, so light groups part midway; a heavy key stands for itself.
        begins = np.where(heavy[ends + 1], following, np.where(heavy[ends], last + 1, middle))
        tails = self.keys[np.flatnonzero(heavy)] if gaps else self.keys[:0]
        tails = tails[tails < WORD_MAX] + 1
        cuts = np.unique(np.concatenate([begins, tails]))
        return cuts[cuts > WORD_MIN]

    def to_json(self) -> list[list[float]]:
        """Return keys and weights as JSON data."""
        return [[int(key) for key in self.keys], [float(weight) for weight in self.weights]]

    @staticmethod
    def of_json(data: Sequence[Sequence[float]]) -> Histogram:
        """Read them back; keys are whole numbers in JSON and stay so."""
        return Histogram(np.array(data[0], np.int64), np.array(data[1], np.float64))


def sampled(draws: U32) -> NDArray[np.int64]:
    """Choose about SAMPLE rows by the low bits of their draws: the high ones have chosen the row of the matrix already."""
    if len(draws) <= SAMPLE:
        return np.arange(len(draws))
    return np.flatnonzero(draws * np.uint32(2654435761) < np.uint32((SAMPLE << 32) // len(draws)))


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
