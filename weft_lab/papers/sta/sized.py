"""Sized runs on the local runtime: one stream or two through one system, with the time that each task took.

Tasks run one after the other in this process, and each one's time is taken apart: had every task a machine, a batch would
take as long as its slowest task. Loading, migrating, counting and saving belong to insertion; probing and gathering pairs
to the lookup. Time is the processor's, not the wall's: a neighbour on the machine must not look like a slow task. Nobody
waits for a network here, so that rates far below the capacity do not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

import numpy as np
import pyarrow as pa

import weft
from weft.local import Join, LocalRun
from weft.state import MemoryStore
from weft_lab.bench.sta_systems import SYSTEMS, Sizes
from weft_lab.papers.sta.metrics import throughput

__all__ = ["Measured", "Setting", "measure"]

SHRINK = 25.0
"""The paper's windows and batches are so many times as long: 50 s at one tuple in 2 ms are 1,000 tuples here."""


@dataclass(frozen=True)
class Setting:
    """The paper's fixed values (000-43): one tuple in 2 ms, 40 tasks, a window of 50 s; a checkpoint a second."""

    rate: float = 2.0
    tasks: int = 40
    window: float = 50.0
    checkpoint: float = 1.0

    @property
    def every(self) -> int:
        """Return microseconds between two tuples."""
        return round(self.rate * 1000)

    @property
    def span(self) -> int:
        """Return the window in microseconds, shrunk."""
        return round(self.window * 1e6 / SHRINK)

    @property
    def batch(self) -> int:
        """Return tuples in a batch: half a second of them."""
        return max(20, round(500_000 / self.every))


@dataclass(frozen=True)
class Measured:
    """What one run gave: tuples a second by the slowest task, seconds a batch, pairs."""

    insertion: float
    lookup: float
    latency: float
    pairs: int


def measure(system: str, setting: Setting, left: pa.Table, right: pa.Table | None, on: str) -> Measured:
    """Feed a stream (a self join without `right`) through one system, batch by batch."""
    made = SYSTEMS[system]
    rows = round(setting.span / setting.every)
    checkpoint = round(setting.checkpoint * 1e6)  # two batches; a shrunk one would be shorter than a batch
    own = right is None
    join = Join(
        left.schema, left.schema if right is None else right.schema, on=on,
        window=weft.within(before=setting.span, after=setting.span, on="t", delay=0),
        scheme=made.scheme(Sizes(checkpoint, rows)), index=made.index, tasks=setting.tasks,
        select=["a.id AS x", "b.id AS y"] if own else ["l.id AS x", "r.id AS y"], aliases=("a", "b") if own else ("l", "r"),
    )  # fmt: skip
    assert isinstance(join.store, MemoryStore)
    join.run = LocalRun(join.run.joiner, join.run.sources, join.store, now=process_time)
    pairs, seconds = 0, []
    for number, at in enumerate(range(0, len(left), setting.batch)):
        other = () if right is None else right.slice(at, setting.batch)
        pairs += sum(part.num_rows for part in join.feed(left.slice(at, setting.batch), other))
        tasks = [join.store.metrics[task, number]["seconds"] for task in range(setting.tasks)]
        seconds.append([max(task["state"] for task in tasks), max(task["pairs"] for task in tasks)])
    warm = np.array(seconds[1:] or seconds)  # the first batch may compile
    fed = setting.batch * len(warm) * (1 if own else 2)
    latency = float(np.median(warm.sum(axis=1)))
    return Measured(throughput(fed, warm[:, 0].sum()), throughput(fed, warm[:, 1].sum()), latency, pairs)
