"""One run of one system on one query: the batches, the system, the measures. Runs are kept, several figures share them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from weft.routing import Adsp
from weft_lab.papers.adsp.models import BicliqueLoad, IdealLoad
from weft_lab.schemes import Dynamic, Readj, Square
from weft_lab.simulation import Arrival, Measures, Seen, Simulation, arrivals, measured
from weft_lab.workloads import QUERIES, Query, social

__all__ = ["LIMIT", "Run", "query_named", "run", "start", "stream"]

LIMIT = 256
"""Tasks that there are; nobody needs them all."""


class System(Protocol):
    """Whatever can be fed batch by batch."""

    def step(self, left: Arrival, right: Arrival) -> Seen: ...


@dataclass(frozen=True, eq=False)
class Run:
    """The batches of a run as seen, and their measures."""

    seen: list[Seen]
    measures: Measures

    @property
    def final_tasks(self) -> int:
        """Return the tasks in use at the end."""
        return self.seen[-1].active


def query_named(name: str) -> Query:
    """Return a query; `Social 3` is the social feed with ds = 3, `Social any` without a limit."""
    if name.startswith("Social"):
        ds = name.split()[1]
        return social(None if ds == "any" else int(ds))
    return QUERIES[name]


def start(system: str, query: Query, memory: float, window: int | None, limit: int = LIMIT) -> System:
    """Return a system ready to be fed. V is `memory`; the paper's own rules say when each scales."""
    makers: dict[str, Callable[[], System]] = {
        "A-DSP": lambda: Simulation(query.spec, Adsp(memory=memory, patience=2), limit, window),
        "Square": lambda: Simulation(query.spec, Square(memory=memory, patience=2), limit, window),
        "Dynamic": lambda: Simulation(query.spec, Dynamic(memory=memory), limit, window),
        "Bi": lambda: BicliqueLoad(1, memory, query.reach, window, limit),
        "Bi6": lambda: BicliqueLoad(6, memory, query.reach, window, limit),
        "Ideal": lambda: IdealLoad(0.6 * memory, window),
    }
    return makers[system]()


def readj(query: Query, tasks: int, sigma: float, window: int | None) -> System:
    """Return Readj on a number of tasks: it balances them and does not scale."""
    return Simulation(query.spec, Readj(sigma=sigma, patience=2), tasks, window)


def stream(query: Query, sizes: Sequence[tuple[int, int]], z: float, seed: int = 1) -> list[tuple[Arrival, Arrival]]:
    """Draw the batches: rows of both sides by `sizes`."""
    columns = max(query.spec.left.columns, query.spec.right.columns)
    rows = [sum(size[side] for size in sizes) for side in (0, 1)]
    left, right = (draw(rows[side], z, seed + side) for side, draw in enumerate(query.streams()))
    cuts = [np.cumsum([size[side] for size in sizes])[:-1] for side in (0, 1)]
    lefts = arrivals(np.split(left, cuts[0]), columns, seed + 10)
    rights = arrivals(np.split(right, cuts[1]), columns, seed + 11)
    return list(zip(lefts, rights, strict=True))


def fed(system: System, batches: Sequence[tuple[Arrival, Arrival]], skip: int = 0) -> Run:
    """Feed batches and measure those after the first `skip`, which only warm up."""
    seen = [system.step(left, right) for left, right in batches]
    inputs = sum(len(left.u) + len(right.u) for left, right in batches[skip:])
    return Run(seen[skip:], measured(seen[skip:], inputs))


@lru_cache(maxsize=256)
def run(
    system: str, name: str, z: float, rows: int, batches: int, volume: float, window: int | None, limit: int = LIMIT
) -> Run:
    """Feed `batches` of `rows` a side. V is such that all tuples held at the end come to `volume` times 60 % of V."""
    query = query_named(name)
    held = 2 * rows * (batches if window is None else min(batches, window + 1))
    memory = held / volume / 0.6
    skip = 0 if window is None else window + 8
    data = stream(query, [(rows, rows)] * batches, z)
    if system != "Readj":
        return fed(start(system, query, memory, window, limit), data, min(skip, batches - 1))
    tasks = max(1, min(limit, round(held / (0.6 * memory))))
    tried = [fed(readj(query, tasks, sigma, window), data, min(skip, batches - 1)) for sigma in (0.01, 0.05, 0.2)]
    return max(tried, key=lambda one: one.measures.throughput)  # the best of several σ, as the paper reports
