"""What every task of a local join had to do, batch by batch: rows kept, rows that asked, pairs, seconds.

The local runtime runs one task after the other, so each task's seconds are its own. A cluster with a core per task waits for
the slowest one: `makespan` is the sum over batches of the slowest task's seconds, and throughput is pairs by makespan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.local import Join
from weft.routing import BatchView, Notes, Plan, Scheme, TaskStats
from weft.spec import JoinSpec, Window
from weft.state import MemoryStore
from weft.types import SIDES

__all__ = ["BatchLoad", "Measured", "Watched", "imbalance_of", "measure"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Watched(Scheme):
    """Any scheme, with the number of rows that asked added to its notes; decides as the scheme inside."""

    inner: Scheme

    @property
    def name(self) -> str:  # type: ignore[override]  # the name of what it stands for
        return self.inner.name

    def initial(self, spec: JoinSpec, tasks: int) -> Plan:
        return self.inner.initial(spec, tasks)

    def control(self, spec: JoinSpec, plan: Plan, stats: list[TaskStats]) -> tuple[Plan, str]:
        return self.inner.control(spec, plan, stats)

    def watch(self, spec: JoinSpec, view: BatchView, before: Notes) -> Notes:
        notes = dict(self.inner.watch(spec, view, {name: part for name, part in before.items() if name != "asked"}))
        return {**notes, "asked": {side: int(view.probed[side].shape[1]) for side in SIDES}}


@dataclass(frozen=True)
class BatchLoad:
    """One batch: arrays by task, `held` and `asked` sides x tasks; why the plan after next differs, if it does."""

    held: Floats
    asked: Floats
    pairs: Floats
    seconds: Floats
    reason: str
    migrated: bool

    @property
    def loads(self) -> Floats:
        """The paper's load (1), summed over both sides: rows held times rows of the other side that asked."""
        return np.asarray((self.held * self.asked[::-1]).sum(axis=0))

    @property
    def work(self) -> Floats:
        """Rows that asked and pairs that left: what a task with a sorted index spends its time on."""
        return np.asarray(self.asked.sum(axis=0) + self.pairs)


@dataclass
class Measured:
    """All batches of one run."""

    batches: list[BatchLoad] = field(default_factory=list)

    def after(self, warm: int) -> Measured:
        """Leave the first batches out."""
        return Measured(self.batches[warm:])

    @property
    def pairs(self) -> float:
        return float(sum(batch.pairs.sum() for batch in self.batches))

    @property
    def makespan(self) -> float:
        """Seconds of the slowest task, batch by batch."""
        return float(sum(batch.seconds.max() for batch in self.batches))

    @property
    def peak_work(self) -> float:
        """Work of the busiest task, batch by batch."""
        return float(sum(batch.work.max() for batch in self.batches))

    @property
    def peak_load(self) -> float:
        """Load (1) of the heaviest task, batch by batch."""
        return float(sum(batch.loads.max() for batch in self.batches))

    @property
    def migrations(self) -> int:
        return sum(batch.migrated for batch in self.batches)


def imbalance_of(loads: Floats) -> float:
    """Return heaviest over mean; 1 is perfect."""
    return float(loads.max() / loads.mean()) if loads.sum() else 1.0


def measure(
    left: Sequence[pa.Table], right: Sequence[pa.Table], scheme: Scheme, tasks: int, *, on: str = "l.key = r.key",
    window: Window | None = None, select: Sequence[str] = ("l.id AS x", "r.id AS y"),
) -> Measured:  # fmt: skip
    """Join the batches on the local runtime and return what each task did; pairs are counted, not kept."""
    join = Join(
        left[0].schema, right[0].schema, on=on, window=window, scheme=Watched(scheme), tasks=tasks, select=list(select)
    )
    store = join.store
    assert isinstance(store, MemoryStore)
    done = Measured()
    for number, (one, two) in enumerate(zip(left, right, strict=True)):
        for _ in join.run.feed(one, two):
            pass
        found = [store.metrics[task, number] for task in range(tasks)]
        notes = [store.states[task, number][0].stats["notes"] for task in range(tasks)]
        done.batches.append(
            BatchLoad(
                np.array([[one["held"][side] for one in found] for side in SIDES], np.float64),
                np.array([[one["asked"][side] for one in notes] for side in SIDES], np.float64),
                np.array([one["pairs"] for one in found], np.float64),
                np.array([sum(one["seconds"].values()) for one in found]),
                store.plans[number + 1][1],
                any(one["migrated"] for one in found),
            )
        )
    return done
