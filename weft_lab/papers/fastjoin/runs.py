"""The runs behind the FastJoin figures: ride hailing and Zipf groups through the local runtime, one run per setting.

What is measured is what every task had to do. The paper's systems hold an arriving tuple against everything a task stores,
so the time of a batch is taken as the load (1) of its heaviest task: *throughput* is pairs per million comparisons of the
heaviest task, *latency* the comparisons per lookup, averaged over lookups. Both are counts, the same on every machine. Weft's
own index does not compare like that; `seconds` are what its tasks really took, slowest task of each batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa

from weft.routing import Biclique, FastJoin, Scheme, group_of
from weft.routing.fastjoin import load_imbalance
from weft.types import SIDES
from weft_lab.schemes import ContRand
from weft_lab.simulation import BatchLoad, Measured, measure
from weft_lab.workloads import ride_orders, ride_tracks, zipf_group

__all__ = ["BATCHES", "PLACES", "PUBLISHED", "SYSTEMS", "TASKS", "WARM", "Run", "rides", "zipf"]

TASKS = 48
"""Join instances, both groups together (003-27)."""

BATCHES = 20
WARM = 5
"""Batches left out of averages, as the paper leaves out its first three minutes (003-26)."""

ORDERS, TRACKS, PLACES = 40_000, 120_000, 2000
"""Rows at scale 1; the paper's 30 GB has more tracks to an order."""

PUBLISHED = FastJoin(noise=0.0)
"""The paper's trigger: LI over the threshold, whatever the noise of the arrivals."""

SYSTEMS: dict[str, Scheme] = {"FastJoin": PUBLISHED, "ContRand": ContRand(), "BiStream": Biclique()}
"""FastJoin and whom the paper compares it with (003-25)."""


@dataclass(frozen=True)
class Run:
    """One system on one input."""

    tasks: int
    measured: Measured

    def imbalance(self, number: int) -> float:
        """LI (2) behind a batch, the worse one of the two groups; arrivals are those of the last three batches."""
        held = self.measured.batches[number].held
        asked = np.sum([batch.asked for batch in self.measured.batches[max(0, number - 2) : number + 1]], axis=0)
        found = []
        for keeper, side in enumerate(SIDES):
            group = group_of(side, self.tasks)
            part = slice(group.start, group.start + group.size)
            found.append(load_imbalance(np.asarray(held[keeper, part] * asked[1 - keeper, part])))
        return max(found)

    @staticmethod
    def throughput_of(batches: list[BatchLoad]) -> float:
        """Pairs per million comparisons of the heaviest task."""
        heaviest = sum(float(batch.loads.max()) for batch in batches)
        return 1e6 * sum(float(batch.pairs.sum()) for batch in batches) / max(heaviest, 1.0)

    @property
    def throughput(self) -> float:
        return self.throughput_of(self.measured.batches[WARM:])

    @staticmethod
    def latency_of(batches: list[BatchLoad]) -> float:
        """Comparisons per lookup."""
        return sum(float(b.loads.sum()) for b in batches) / max(sum(float(b.asked.sum()) for b in batches), 1.0)

    @property
    def latency(self) -> float:
        return self.latency_of(self.measured.batches[WARM:])

    @property
    def pairs(self) -> float:
        """Pairs behind the warm-up."""
        return self.measured.after(WARM).pairs

    @property
    def seconds(self) -> float:
        """Seconds of the slowest task, summed over the batches behind the warm-up."""
        return self.measured.after(WARM).makespan


@cache
def rides(scheme: Scheme, tasks: int, scale: float, size: float = 1.0) -> Run:
    """Join orders with tracks of the same place over the full history, as the paper does."""
    orders = ride_orders(11, _rows(ORDERS * scale * size), PLACES)
    tracks = ride_tracks(11, _rows(TRACKS * scale * size), PLACES)
    done = measure(_cut(orders), _cut(tracks), scheme, tasks, on="l.place = r.place")
    return Run(tasks, done)


@cache
def zipf(scheme: Scheme, tasks: int, scale: float, x: float, y: float) -> Run:
    """Join the streams of group Gxy (003-29)."""
    rows = _rows(5000 * scale)
    left, right = zipf_group(7, rows, max(100, rows // 30), x, y)
    return Run(tasks, measure(_cut(left), _cut(right), scheme, tasks))


def _rows(rows: float) -> int:
    return max(BATCHES * 10, round(rows))


def _cut(table: pa.Table) -> list[pa.Table]:
    cuts = np.linspace(0, table.num_rows, BATCHES + 1).astype(int).tolist()
    return [table.slice(low, high - low) for low, high in pairwise(cuts)]
