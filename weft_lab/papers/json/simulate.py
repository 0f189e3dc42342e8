"""The paper's topology, window by window: creators, merger, assigners; the joiners only count what reaches them.

Window 0 makes the first partitions. Every later window is assigned by them in quarters; behind each quarter pairs that came
delta times are added (004-24). At a window's end the assigners compare its averages with what the merger published; if one
grew by more than theta, the next window's documents go to the creators and the window after it runs with new partitions (004-26).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from weft.documents import Coded, DocumentReader
from weft.routing.documents import (
    Association,
    DocumentPlan,
    DocumentScheme,
    Quality,
    gini,
    note_documents,
    noted_of,
    tasks_of,
    worse,
)
from weft_lab.schemes import Disjoint, SetCover
from weft_lab.workloads import ideal_windows, log_windows, nobench

__all__ = ["SHORT", "Run", "run"]

SHORT: dict[str, type[DocumentScheme]] = {"AG": Association, "SC": SetCover, "DS": Disjoint}
_CREATORS, _WINDOWS, _BASE = 6, 7, 1_000


@dataclass(frozen=True)
class Run:
    """Averages over the windows that were assigned by partitions."""

    replication: float
    gini: float
    max_load: float
    repartitions: float
    """Share of windows in which partitions were made anew."""


@lru_cache(maxsize=64)
def _windows(data: str, minutes: int, scale: float) -> tuple[Coded, ...]:
    size = max(60, int(_BASE * scale * minutes / 3))
    arrays: Sequence[pa.Array]
    if data == "rwData":
        arrays = log_windows(_WINDOWS, size)
    elif data == "ideal":
        arrays = ideal_windows(_WINDOWS, size, added=max(1, size // 100))
    else:
        arrays = [nobench(size, start=window * size, unseen=0.1) for window in range(_WINDOWS)]
    reader = DocumentReader(arrays="sets")
    return tuple(reader.read(array).coded for array in arrays)


@lru_cache(maxsize=1024)
def run(data: str, approach: str, m: int, minutes: int, theta: float, scale: float) -> Run:
    """Run one setting; AG expands attributes on NoBench only, DS everywhere, as in the paper (004-37)."""
    expand = data == "nbData" or approach == "DS"
    scheme = SHORT[approach](theta=theta, delta=3, expand=expand, worth=0.0)
    windows = _windows(data, minutes, scale)
    plan = scheme.create(_samples(windows[0]), m)
    loads, replications, maxima, ginis, repartitions, pending = (
        [],
        list[float](),
        list[float](),
        list[float](),
        0,
        False,
    )
    for window in windows[1:]:
        notes: list[dict[str, object]] = [{} for _ in range(m)]
        counts, sent = np.zeros(m, np.int64), 0
        used = plan
        for quarter in np.array_split(np.arange(len(window)), 4):
            part = window.take(quarter)
            reached = tasks_of(used.route(part.offsets, part.attrs, part.pairs)[0], m)
            counts += reached.sum(axis=1)
            sent += int(reached.sum())
            notes = _noted(used, part, reached, notes)
            used, _ = scheme.update(used, [noted_of(note) for note in notes])
        now = Quality(sent / len(window), float(counts.max()) / len(window))
        loads.append(counts)
        replications.append(now.replication)
        maxima.append(now.load)
        ginis.append(gini(counts.tolist()))
        if pending:  # this window was the creators' sample
            plan, pending = scheme.create(_samples(window), m), False
            repartitions += 1
        else:
            plan = used
            pending = worse(now, plan, theta)
    return Run(_mean(replications), _mean(ginis), _mean(maxima), repartitions / len(replications))


def _samples(window: Coded) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    parts = [window.take(np.arange(first, len(window), _CREATORS)) for first in range(_CREATORS)]
    return [(part.offsets, part.attrs, part.pairs) for part in parts if len(part)]


def _noted(
    plan: DocumentPlan, part: Coded, reached: np.ndarray, before: list[dict[str, object]]
) -> list[dict[str, object]]:
    bits, u = plan.route(part.offsets, part.attrs, part.pairs)[0], np.arange(len(part), dtype=np.uint32) * 2_654_435
    notes = []
    for task in range(plan.tasks):
        rows = np.flatnonzero(reached[task])
        held = part.take(rows)
        documents = (held.offsets, held.attrs, held.pairs)
        notes.append(note_documents(plan, task, documents, bits[:, rows], u[rows], before[task]))
    return notes


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else 0.0
