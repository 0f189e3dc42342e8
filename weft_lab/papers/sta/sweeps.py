"""Figs. 11-22: insertion throughput and latency over input rate, number of tasks and window (000-43, 000-55..000-62).

The taxi figures share their runs: insertion throughput (11-13) and latency (14-16) are two sides of one measurement. Trips
and readings are recorded ones where WEFT_DATA names a folder of them, else they are generated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from weft_lab.papers.figure import Figure
from weft_lab.papers.sta.sized import Measured, Setting, measure
from weft_lab.workloads import readings, recorded_readings, recorded_trips, trips

__all__ = ["SWEEPS"]

PAPER = (
    "000-43",
    "000-48",
    "000-49",
    "000-50",
    "000-55",
    "000-56",
    "000-57",
    "000-58",
    "000-59",
    "000-60",
    "000-61",
    "000-62",
)
SYSTEMS = ("BCHJ", "SJ", "CI", "MCI", "PIM", "STA", "STA exact")
BATCHES = 6
_AXES: dict[str, tuple[str, tuple[float, ...]]] = {
    "rate": ("ms between tuples", (2, 6, 10)),
    "tasks": ("tasks", (10, 30, 50)),
    "window": ("window, s", (10, 30, 50)),
}
_QUERIES = {"taxi": "a.fare > b.fare", "v": "l.v > r.v", "i": "l.i < r.i"}

WHY = (
    "Here a checkpoint is a migration over all tasks and counts as insertion, as does the sketch; no tuple waits for a network, "
    "which is most of the paper's latency; and with some ten rows per task and batch each task's fixed cost outweighs its rows."
)


@lru_cache(maxsize=512)
def _run(data: str, system: str, setting: Setting, scale: float) -> Measured:
    rng = np.random.default_rng(11)
    rows = max(2, round(BATCHES * min(scale, 4.0))) * setting.batch
    if data == "taxi":
        stream = recorded_trips(rows, every=setting.every) or trips(rng, rows, every=setting.every)
        return measure(system, setting, stream, None, _QUERIES[data])
    both = recorded_readings(rows, every=setting.every)
    left, right = both or (readings(rng, rows, every=setting.every) for _ in range(2))
    return measure(system, setting, left, right, _QUERIES[data])


@lru_cache(maxsize=64)
def _warmed(data: str, system: str) -> None:
    """Run each system once beforehand: the first call of a kernel compiles."""
    _run(data, system, Setting(rate=10, tasks=4, window=10), 0.5)


def _swept(data: str, axis: str, value: float, system: str, scale: float) -> Measured:
    _warmed(data, system)
    changed = {axis: int(value) if axis == "tasks" else float(value)}
    return _run(data, system, replace(Setting(), **changed), scale)  # type: ignore[arg-type]


def _figure(
    number: str, data: str, axis: str, quantity: str, others: tuple[str, ...], claim: str, papers: tuple[str, ...], scale: float
) -> Figure:  # fmt: skip
    label, values = _AXES[axis]
    fast = quantity == "insertion"
    rows = []
    for value in values:
        seen = [_swept(data, axis, value, system, scale) for system in SYSTEMS]
        rows.append((value, *(one.insertion if fast else one.latency * 1000 for one in seen)))
    at = {name: 1 + SYSTEMS.index(name) for name in SYSTEMS}
    ratios = {
        name: float(
            np.median([row[at["STA"]] / row[at[name]] if fast else row[at[name]] / row[at["STA"]] for row in rows])
        )
        for name in others
    }
    exact = {
        name: float(np.median([row[-1] / row[at[name]] if fast else row[at[name]] / row[-1] for row in rows]))
        for name in others
    }
    said = ", ".join(f"{name} {ratio:.2g} x" for name, ratio in ratios.items())
    also = ", ".join(f"{name} {ratio:.2g} x" for name, ratio in exact.items())
    return Figure(
        number, f"{'Insertion throughput' if fast else 'Latency'}, {data}, over {label}", claim, (label, *SYSTEMS), tuple(rows),
        holds=all(ratio >= 1 for ratio in ratios.values()),
        verdict=f"STA better than {said}; its exact mode than {also} (below 1: worse). {WHY}",
        papers=papers, y="tuples/s" if fast else "ms a batch",
    )  # fmt: skip


_ALL = ("BCHJ", "SJ", "CI", "MCI", "PIM")
_RATED = ("SJ", "CI", "PIM")
_TABLE: tuple[tuple[str, str, str, str, str], ...] = (
    ("11", "taxi", "rate", "STA 1.6, 1.13 and 2.6 x over SJ, CI and PIM.", "000-55"),
    ("12", "taxi", "tasks", "STA 1.5, 1.2 and 2.4 x over SJ, CI and PIM.", "000-56"),
    ("13", "taxi", "window", "STA 2.5, 2.0 and 1.6 x over SJ, CI and PIM at small windows.", "000-57"),
    ("14", "taxi", "rate", "STA 7, 5, 2.3, 2.8 and 3 x better than MCI, PIM, CI, SJ and BCHJ.", "000-58"),
    ("15", "taxi", "tasks", "STA 3.8, 1.7, 2, 1.2 and 7 x better than BCHJ, PIM, CI, SJ and MCI.", "000-59"),
    ("16", "taxi", "window", "STA 7, 5, 2.5, 3.4 and 2 x better than MCI, PIM, SJ, CI and BCHJ.", "000-60"),
    ("17", "v", "rate", "STA 3, 4, 4.2, 4.8 and 8 x better than BCHJ, CI, PIM, SJ and MCI.", "000-61"),
    ("18", "v", "tasks", "STA 2, 1.5, 5 and 2.8 x better than PIM, CI, SJ and BCHJ.", "000-61"),
    ("19", "v", "window", "STA 3.8, 3, 2.1 and 2.8 x better than SJ, BCHJ, CI and PIM.", "000-61"),
    ("20", "i", "rate", "STA 2, 3.2, 3.5, 3 and 7.8 x better than BCHJ, CI, PIM, SJ and MCI.", "000-62"),
    ("21", "i", "tasks", "STA 2 to 7.3 x better than PIM, CI, BCHJ, SJ and MCI (two claims are printed).", "000-62"),
    ("22", "i", "window", "STA 6.5, 3.1, 2.8, 2.5 and 2.2 x better than MCI, SJ, PIM, BCHJ and CI.", "000-62"),
)


def _maker(number: str, data: str, axis: str, claim: str, item: str) -> Callable[[float], Figure]:
    insertion = int(number) <= 13
    others, papers = (_RATED, ("000-40", "000-43", item)) if insertion else (_ALL, ("000-41", "000-43", item))
    quantity = "insertion" if insertion else "latency"
    return lambda scale: _figure(number, data, axis, quantity, others, claim, papers, scale)


SWEEPS: dict[str, Callable[[float], Figure]] = {row[0]: _maker(*row) for row in _TABLE}
