"""Algorithm 4: which task takes which cell of the new scheme, so that little has to move.

λ of an old and a new cell is the volume of both streams that they share (001-32). The paper pairs cells greedily by
falling λ and calls the result minimal; it is not always (001-34), so the optimal assignment is there as an option.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.routing.adsp.plan import Area, overlaps
from weft.types import SIDES, Side

__all__ = ["Mass", "Pairing", "assign", "cells_kept", "greedy_pairs", "optimal_pairs"]

Mass: TypeAlias = Callable[[Side, int, int], float]
"""The tuples of a side with keys from .. to (inclusive)."""

Pairing: TypeAlias = Literal["greedy", "optimal"]


def cells_kept(old: Sequence[Area], new: Sequence[Area], mass: Mass) -> NDArray[np.float64]:
    """Return λ of every old cell (down) and every new cell (across), areas after areas."""
    rows = []
    for one in old:
        row = []
        for two in new:
            shared = np.zeros((len(one.tasks), len(two.tasks)))
            for side in SIDES:
                least, most = max(one.keys(side)[0], two.keys(side)[0]), min(one.keys(side)[1], two.keys(side)[1])
                volume = mass(side, least, most) if least <= most else 0.0
                if volume > 0:
                    a, b = one.atoms(side), two.atoms(side)
                    shared += volume * (a.hold.astype(float) @ overlaps(a.starts, b.starts) @ b.hold.T.astype(float))
            row.append(shared)
        rows.append(np.concatenate(row, axis=1))
    return np.concatenate(rows)


def greedy_pairs(kept: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Alg. 4 lines 6 to 10: take pairs by falling λ, each cell once; equal ones in the order of the cells (001-33)."""
    order = np.argsort(-kept, axis=None, kind="stable")
    free_old, free_new = np.ones(kept.shape[0], np.bool_), np.ones(kept.shape[1], np.bool_)
    pairs: list[tuple[int, int]] = []
    for old, new in zip(*np.unravel_index(order, kept.shape), strict=True):
        if free_old[old] and free_new[new]:
            free_old[old] = free_new[new] = False
            pairs.append((int(old), int(new)))
            if len(pairs) == min(kept.shape):
                break
    return sorted(pairs)


def optimal_pairs(kept: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the 1:1 pairing that keeps the most: the Hungarian method by shortest augmenting paths, O(n^2 m)."""
    if kept.shape[0] > kept.shape[1]:
        return sorted((old, new) for new, old in optimal_pairs(kept.T))
    count, across = kept.shape
    cost = -kept
    price_row, price_column = np.zeros(count), np.zeros(across + 1)
    owner = np.full(across + 1, -1)  # the row that has each column; the last column stands for "none yet"
    for row in range(count):
        owner[across] = row
        column = across
        slack, came = np.full(across + 1, np.inf), np.full(across + 1, across)
        done = np.zeros(across + 1, np.bool_)
        while owner[column] >= 0:
            done[column] = True
            here = owner[column]
            reduced = cost[here] - price_row[here] - price_column[:across]
            better = ~done[:across] & (reduced < slack[:across])
            slack[:across][better] = reduced[better]
            came[:across][better] = column
            nearest = int(np.where(done[:across], np.inf, slack[:across]).argmin())
            step = slack[nearest]
            price_row[owner[done]] += step
            price_column[done] -= step
            slack[:across][~done[:across]] -= step
            column = nearest
        while column != across:  # turn the path around
            owner[column] = owner[came[column]]
            column = int(came[column])
    return sorted((int(owner[column]), column) for column in range(across) if owner[column] >= 0)


def assign(
    old: Sequence[Area], new: Sequence[Area], mass: Mass, tasks: int, pairing: Pairing = "greedy"
) -> tuple[Area, ...]:
    """Give the cells of `new` tasks out of `tasks`: those of the old cells they are paired with, then free ones."""
    kept = cells_kept(old, new, mass)
    pairs = greedy_pairs(kept) if pairing == "greedy" else optimal_pairs(kept)
    before = [task for area in old for task in area.tasks]
    given: dict[int, int] = {cell: before[held] for held, cell in pairs}
    taken = set(given.values())
    free = iter(task for task in [*range(tasks)] if task not in taken)
    cells = [given[cell] if cell in given else next(free) for cell in range(kept.shape[1])]
    areas, start = [], 0
    for area in new:
        areas.append(replace(area, tasks=tuple(cells[start : start + len(area.tasks)])))
        start += len(area.tasks)
    return tuple(areas)
