"""The tuple matrix as a picture: its areas and their tasks, as text for a terminal and as SVG.

Rows and columns are the key intervals that the areas cut out of both streams, in order and not to scale: a plan knows
where keys are cut, not how many tuples lie between two cuts. A dot is a part of the matrix that can have no results.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from itertools import pairwise

from weft.errors import SpecError
from weft.routing import AreaPlan, Plan
from weft.routing.adsp import SPACE, Area, Division
from weft.types import SIDES, WORD_MAX, WORD_MIN, Side

__all__ = ["area_cells", "draw", "draw_svg"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_COLOURS = ("#cfe3f7", "#d9f0d3", "#fde3c8", "#e6d8f0", "#f7d4d9", "#d6efee", "#f3efc5", "#e3e3e3")


def draw(plan: Plan, held: Mapping[int, int] | None = None) -> str:
    """Draw a plan as text; `held` (tuples by task) adds what the tasks hold.

    >>> print(draw(AreaPlan.whole(5)))
    A
    A  all keys x all keys: 2 x 2 on tasks 0 1 2 3; a left row 2 x, a right row 2 x
    4 of 5 tasks in use
    """
    areas = _areas(plan)
    rows, columns = _steps(areas, "left"), _steps(areas, "right")
    lines = []
    for row, _ in pairwise(rows):
        marks = [_letter(areas, row, column) for column, _ in pairwise(columns)]
        lines.append("".join(marks))
    for number, area in enumerate(areas):
        lines.append(f"{_name(number)}  {_keys(area.left)} x {_keys(area.right)}: {_shape(area)} on {_tasks(area, held)}; "
                     f"a left row {area.copies('left'):.3g} x, a right row {area.copies('right'):.3g} x")  # fmt: skip
    used = sum(len(area.tasks) for area in areas)
    lines.append(f"{used} of {plan.tasks} tasks in use" + ("" if held is None else _filled(areas, held)))
    return "\n".join(lines)


def draw_svg(plan: Plan, held: Mapping[int, int] | None = None, size: int = 480) -> str:
    """Draw a plan as SVG: areas in colours, task areas inside them as their rows and columns share the draws."""
    areas = _areas(plan)
    rows, columns = _steps(areas, "left"), _steps(areas, "right")
    down, across = size / max(len(rows) - 1, 1), size / max(len(columns) - 1, 1)
    shapes = []
    for number, area in enumerate(areas):
        if area.left[0] > area.left[1] or area.right[0] > area.right[1]:
            continue  # covers keys of one stream that nothing can join
        top, bottom = (down * rows.index(edge) for edge in (area.left[0], area.left[1] + 1))
        start, end = (across * columns.index(edge) for edge in (area.right[0], area.right[1] + 1))
        colour = _COLOURS[number % len(_COLOURS)]
        for cell, (y, x, height, width) in enumerate(area_cells(area)):
            task = area.tasks[cell]
            title = f"task {task}" + ("" if held is None else f", {held.get(task, 0):,} tuples")
            where = (
                start + x * (end - start),
                top + y * (bottom - top),
                width * (end - start),
                height * (bottom - top),
            )
            shapes.append(_cell(where, colour, title, str(task)))
        shapes.append(
            f'<rect x="{start:.1f}" y="{top:.1f}" width="{end - start:.1f}" height="{bottom - top:.1f}" fill="none" '
            f'stroke="#1d2433" stroke-width="1.5"><title>{html.escape(f"{_name(number)}: {_shape(area)}")}</title></rect>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-24 -24 {size + 32} {size + 32}" width="{size + 32}" '
        f'font-family="system-ui, sans-serif"><rect width="{size}" height="{size}" fill="#fafbfc" stroke="#c5cbd8"/>'
        f'<text x="0" y="-8" font-size="12">right keys →</text>'
        f'<text x="-8" y="0" font-size="12" transform="rotate(90 -12 0)">left keys →</text>'
        + "".join(shapes)
        + "</svg>"
    )


def _areas(plan: Plan) -> tuple[Area, ...]:
    if not isinstance(plan, AreaPlan):
        raise SpecError.of(
            f"A plan of the scheme {plan.scheme!r} has no areas to draw.",
            "Areas are what scheme='adsp' and 'ordered' make.",
            "use explain for other schemes.",
        )
    return plan.areas


def _steps(areas: tuple[Area, ...], side: Side) -> list[int]:
    """Return where intervals begin, and where the last one ends."""
    found = [area.keys(side) for area in areas if area.keys(side)[0] <= area.keys(side)[1]]
    return sorted({WORD_MIN, WORD_MAX + 1, *(low for low, _ in found), *(high + 1 for _, high in found)})


def _letter(areas: tuple[Area, ...], row: int, column: int) -> str:
    for number, area in enumerate(areas):
        if area.left[0] <= row <= area.left[1] and area.right[0] <= column <= area.right[1]:
            return _name(number)
    return "."


def _name(number: int) -> str:
    return _LETTERS[number] if number < len(_LETTERS) else "#"


def _keys(interval: tuple[int, int]) -> str:
    low, high = interval
    if low > high:
        return "no keys"
    if (low, high) == (WORD_MIN, WORD_MAX):
        return "all keys"
    if low == high:
        return f"{low}"
    return f"up to {high}" if low == WORD_MIN else f"from {low}" if high == WORD_MAX else f"{low}..{high}"


def _shape(area: Area) -> str:
    extra = f" and {area.extra} in a shorter {area.along}" if area.extra else ""
    return f"{area.rows} x {area.columns}{extra}"


def _tasks(area: Area, held: Mapping[int, int] | None) -> str:
    names = [str(task) if held is None else f"{task} ({held.get(task, 0):,})" for task in area.tasks]
    return f"task{'s' if len(names) != 1 else ''} {' '.join(names)}"


def _filled(areas: tuple[Area, ...], held: Mapping[int, int]) -> str:
    loads = [held.get(task, 0) for area in areas for task in area.tasks]
    return f", {min(loads):,} to {max(loads):,} tuples each, {sum(loads):,} with copies"


def area_cells(area: Area) -> list[tuple[float, float, float, float]]:
    """Return y, x, height and width of each cell as shares of the area, extra cells last."""
    lines = {side: _lines(area.by_left if side == "left" else area.by_right) for side in SIDES}
    cells = [(*lines["left"][x], *lines["right"][y]) for x in range(area.rows) for y in range(area.columns)]
    found = [(top, start, height, width) for top, height, start, width in cells]
    for extra in range(area.extra):
        if area.along == "column":
            start, width = lines["right"][area.columns]
            found.append((extra / area.extra, start, 1 / area.extra, width))
        else:
            top, height = lines["left"][area.rows]
            found.append((top, extra / area.extra, height, 1 / area.extra))
    return found


def _lines(division: Division) -> dict[int, tuple[float, float]]:
    """Return start and size of each part, drawn as one interval however many pieces it has."""
    sizes = dict.fromkeys(range(max(division.owners) + 1), 0)
    for start, end, owner in division.pieces():
        sizes[owner] += end - start
    found, at = {}, 0
    for owner, size in sizes.items():
        found[owner] = (at / SPACE, size / SPACE)
        at += size
    return found


def _cell(where: tuple[float, float, float, float], colour: str, title: str, label: str) -> str:
    x, y, width, height = where
    text = ""
    if width > 14 and height > 10:
        text = (
            f'<text x="{x + width / 2:.1f}" y="{y + height / 2 + 3.5:.1f}" font-size="10" text-anchor="middle">'
            f"{html.escape(label)}</text>"
        )
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}" stroke="#8a93a6" '
        f'stroke-width="0.5"><title>{html.escape(title)}</title></rect>{text}'
    )
