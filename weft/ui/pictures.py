"""Plans as pictures, one shape of JSON data per kind of plan: what the page draws, without a line of its own arithmetic.

Axes are to scale with the rows that the tasks hold, as far as the samples in their reports tell; without samples, cuts are
drawn at equal distances. Words travel as text, because browsers count in doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.planner import area_cells
from weft.routing import (
    AreaPlan,
    AsofPlan,
    BicliquePlan,
    DocumentPlan,
    FastJoinPlan,
    MatrixPlan,
    Plan,
    RangePlan,
    SlicePlan,
    StaPlan,
)
from weft.types import SIDES, WORD_MAX, WORD_MIN, Side
from weft.ui.words import SideWords

__all__ = ["MOST_KEYS", "Scale", "picture"]

MOST_KEYS = 200
"""Moved keys that a picture names; the numbers count all of them."""

Words = NDArray[np.int64]
Named = Callable[[int], str]
"""Writes a routing key."""


@dataclass(frozen=True)
class Scale:
    """Where a word lies among the rows of its side, from 0 to 1."""

    words: Mapping[Side, Words] = field(default_factory=dict)

    @staticmethod
    def of(told: Sequence[Mapping[str, Any]]) -> Scale:
        """Take the samples of all tasks of a batch; one word of a task that holds much counts as much as its share."""
        found: dict[Side, Words] = {}
        for side in SIDES:
            samples = [np.array(one.get("sample", {}).get(side, ()), np.int64) for one in told]
            held = [int(one["held"][side]) for one in told]
            total = max(sum(held), 1)
            parts = [
                np.repeat(sample, max(1, round(256 * rows / total / len(sample))))
                for sample, rows in zip(samples, held, strict=True)
                if len(sample)
            ]
            if parts:
                found[side] = np.sort(np.concatenate(parts))
        return Scale(found)

    def places(self, side: Side | None, edges: Sequence[int]) -> list[float]:
        """Return where ascending edges lie; equal distances where no sample tells, and never on top of each other."""
        if side is None:
            both = [self.words[one] for one in SIDES if one in self.words]
            known = np.sort(np.concatenate(both)) if both else None
        else:
            known = self.words.get(side)
        steps = np.arange(1, len(edges) + 1) / (len(edges) + 1)
        if known is None or not len(known):
            return [round(float(step), 4) for step in steps]
        found = np.searchsorted(known, np.array(edges, np.int64)) / len(known)
        return [round(float(at), 4) for at in found * 0.9 + steps * 0.1]


def picture(plan: Plan, words: Mapping[Side, SideWords], scale: Scale, key_name: Named | None = None) -> dict[str, Any]:
    """Return what is to be drawn of a plan; every kind says what it is in `text` as well."""
    named = key_name or str
    made: dict[str, Any] = {"scheme": plan.scheme, "tasks": plan.tasks, "text": _said(plan), "kind": "plain"}
    if isinstance(plan, FastJoinPlan):
        return made | {"kind": "table", "groups": [_group(plan, group, named) for group in range(plan.groups)]}
    if isinstance(plan, RangePlan):
        return made | {"kind": "ranges", **_ranges(plan, words, scale)}
    if isinstance(plan, AreaPlan):
        return made | {"kind": "areas", **_areas(plan, words, scale)}
    if isinstance(plan, MatrixPlan):
        cells = [
            {"task": row * plan.columns + column,
             "box": [row / plan.rows, column / plan.columns, 1 / plan.rows, 1 / plan.columns]}
            for row in range(plan.rows)
            for column in range(plan.columns)
        ]  # fmt: skip
        whole = {"name": "A", "shape": f"{plan.rows} × {plan.columns}", "box": [0, 0, 1, 1], "cells": cells}
        return made | {"kind": "areas", "axes": ["left rows, by chance", "right rows, by chance"], "areas": [whole]}
    if isinstance(plan, SlicePlan):
        column = words["left"].column(plan.left_time)
        return made | {"kind": "slices", "length": _length(column.type, plan.length), "axis": column.name or "time"}
    if isinstance(plan, BicliquePlan):
        groups = [{"name": f"{side} rows", "cuts": plan.cuts(side).tolist()} for side in SIDES]
        return made | {"kind": "biclique", "groups": groups}
    if isinstance(plan, StaPlan):
        hot = {
            side: [
                words[side].column(plan.left if side == "left" else plan.right).text(key) for key in keys[:MOST_KEYS]
            ]
            for side, keys in zip(SIDES, (plan.left_hot, plan.right_hot), strict=True)
        }
        return made | {"kind": "hot", "cold_tasks": plan.cold_tasks, "hot_tasks": plan.hot_tasks, "keys": hot}
    if isinstance(plan, AsofPlan):
        length = _length(words["left"].column(plan.left_place).type, plan.length) if plan.length else ""
        cut = {"both": [named(key) for key in plan.hot[:MOST_KEYS]]}
        return made | {"kind": "hot", "cold_tasks": plan.tasks, "hot_tasks": 0, "keys": cut, "length": length}
    if isinstance(plan, DocumentPlan):
        return made | {"kind": "documents", **_documents(plan)}
    return made


def _said(plan: Plan) -> str:
    if isinstance(plan, AreaPlan):
        active = len(plan.active)
        return f"{len(plan.areas)} area{'s' if len(plan.areas) != 1 else ''} of the tuple matrix on {active} tasks"
    if isinstance(plan, DocumentPlan):
        rest = "the task that its hash names" if plan.spread else "all tasks"
        return f"{len(plan.pairs):,} attribute-value pairs have tasks of their own; any other pair belongs to {rest}"
    if isinstance(plan, FastJoinPlan) and not any(plan.moved) and not any(plan.split):
        return "each key lives where its hash says; no key has moved"
    return plan.describe()


def _length(kind: str, length: int) -> str:
    if not kind.startswith("timestamp"):
        return f"{length:,}"
    seconds = length / 1e6
    for unit, size in (("h", 3600), ("min", 60), ("s", 1)):
        if seconds >= size:
            return f"{seconds / size:,.4g} {unit}"
    return f"{seconds * 1000:,.4g} ms"


def _group(plan: FastJoinPlan, group: int, named: Named) -> dict[str, Any]:
    members, table = plan.members(group), plan.moved[group] if group < len(plan.moved) else ()
    splits = plan.split[group] if group < len(plan.split) else ()
    keys = np.array([key for key, _ in table], np.int64)
    homes = plan.home(group, keys).tolist() if len(keys) else []
    flows: dict[tuple[int, int], int] = {}
    for home, (_, task) in zip(homes, table, strict=True):
        flows[home, task] = flows.get((home, task), 0) + 1
    split_homes = plan.home(group, np.array([one.key for one in splits], np.int64)).tolist() if splits else []
    return {
        "name": "all tasks" if plan.shared else f"{plan.keeps(group)[0]} rows",
        "start": members.start, "size": members.size, "moved": len(table),
        "flows": [[home, task, count] for (home, task), count in sorted(flows.items())],
        "keys": [
            {"id": str(key), "label": named(key), "home": home, "task": task}
            for home, (key, task) in list(zip(homes, table, strict=True))[:MOST_KEYS]
        ],
        "split": [
            {"id": str(one.key), "label": named(one.key), "home": home, "rows": one.rows, "columns": one.shape.columns,
             "tasks": list(one.tasks)}
            for home, one in zip(split_homes, splits, strict=True)
        ],
    }  # fmt: skip


def _ranges(plan: RangePlan, words: Mapping[Side, SideWords], scale: Scale) -> dict[str, Any]:
    number = int(plan.term[0]) if plan.term else 0
    column = words["left"].column(number)
    return {
        "axis": column.name,
        "cuts": [
            {"at": at, "label": column.text(cut)}
            for at, cut in zip(scale.places(None, plan.bounds), plan.bounds, strict=True)
        ],
    }


def _areas(plan: AreaPlan, words: Mapping[Side, SideWords], scale: Scale) -> dict[str, Any]:
    places: dict[Side, dict[int, float]] = {}
    columns = {side: words[side].column(plan.columns[at]) if plan.columns else None for at, side in enumerate(SIDES)}
    for side in SIDES:
        ends = {edge for area in plan.areas for edge in _edges(area.keys(side))}
        inner = sorted(edge for edge in ends if WORD_MIN < edge <= WORD_MAX)
        places[side] = {WORD_MIN: 0.0, WORD_MAX + 1: 1.0, **dict(zip(inner, scale.places(side, inner), strict=True))}
    drawn = []
    for number, area in enumerate(plan.areas):
        if any(area.keys(side)[0] > area.keys(side)[1] for side in SIDES):
            continue  # covers keys of one stream that nothing can join
        (top, bottom), (start, end) = ([places[side][edge] for edge in _edges(area.keys(side))] for side in SIDES)
        height, width = bottom - top, end - start
        extra = f" and {area.extra} more" if area.extra else ""
        drawn.append({
            "name": _letters(number), "shape": f"{area.rows} × {area.columns}{extra}",
            "keys": [_interval(columns[side], area.keys(side)) for side in SIDES],
            "box": [round(part, 5) for part in (top, start, height, width)],
            "cells": [
                {"task": area.tasks[cell], "box": [round(top + y * height, 5), round(start + x * width, 5),
                                                   round(h * height, 5), round(w * width, 5)]}
                for cell, (y, x, h, w) in enumerate(area_cells(area))
            ],
        })  # fmt: skip
    axes = [
        f"{side} {column.name}" if column is not None else f"{side} rows, by chance" for side, column in columns.items()
    ]
    return {"axes": axes, "areas": drawn}


def _edges(interval: tuple[int, int]) -> tuple[int, int]:
    return interval[0], interval[1] + 1


def _interval(column: Any, interval: tuple[int, int]) -> str:
    low, high = interval
    if column is None or (low, high) == (WORD_MIN, WORD_MAX):
        return "all"
    if low == WORD_MIN:
        return f"up to {column.text(high)}"
    return f"from {column.text(low)}" if high == WORD_MAX else f"{column.text(low)} to {column.text(high)}"


def _letters(number: int) -> str:
    """Name an area: A to Z, then A2, B2, ...

    >>> _letters(0), _letters(27)
    ('A', 'B2')
    """
    turn, letter = divmod(number, 26)
    return chr(65 + letter) + (str(turn + 1) if turn else "")


def _documents(plan: DocumentPlan) -> dict[str, Any]:
    owned = [0] * plan.tasks
    for mask in plan.masks:
        for task in range(plan.tasks):
            owned[task] += mask >> task & 1
    deciding = [name.removeprefix('"').removesuffix('"') for name in plan.names]
    return {
        "owned": owned, "deciding": deciding, "alone": plan.alone, "replication": round(plan.replication, 3),
        "load": round(plan.load, 4),
    }  # fmt: skip
