"""The paper's measures (001-44) over simulated batches: tasks, requests, time, migration, bandwidth, cost.

Time is a model, and says so: a batch lasts as long as its busiest task needs for the tuples it is sent, at `rate` tuples a
second, for the pairs it compares, at `compares` a second, and for what it takes over when the plan changes. Comparing a
request with everything held is the paper's CPU cost (Eq. 3, 001-05); Weft's own tasks search sorted runs instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft_lab.simulation.routing import Seen

__all__ = ["Measures", "measured"]


@dataclass(frozen=True)
class Measures:
    """What one run came to."""

    tasks: float
    """Active tasks, mean over the batches."""
    peak_tasks: int
    requests: float
    """Average join requests per active task and batch."""
    seconds: float
    """Execution time."""
    throughput: float
    """Input tuples a second."""
    latency: float
    """Mean duration of a batch: how long a tuple waits for its batch to be done."""
    migrated: int
    """Tuples that changed their place."""
    adjustments: int
    """How often the plan changed."""
    migration_latency: float
    """Seconds per change, spent by the busiest task on what it takes over."""
    bandwidth: float
    """Tuples sent, copies and migration together."""
    task_seconds: float
    """Σ r t over tasks: each task for as long as it was held."""

    def cost(self, tuples_per_task_second: float = 1_000_000.0) -> float:
        """Return RC = Σ r t_r: task seconds, and bandwidth at the price of so many tuples for a task second."""
        return self.task_seconds + self.bandwidth / tuples_per_task_second


def measured(run: Sequence[Seen], inputs: int, rate: float = 100_000.0, compares: float = 50_000_000.0) -> Measures:
    """Measure a run of `inputs` tuples on tasks that handle `rate` tuples and compare `compares` pairs a second."""
    work = np.array([(batch.handled / rate + batch.compared / compares).max() for batch in run])
    moving = np.array([batch.taken / rate for batch in run])
    active = np.array([max(batch.active, 1) for batch in run])
    changes = [batch for batch in run if batch.why]
    seconds = float(work.sum() + moving.sum())
    return Measures(
        tasks=float(active.mean()),
        peak_tasks=int(active.max()),
        requests=float(np.mean([batch.asked.sum() / max(batch.active, 1) for batch in run])),
        seconds=seconds,
        throughput=inputs / seconds if seconds else 0.0,
        latency=seconds / len(run),
        migrated=sum(batch.moved for batch in run),
        adjustments=len(changes),
        migration_latency=float(moving.sum() / len(changes)) if changes else 0.0,
        bandwidth=float(sum(batch.sent + batch.moved for batch in run)),
        task_seconds=float((active * (work + moving)).sum()),
    )
