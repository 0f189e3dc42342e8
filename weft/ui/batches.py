"""One batch of a query as its tasks told it, in columns of numbers: what all pages are drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.observe import Migration
from weft.routing.documents import document_measures, gini
from weft.routing.fastjoin import load_imbalance
from weft.types import SIDES, WORD_MIN, Side

__all__ = ["MEASURES", "Batch", "Imbalance", "batch_of", "imbalances"]

Counts = NDArray[np.int64]

MEASURES = ("kept", "asked", "pairs", "milliseconds")
"""What the load of a task can be: rows it keeps, rows that asked it, pairs it found, time it took."""
_PARTS = ("load", "watch", "control", "state", "build", "pairs")


@dataclass(frozen=True)
class Imbalance:
    """The four definitions of the papers, of one batch; each is larger where the load is less even."""

    most_to_mean: float
    """Rows of the fullest task over the mean (A-DSP)."""
    most_less_mean: float
    """Rows of the fullest task less the mean, as a share of all rows (STA)."""
    heaviest_to_lightest: float | None
    """Rows kept x rows that asked, greatest over least (FastJoin); None where a task is idle."""
    gini: float
    """0 if all tasks have the same, near 1 if one has everything (natural joins)."""


def imbalances(kept: Counts, asked: Counts) -> Imbalance:
    """Measure how uneven the tasks of a batch are loaded.

    >>> imbalances(np.array([30, 10]), np.array([2, 2]))
    Imbalance(most_to_mean=1.5, most_less_mean=0.25, heaviest_to_lightest=3.0, gini=0.25)
    """
    total, tasks = int(kept.sum()), max(len(kept), 1)
    most = int(kept.max(initial=0))
    ratio = load_imbalance(kept.astype(np.float64) * asked)
    return Imbalance(
        most * tasks / total if total else 1.0,
        (most - total / tasks) / total if total else 0.0,
        None if ratio == inf else ratio,
        gini(kept.tolist()),
    )


@dataclass(frozen=True)
class Batch:
    """A finished batch: sums over its tasks, and what each of them had."""

    number: int
    at: float
    """When its first task finished, in seconds since the epoch; 0 where the file system does not say."""
    rows: dict[Side, int]
    held: dict[Side, int]
    late: dict[Side, int]
    pairs: int
    seconds: dict[str, float]
    """Of the slowest task, by what it did."""
    load: dict[str, Counts]
    """By measure, a number per task."""
    held_left: Counts
    """Rows of the left side that each task keeps; the rest of `kept` are right ones."""
    routed: int = 0
    routed_bytes: int = 0
    refused: int = 0
    migration: Migration | None = None
    moving: str = ""
    newest: dict[Side, int] | None = None
    documents: dict[str, Any] | None = None

    @property
    def tasks(self) -> int:
        """Return the number of tasks."""
        return len(self.held_left)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as JSON data."""
        uneven = imbalances(self.load["kept"], self.load["asked"])
        return {
            "batch": self.number, "at": round(self.at * 1000), "rows": [self.rows[side] for side in SIDES],
            "held": [self.held[side] for side in SIDES], "late": [self.late[side] for side in SIDES],
            "pairs": self.pairs, "tasks": self.tasks, "routed": self.routed, "routed_bytes": self.routed_bytes,
            "refused": self.refused, "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "imbalance": {
                "most_to_mean": round(uneven.most_to_mean, 4), "most_less_mean": round(uneven.most_less_mean, 4),
                "gini": round(uneven.gini, 4),
                "heaviest_to_lightest": None if uneven.heaviest_to_lightest is None else round(uneven.heaviest_to_lightest, 3),
            },
            "migration": None if self.migration is None else self.migration.to_json(),
            "moving": self.moving, "documents": self.documents,
            "newest": None if self.newest is None else [
                self.newest[side] if self.newest[side] > WORD_MIN else None for side in SIDES
            ],
        }  # fmt: skip

    def loads(self) -> dict[str, Any]:
        """Return what each task had, as JSON data."""
        return {"batch": self.number, **{name: self.load[name].tolist() for name in MEASURES}}


def batch_of(
    number: int, at: float, told: Mapping[int, dict[str, Any]], newest: dict[Side, int] | None = None
) -> Batch:  # fmt: skip
    """Add up what the tasks of a batch told; raise KeyError, TypeError or ValueError for what is no report."""
    tasks, found = max(told) + 1, list(told.values())
    held: dict[Side, Counts] = {side: _column(told, tasks, lambda one, side=side: one["held"][side]) for side in SIDES}
    seconds = {
        part: max(float(one["seconds"].get(part, 0.0)) for one in found)
        for part in _PARTS
        if any(part in one["seconds"] for one in found)
    }
    load = {
        "kept": held["left"] + held["right"],
        "asked": _column(told, tasks, lambda one: one.get("asked", 0)),
        "pairs": _column(told, tasks, lambda one: one["pairs"]),
        "milliseconds": _column(told, tasks, lambda one: round(1000 * _whole(one["seconds"]))),
    }
    return Batch(
        number=number,
        at=at,
        rows=_summed(found, "arrived"),
        held={side: int(held[side].sum()) for side in SIDES},
        late=_summed(found, "late"),
        pairs=int(load["pairs"].sum()),
        seconds=seconds,
        load=load,
        held_left=held["left"],
        routed=sum(int(one.get("routed", 0)) for one in found),
        routed_bytes=sum(int(one.get("routed_bytes", 0)) for one in found),
        refused=sum(int(one.get("refused", 0)) for one in found),
        migration=Migration.of_tasks(found),
        moving=next((str(one["moving"]) for one in found if one.get("moving")), ""),
        newest=newest,
        documents=document_measures(found) if any("documents" in one.get("notes", {}) for one in found) else None,
    )


def _whole(seconds: Mapping[str, Any]) -> float:
    return float(seconds.get("state", 0.0)) + float(seconds.get("pairs", 0.0))


def _column(told: Mapping[int, dict[str, Any]], tasks: int, of: Any) -> Counts:
    made = np.zeros(tasks, np.int64)
    for task, one in told.items():
        made[task] = int(of(one))
    return made


def _summed(found: Sequence[dict[str, Any]], name: str) -> dict[Side, int]:
    return {side: sum(int(one[name][side]) for one in found) for side in SIDES}
