"""Areas one after another along a staircase, by dynamic programming: the search of `weft.routing.adsp.chain`.

A corner is where the rest of the matrix may begin: row `i` with its first result column (corner `i`), or column `j` with
its first result row (corner `rows + j`). Every cut leads from a corner to one further down and right.
"""

from __future__ import annotations

import numpy as np

from weft.kernels.jit import kernel

__all__ = ["area_shape", "area_task_counts", "area_tasks", "chain_cuts"]


@kernel
def area_shape(primary: float, secondary: float, parts: float, memory: float) -> tuple[float, float, float, float]:
    """Cut an area by Algorithm 1 with the primary stream in so many parts; what it means is told in `weft.routing.adsp.varietal`.

    Return the parts, the full lines of the secondary stream, the extra cells, and what of it stands on them; no parts where a
    line has no room for it. Quotients within 1e-9 of an integer are that integer: 7 / 3.5 must not need three lines.
    """
    close = 1e-9
    if parts < 1 or memory - primary / parts <= close * memory:
        return 0.0, 0.0, 0.0, 0.0
    room = memory - primary / parts
    full = np.floor(secondary / room * (1 + close))
    remaining = secondary - full * room
    if remaining <= close * secondary:
        return parts, full, 0.0, 0.0
    extra = np.ceil(primary / (memory - remaining) * (1 - close))
    if full == 0:  # all tasks are "additional": a matrix of one line
        return extra, 1.0, 0.0, 0.0
    if extra >= parts:  # a full line after all
        return parts, full + 1, 0.0, 0.0
    return parts, full, extra, remaining


@kernel
def area_tasks(left: float, right: float, memory: float) -> int:
    """Count the tasks of an area by Algorithm 1: the best of its four candidates."""
    close = 1e-9
    if left <= 0 or right <= 0:
        return int(max(1.0, np.ceil(left / memory * (1 - close))) * max(1.0, np.ceil(right / memory * (1 - close))))
    best = np.inf
    for turn in range(2):
        primary = left if turn == 0 else right
        secondary = right if turn == 0 else left
        halves = 2 * primary / memory
        for rounding in range(2):
            wanted = np.ceil(halves * (1 - close)) if rounding == 0 else np.floor(halves * (1 + close))
            parts, lines, extra, _ = area_shape(primary, secondary, wanted, memory)
            if parts > 0:
                best = min(best, parts * lines + extra)
    return int(best)


@kernel
def area_task_counts(left: np.ndarray, right: np.ndarray, memory: float) -> np.ndarray:
    """Count the tasks of many areas."""
    counts = np.empty(len(left), np.int64)
    for area in range(len(left)):
        counts[area] = area_tasks(left[area], right[area], memory)
    return counts


@kernel
def chain_cuts(
    left: np.ndarray, right: np.ndarray, begin: np.ndarray, end: np.ndarray, first_row: np.ndarray,
    after_row: np.ndarray, memory: float,
) -> tuple[int, np.ndarray]:  # fmt: skip
    """Return the fewest tasks and the areas (first row, row after, first column, column after) of the best chain.

    `left` and `right` are volumes summed from the start; `begin`, `end`, `first_row`, `after_row` describe the staircase.
    """
    rows, columns = len(left) - 1, len(right) - 1
    corners = rows + columns
    row_of, column_of = np.empty(corners, np.int64), np.empty(corners, np.int64)
    for i in range(rows):
        row_of[i], column_of[i] = i, min(begin[i], columns)
    for j in range(columns):
        row_of[rows + j], column_of[rows + j] = min(first_row[j], rows), j
    row_of[0], column_of[0] = 0, 0
    order = np.argsort(-(row_of + column_of))
    tasks = np.empty(corners, np.int64)
    following = np.full(corners, -1, np.int64)
    until_row, until_column = np.full(corners, rows, np.int64), np.full(corners, columns, np.int64)
    for corner in order:
        r0, c0 = row_of[corner], column_of[corner]
        best = area_tasks(left[rows] - left[r0], right[columns] - right[c0], memory)
        for i in range(r0 + 1, rows):
            if column_of[i] < c0:
                continue
            stop = max(min(max(end[i - 1], c0), columns), column_of[i])
            here = area_tasks(left[i] - left[r0], right[stop] - right[c0], memory)
            if here + tasks[i] < best:
                best = here + tasks[i]
                following[corner], until_row[corner], until_column[corner] = i, i, stop
            if here >= best:  # the part only grows from here on
                break
        for j in range(c0 + 1, columns):
            if row_of[rows + j] < r0:
                continue
            stop = max(min(max(after_row[j], r0), rows), row_of[rows + j])
            here = area_tasks(left[stop] - left[r0], right[j] - right[c0], memory)
            if here + tasks[rows + j] < best:
                best = here + tasks[rows + j]
                following[corner], until_row[corner], until_column[corner] = rows + j, stop, j
            if here >= best:
                break
        tasks[corner] = best
    areas = np.empty((corners + 1, 4), np.int64)
    count, corner = 0, 0
    while corner >= 0:
        areas[count] = row_of[corner], until_row[corner], column_of[corner], until_column[corner]
        count += 1
        corner = following[corner]
    return tasks[0], areas[:count]
