"""Whether keys move faster than areas can follow: what arrived lately, and how an older layout would bear it.

Control acts two batches late. Where the hot keys of now are elsewhere by then, every area was cut for keys that are gone, and
the area that the new ones fall into takes them all. One matrix over all keys, 2-DSP, minds no key. So tasks note what
arrived in each of the last batches, every tuple counted once whatever copies the plan makes, and the areas made for the oldest
of them are held against the newest: if a task of those gets more than one of the plain matrix, the matrix it is (our own;
the paper does not ask how long a scheme will last).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from weft.routing.adsp.area import EVERY
from weft.routing.adsp.generate import Layout
from weft.routing.adsp.histogram import Histogram, sampled
from weft.routing.adsp.varietal import Varietal
from weft.routing.matrix import best_shape
from weft.routing.scheme import Notes, TaskStats, TaskView
from weft.types import SIDES

__all__ = ["Flow", "flow_noted", "flows", "lasting", "plain"]

DEPTH = 4
"""Batches that are noted: statistics reach a plan two batches later, and it stays in force for some."""

ENTRIES, LEAST = 512, 16
"""Histogram entries of one batch and side that the tasks share, and what each of very many has."""

Flow = tuple[Histogram, Histogram]
"""Both streams' arrivals of one batch by key."""


def flow_noted(view: TaskView, before: Notes, columns: tuple[int, ...]) -> list[list[list[list[float]]]]:
    """Return the arrivals of the last batches as JSON data, the newest first; a task's share of copies is divided out."""
    newest = []
    for side, column in zip(SIDES, columns, strict=True):
        rows = sampled(view.draws[side])
        words, draws = view.stored[side][:, rows], view.draws[side][rows]
        copies = view.plan.store(side, words, draws).sum(axis=0)
        stand_for = len(view.draws[side]) / max(len(rows), 1)
        keys, where = np.unique(words[column], return_inverse=True)
        weights = np.bincount(where, stand_for / np.maximum(copies, 1), len(keys)).astype(np.float64)
        newest.append(Histogram(keys, weights).shrunk(max(LEAST, ENTRIES // view.plan.tasks)).to_json())
    older = before.get("flow", [])
    return [newest, *(older if isinstance(older, list) else [])][:DEPTH]


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


def plain(left: float, right: float, tasks: int) -> Layout:
    """Return the layout of one area over all keys."""
    shape = Varietal(*best_shape(tasks, max(left, 1.0), max(right, 1.0)))
    return Layout((EVERY,), (EVERY,), ((left, right),), (shape,))


def lasting(found: Sequence[Flow], tasks: int, areas: Callable[[Flow], Layout]) -> bool:
    """Tell whether areas made for the oldest batch noted still serve the newest better than the plain matrix would."""
    if len(found) < 2:
        return True
    newest, oldest = found[0], found[-1]
    if min(side.total for side in (*newest, *oldest)) <= 0:
        return True
    return borne(areas(oldest), newest) <= plain(newest[0].total, newest[1].total, tasks).fullest


def borne(layout: Layout, flow: Flow) -> float:
    """Return what the busiest task of a layout would get of these arrivals."""
    left, right = flow
    return max(
        max(shape.loads(left.mass(*rows), right.mass(*columns)))
        for shape, rows, columns in zip(layout.shapes, layout.left, layout.right, strict=True)
    )
